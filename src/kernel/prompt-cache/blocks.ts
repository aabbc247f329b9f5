/**
 * The blocks of a prompt as its client sent it, in the order of providers' caches: tools, system prompt, messages. One
 * function walks the three protocols, so a place is named in the client's own terms: `tools[3]`, `system[1]`, `input[7]`.
 */
import { lifetimeFields } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { nextTurn } from "../../lib/next-turn.ts";
import type { KeyedHash } from "./keyed-hash.bun.ts";
import { type BlockKind, blockKinds, blocksMax, settingsMax } from "./turn.ts";

/** How a protocol writes a prompt. */
interface PromptFields {
  readonly number: number;
  /** The field of the system prompt, where it has one of its own. */
  readonly system?: "system" | "instructions";
  readonly list: "messages" | "input";
  /** Parameters that caches depend on, as providers document. The first that changed is named. */
  readonly settings: readonly string[];
}

const protocols = {
  chat: {
    number: 1,
    list: "messages",
    settings: [
      ...["tool_choice", "parallel_tool_calls", "reasoning_effort", "thinking"],
      ...["response_format", "verbosity", "prompt_cache_key", "service_tier"],
    ],
  },
  messages: {
    number: 2,
    system: "system",
    list: "messages",
    settings: ["tool_choice", "thinking", "output_config", "speed"],
  },
  responses: {
    number: 3,
    system: "instructions",
    list: "input",
    settings: ["tool_choice", "parallel_tool_calls", "reasoning", "text", "prompt_cache_key", "service_tier"],
  },
} as const satisfies Readonly<Record<string, PromptFields>>;

export type PromptProtocol = keyof typeof protocols;

/** The fingerprint of a prompt. It has no text of it. */
export interface PromptBlocks {
  readonly protocol: PromptProtocol;
  readonly protocolNumber: number;
  readonly settings: BigUint64Array;
  readonly hashes: BigUint64Array;
  /** Estimates, to be scaled by what the provider counted. */
  readonly tokens: Uint32Array;
  readonly kinds: Uint8Array;
  readonly estimatedTokens: number;
  /** The client marked a block for a cache. */
  readonly hasMarks: boolean;
  /** The shortest lifetime that it asks for, in seconds; absent: it names none. */
  readonly lifetimeSeconds: number | undefined;
  /** The place of each block, as the client wrote it. */
  readonly places: readonly Place[];
}

interface Place {
  readonly field: string;
  /** Absent: the field is the block. */
  readonly index?: number;
}

/** The name of a block in the client's request. */
export function namePlace({ field, index }: Place): string {
  return index === undefined ? field : `${field}[${index}]`;
}

/** The name of a setting of this protocol. */
export function nameSetting(protocol: PromptProtocol, index: number): string | undefined {
  return protocols[protocol].settings[index];
}

/** The field of a protocol that has blocks of this kind. */
export function fieldOf(protocol: PromptProtocol, kind: BlockKind): string {
  const fields: PromptFields = protocols[protocol];
  if (kind === "tools") return "tools";
  return kind === "system" ? (fields.system ?? fields.list) : fields.list;
}

const charsPerToken = 4;
/** Images and files have no text, and cost about so many tokens. */
const mediaTokens = 1600;
const mediaCharsMin = 4096;
const mediaMembers: ReadonlySet<string> = new Set(["data", "url", "image_url", "file_data"]);
/** Many short values, which are hashed twice as fast as one text. Nothing in them is a mark. */
const schemaMembers: ReadonlySet<string> = new Set(["input_schema", "parameters"]);
/** Values of one block that are compared; what is behind them is not looked at. */
const valuesMax = 20_000;
/** Characters and values after which others get a turn of the event loop. */
const turnCharsMax = 4_000_000;
const turnValuesMax = 5000;

const lifetimes: Readonly<Record<string, number>> = {
  "5m": 300,
  "30m": 1800,
  "1h": 3600,
  "12h": 43_200,
  "24h": 86_400,
};

/**
 * Hashes the blocks of a prompt. A mark for a cache is no part of a block, because it moves on with each turn, and a text is the
 * same whether it is a string or the only part of a list.
 */
export async function hashBlocks(
  protocol: PromptProtocol,
  body: Readonly<Record<string, unknown>>,
  { hash, secret }: { hash: KeyedHash; secret: bigint },
): Promise<PromptBlocks> {
  const fields: PromptFields = protocols[protocol];
  const walk = new Walk(hash, secret);
  const hashes: bigint[] = [];
  const tokens: number[] = [];
  const kinds: number[] = [];
  const places: Place[] = [];
  let [estimatedTokens, chars, values] = [0, 0, 0];
  for (const { kind, place, value } of listBlocks(fields, body)) {
    const block = walk.hash(value);
    estimatedTokens += block.tokens;
    if (hashes.length < blocksMax) {
      hashes.push(block.hash);
      tokens.push(block.tokens);
      kinds.push(blockKinds.indexOf(kind));
      places.push(place);
    }
    chars += block.chars;
    values += block.values;
    if (chars < turnCharsMax && values < turnValuesMax) continue;
    [chars, values] = [0, 0];
    await nextTurn();
  }
  const settings = fields.settings.slice(0, settingsMax).map((name) => walk.hash(body[name] ?? null).hash);
  for (const field of ["prompt_cache_options", "cache_control"]) walk.note(field, body[field]);
  return {
    protocol,
    protocolNumber: fields.number,
    settings: BigUint64Array.from(settings),
    hashes: BigUint64Array.from(hashes),
    tokens: Uint32Array.from(tokens),
    kinds: Uint8Array.from(kinds),
    estimatedTokens,
    hasMarks: walk.hasMarks,
    lifetimeSeconds: walk.lifetimeSeconds ?? lifetimes[String(body.prompt_cache_retention)],
    places,
  };
}

interface Block {
  readonly kind: BlockKind;
  readonly place: Place;
  readonly value: unknown;
}

function* listBlocks({ system, list }: PromptFields, body: Readonly<Record<string, unknown>>): Generator<Block> {
  for (const [index, value] of listOf(body.tools).entries()) {
    yield { kind: "tools", place: { field: "tools", index }, value };
  }
  const instructions = system === undefined ? undefined : body[system];
  if (system !== undefined && typeof instructions === "string") {
    yield { kind: "system", place: { field: system }, value: toPart(instructions) };
  }
  for (const [index, value] of listOf(instructions).entries()) {
    yield { kind: "system", place: { field: system ?? "", index }, value };
  }
  const messages = body[list];
  if (typeof messages === "string") yield { kind: "messages", place: { field: list }, value: toPart(messages) };
  let isBegin = true;
  for (const [index, value] of listOf(messages).entries()) {
    isBegin &&= isRecord(value) && (value.role === "system" || value.role === "developer");
    yield { kind: isBegin ? "system" : "messages", place: { field: list, index }, value };
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toPart(text: string) {
  return { type: "text", text };
}

/** Hashes values one after the other, and notes the marks in them. */
class Walk {
  hasMarks = false;
  lifetimeSeconds: number | undefined;
  readonly #hash: KeyedHash;
  readonly #secret: bigint;
  #state = 0n;
  #chars = 0;
  #values = 0;
  #tokens = 0;

  constructor(hash: KeyedHash, secret: bigint) {
    this.#hash = hash;
    this.#secret = secret;
  }

  hash(value: unknown): { hash: bigint; tokens: number; chars: number; values: number } {
    this.#state = this.#secret;
    [this.#chars, this.#values, this.#tokens] = [0, 0, 0];
    this.#take(value, "");
    return { hash: this.#state, tokens: Math.ceil(this.#tokens), chars: this.#chars, values: this.#values };
  }

  /** Notes a member that is a mark, and says whether it is one. */
  note(name: string, value: unknown): boolean {
    if (!lifetimeFields.has(name)) return false;
    if (!isRecord(value)) return true;
    if (name !== "prompt_cache_options") this.hasMarks = true;
    const seconds = lifetimes[String(value.ttl ?? (name === "cache_control" ? "5m" : ""))];
    if (seconds !== undefined) this.lifetimeSeconds = Math.min(this.lifetimeSeconds ?? seconds, seconds);
    return true;
  }

  #take(value: unknown, name: string): void {
    if (this.#values++ > valuesMax) return;
    if (typeof value === "string") this.#takeText(value, name);
    else if (Array.isArray(value)) {
      this.#mix("[");
      for (const one of value) this.#take(one, "");
      this.#mix("]");
    } else if (typeof value === "object" && value !== null) {
      this.#mix("{");
      for (const member in value) {
        const one = (value as Record<string, unknown>)[member];
        if (schemaMembers.has(member) && isRecord(one)) {
          this.#takeText(member, "");
          this.#takeText(JSON.stringify(one), "");
          continue;
        }
        if (one === undefined || this.note(member, one)) continue;
        this.#mix(member);
        this.#tokens += member.length / charsPerToken;
        this.#take(member === "content" && typeof one === "string" ? [toPart(one)] : one, member);
      }
      this.#mix("}");
    } else {
      this.#mix(String(value));
      this.#tokens += 1;
    }
  }

  #takeText(text: string, name: string): void {
    const isMedia = text.length >= mediaCharsMin && mediaMembers.has(name);
    this.#tokens += isMedia ? mediaTokens : text.length / charsPerToken;
    this.#chars += text.length;
    this.#mix(text);
  }

  #mix(text: string): void {
    this.#state = this.#hash(text, this.#state);
  }
}

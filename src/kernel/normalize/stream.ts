import {
  type ChatChunk,
  type ChatUsage,
  type ChunkChoice,
  type Meters,
  metersOfUsage,
  type ToolCallDelta,
  UpstreamFault,
} from "../../contract/index.ts";
import type { Output } from "../trade.ts";
import { type AnswerHead, finishOf, makeToolCallId, normalizeLogprobs } from "./completion.ts";
import { countedCharactersMax } from "./token-counts.ts";
import type { UsageMeter } from "./usage-meter.ts";

/** More than any answer has; it is held in memory until it is counted. */
const charactersMax = 64 * 1024 * 1024;

/** How far one choice of a stream has come. */
interface ChoiceState {
  begun: boolean;
  /** Why it finished; absent until then. */
  finish: string | undefined;
  /** Our tool-call index by the provider's index, as last used. */
  indexByProvider: Map<number, number>;
  indexById: Map<string, number>;
  toolCalls: number;
}

/**
 * Makes a provider's chunks the one shape clients get, and counts them on the way. Tool-call indexes are allocated
 * here: a new id is a new index, whatever index the provider wrote.
 */
export class StreamNormalizer {
  readonly #head: AnswerHead;
  readonly #usageMeter: UsageMeter;
  readonly #output: Output;
  readonly #includeUsage: boolean;
  readonly #choices: ChoiceState[] = [];
  /** The last usable report. */
  usage: ChatUsage | undefined;
  /** What is to be sent before the piece that was pushed last, and after it; mostly nothing. */
  readonly before: ChunkChoice[] = [];
  readonly after: ChunkChoice[] = [];

  constructor(head: AnswerHead, parts: { usageMeter: UsageMeter; output: Output; includeUsage: boolean }) {
    this.#head = head;
    this.#usageMeter = parts.usageMeter;
    this.#output = parts.output;
    this.#includeUsage = parts.includeUsage;
  }

  /**
   * The piece to send, or `undefined` when it said nothing or held only a usage report.
   *
   * @throws {UpstreamFault} When it is not of the form it should have: what it holds is looked at only as far as it is used.
   */
  push(raw: ChatChunk): ChatChunk | undefined {
    try {
      return this.#tidy(raw);
    } catch (cause) {
      if (cause instanceof UpstreamFault) throw cause;
      throw new UpstreamFault("bad_response", "A piece of the provider's stream cannot be read", { cause });
    }
  }

  #tidy(raw: ChatChunk): ChatChunk | undefined {
    if (raw.usage) this.#report(raw.usage);
    const { choices } = raw;
    if (!Array.isArray(choices))
      throw new UpstreamFault("bad_response", "A piece of the provider's stream has no choices");
    if (choices.length === 0) return undefined;
    for (const choice of choices) this.#tidyChoice(choice);
    if (choices.length === 1 && saysNothing(choices[0] as ChunkChoice)) return undefined;
    return this.chunkOf(raw, choices);
  }

  /** A piece of the provider's with other choices in it. */
  chunkOf(raw: ChatChunk, choices: ChunkChoice[]): ChatChunk {
    const { id, created, model } = this.#head;
    const chunk: ChatChunk = { id, object: "chat.completion.chunk", created, model, choices };
    if (typeof raw.system_fingerprint === "string") chunk.system_fingerprint = raw.system_fingerprint;
    if (typeof raw.service_tier === "string") chunk.service_tier = raw.service_tier;
    if (this.#includeUsage) chunk.usage = null;
    return chunk;
  }

  /** Whether every choice that began has finished; a stream that ends otherwise was cut. */
  get finished(): boolean {
    return (
      this.#choices.length > 0 && this.#choices.every((state) => state === undefined || state.finish !== undefined)
    );
  }

  /** Why each choice finished. */
  get finishReasons(): string[] {
    return this.#choices.flatMap((state) => state?.finish ?? []);
  }

  /** The last piece when usage was asked for. */
  usageChunk(usage: ChatUsage): ChatChunk {
    const { id, created, model } = this.#head;
    return { id, object: "chat.completion.chunk", created, model, choices: [], usage };
  }

  #report(usage: ChatUsage): void {
    const meters: Meters | undefined = metersOfUsage(usage);
    if (meters === undefined) return;
    // A report of nothing does not take back what was reported.
    if (this.usage !== undefined && !usage.prompt_tokens && !usage.completion_tokens) return;
    this.#usageMeter.report(meters);
    this.usage = usage;
  }

  #tidyChoice(choice: ChunkChoice): void {
    const index = Number.isSafeInteger(choice.index) && choice.index >= 0 && choice.index < 128 ? choice.index : 0;
    choice.index = index;
    const state = this.#stateOf(index);
    choice.delta ??= {};
    const { delta } = choice;
    if (!state.begun) this.#begin(state, choice);
    else if (delta.role !== undefined) delete delta.role;
    if (typeof delta.content === "string") this.#heard(delta.content);
    if (typeof delta.reasoning_content === "string") this.#heard(delta.reasoning_content);
    if (typeof delta.refusal === "string") this.#heard(delta.refusal);
    if (delta.function_call) this.#heard(delta.function_call.arguments);
    if (delta.tool_calls) this.#tidyToolCalls(delta, state);
    choice.logprobs = choice.logprobs ? normalizeLogprobs(choice.logprobs) : null;
    if (choice.finish_reason) {
      choice.finish_reason = finishOf(choice.finish_reason, state.toolCalls > 0);
      state.finish = choice.finish_reason;
      this.#usageMeter.produced = true;
      if (hasSubstance(delta)) this.#end(choice);
    } else choice.finish_reason = null;
  }

  /** Every choice begins with its role alone, whatever came along with it. */
  #begin(state: ChoiceState, choice: ChunkChoice): void {
    state.begun = true;
    const { delta } = choice;
    const content = delta.tool_calls || delta.content === null ? null : "";
    const role = { role: "assistant", content, refusal: null } as const;
    if (!hasSubstance(delta) && !choice.finish_reason) {
      choice.delta = role;
      return;
    }
    this.before.push({ index: choice.index, delta: role, logprobs: null, finish_reason: null });
    delete delta.role;
    for (const name of ["content", "refusal"] as const) if (!delta[name]) delete delta[name];
  }

  /** Every choice ends with its reason alone. */
  #end(choice: ChunkChoice): void {
    this.after.push({ ...choice, delta: {}, logprobs: null });
    choice.finish_reason = null;
  }

  #heard(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    this.#usageMeter.produced = true;
    this.#usageMeter.wrote = true;
    const output = this.#output;
    output.length += text.length;
    if (output.text.length < countedCharactersMax) output.text += text;
    if (output.length > charactersMax) throw new UpstreamFault("bad_response", "The provider's answer has no end");
  }

  #stateOf(index: number): ChoiceState {
    const known = this.#choices[index];
    if (known !== undefined) return known;
    const state = { begun: false, finish: undefined, indexByProvider: new Map(), indexById: new Map(), toolCalls: 0 };
    this.#choices[index] = state;
    return state;
  }

  #tidyToolCalls(delta: ChunkChoice["delta"], state: ChoiceState): void {
    if (!Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) {
      delete delta.tool_calls;
      return;
    }
    delta.tool_calls = delta.tool_calls.map((piece, position) => {
      this.#heard(piece.function?.name);
      this.#heard(piece.function?.arguments);
      return tidyToolCall(piece, position, state);
    });
  }
}

/** Whether a delta holds more than what every stream begins and ends with. */
export function hasSubstance(delta: ChunkChoice["delta"]): boolean {
  for (const name in delta) if (name !== "role" && delta[name]) return true;
  return false;
}

function saysNothing({ delta, logprobs, finish_reason }: ChunkChoice): boolean {
  return !finish_reason && logprobs === null && delta.role === undefined && !hasSubstance(delta);
}

function tidyToolCall(piece: ToolCallDelta, position: number, state: ChoiceState): ToolCallDelta {
  const theirs = piece.index === undefined ? position : piece.index;
  const known = knownIndex(piece, theirs, state);
  const text = typeof piece.function?.arguments === "string" ? piece.function.arguments : "";
  if (known !== undefined) {
    state.indexByProvider.set(theirs, known);
    return { index: known, function: { arguments: text } };
  }
  const index = state.toolCalls++;
  const id = piece.id ? piece.id : makeToolCallId();
  state.indexByProvider.set(theirs, index);
  state.indexById.set(id, index);
  const name = typeof piece.function?.name === "string" ? piece.function.name : "";
  return { ...piece, index, id, type: "function", function: { name, arguments: text } };
}

/** Which call a piece belongs to: by its id; without one by its index, where a name says that a new call begins. */
function knownIndex({ id, function: part }: ToolCallDelta, theirs: number, state: ChoiceState): number | undefined {
  if (id) return state.indexById.get(id);
  return part?.name ? undefined : state.indexByProvider.get(theirs);
}

/**
 * The tool calls of a streamed answer. Providers differ in all that tells one call from another: `index`, `id` and `name` may
 * come early, late, in each delta, with other values, or not at all. {@link StreamedCalls} holds the one rule by which a delta
 * finds its call.
 */
import { randomText, UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { endsAsJson, isLongJson } from "../../lib/json-end.ts";
import { ArgumentStream } from "../../lib/tool-arguments.ts";
import { type ToolCallDelta, toAnswerText } from "../../provider/index.ts";

/** A tool call as it may come from outside: of a function, or of a custom tool. */
export interface AnyToolCall {
  type?: unknown;
  function?: { name?: string; arguments?: string };
  custom?: { name?: string; input?: string };
}

/** The name and the text of a tool call, or of a piece of one. */
export function getCallTexts(call: AnyToolCall): [name: string, text: string] {
  const { function: called, custom } = call;
  const [name, text] = isRecord(custom) ? [custom.name, custom.input] : [called?.name, called?.arguments];
  return [typeof name === "string" ? name : "", toAnswerText(text)];
}

/** An id for a tool call without one. */
export function makeToolCallId(): string {
  return `call_${randomText(24)}`;
}

/** The id as text; `undefined` where there is none. */
export function readCallId(id: unknown): string | undefined {
  if (typeof id === "number") return String(id);
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** A text of JSON as far as it came: whether its brackets are closed, and what tells it from another. The text is not kept. */
class JsonProgress {
  length = 0;
  #hash = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasOpened = false;

  add(text: string): void {
    let [hash, depth, isInString, isEscaped] = [this.#hash, this.#depth, this.#isInString, this.#isEscaped];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      hash = (Math.imul(hash, 31) + code) | 0;
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (code === 92) isEscaped = true;
        else if (code === 34) isInString = false;
      } else if (code === 34) isInString = true;
      else if (code === 123 || code === 91) depth++;
      else if (code === 125 || code === 93) depth--;
    }
    this.#hasOpened ||= /[{[]/.test(text);
    this.length += text.length;
    [this.#hash, this.#depth, this.#isInString, this.#isEscaped] = [hash, depth, isInString, isEscaped];
  }

  /** An object or a list began, and did not come to its end. */
  get isOpen(): boolean {
    return this.#hasOpened && (this.#depth > 0 || this.#isInString);
  }

  /** An object or a list came to its end. */
  get isComplete(): boolean {
    return this.#hasOpened && this.#depth === 0 && !this.#isInString;
  }

  isSame(text: string): boolean {
    if (text.length !== this.length) return false;
    const other = new JsonProgress();
    other.add(text);
    return other.#hash === this.#hash;
  }
}

/** Whether the arguments of a call break off. The text of a custom tool is no JSON. */
export function isOpenCall(call: AnyToolCall): boolean {
  if (isRecord(call.custom)) return false;
  const text = getCallTexts(call)[1];
  if (isLongJson(text)) return !endsAsJson(text);
  const progress = new JsonProgress();
  progress.add(text);
  return progress.isOpen;
}

interface StreamedCall {
  /** Its place among the calls that the client gets. */
  readonly index: number;
  /** Its id at the provider, as it came first. */
  providerId: string | undefined;
  name: string;
  readonly isCustom: boolean;
  readonly progress: JsonProgress;
  /** The delta to send once the name is known; absent from then on. */
  waiting: ToolCallDelta | undefined;
  readonly arguments: ArgumentStream;
}

/** A delta of a call, read. */
interface Piece {
  readonly providerIndex: number | undefined;
  readonly id: string | undefined;
  readonly name: string;
  readonly text: string;
  /** It came with the reason why the answer ended. */
  readonly isLast: boolean;
}

/**
 * Finds the call of each delta, and gives the calls their indexes and ids: a call has an id of its own and its name in its first
 * delta, and only text in those that follow.
 *
 * A delta belongs to the call of its id or, where that is not known, of its index; without either to the call before. It begins
 * a call where there is none, and at one that is there only with a name, if that or the id is another one or the call is
 * complete. A call that is repeated whole is the same call.
 */
export class StreamedCalls {
  readonly #calls: StreamedCall[] = [];
  readonly #byIndex = new Map<number, StreamedCall>();
  readonly #byId = new Map<string, StreamedCall>();
  readonly #sentIds = new Set<string>();
  readonly #count: (text: string) => void;

  /** @param count Takes each name and text as it comes, also one that is held back: its provider has made it. */
  constructor(count: (text: string) => void = () => undefined) {
    this.#count = count;
  }

  /** The calls that were begun: one without a name is not yet. */
  get size(): number {
    return this.#calls.filter(({ waiting }) => waiting === undefined).length;
  }

  /** Whether the arguments of one break off. */
  get hasOpen(): boolean {
    return this.#calls.some(({ isCustom, progress }) => !isCustom && progress.isOpen);
  }

  /** Whether something is held back, which {@link take} gives with the last delta. */
  get isHolding(): boolean {
    return this.#calls.some((call) => call.arguments.isHolding && call.waiting === undefined);
  }

  /** The deltas to send for those of one chunk; none where nothing is to be sent. */
  take(deltas: readonly ToolCallDelta[], isLast: boolean): ToolCallDelta[] {
    const pieces = new Map<ToolCallDelta["index"], ToolCallDelta>();
    for (const [position, delta] of deltas.entries()) {
      const [name, text] = getCallTexts(delta);
      const id = readCallId(delta.id);
      const isPlaced = id === undefined && deltas.length > 1;
      const providerIndex = readIndex(delta.index) ?? (isPlaced ? position : undefined);
      const piece = { providerIndex, id, name, text, isLast };
      const call = this.#find(piece);
      const next = call === undefined ? this.#open(delta, piece) : this.#continue(call, delta, piece);
      if (next === undefined) continue;
      // Clients put two pieces of one call in one chunk together wrongly.
      const begun = pieces.get(next.index)?.function;
      if (begun === undefined || next.function === undefined) pieces.set(next.index, next);
      else begun.arguments = toAnswerText(begun.arguments) + toAnswerText(next.function.arguments);
    }
    const all = [...pieces.values()];
    return isLast && this.isHolding ? [...all, ...this.#release()] : all;
  }

  /** Gives the texts that were held back, as they came. */
  #release(): ToolCallDelta[] {
    const calls = this.#calls.filter((call) => call.arguments.isHolding && call.waiting === undefined);
    return calls.map((call) => ({ index: call.index, function: { arguments: call.arguments.release() } }));
  }

  /** @throws {UpstreamError} When a call never got its name. */
  end(): void {
    if (this.#calls.every(({ waiting, progress }) => waiting === undefined || progress.length === 0)) return;
    throw new UpstreamError("bad_response", "A tool call in the provider's answer names no function");
  }

  #find(piece: Piece): StreamedCall | undefined {
    const { providerIndex, id, name } = piece;
    const ofId = id === undefined ? undefined : this.#byId.get(id);
    const last = this.#calls.at(-1);
    const ofIndex = providerIndex === undefined ? (ofId ?? last) : this.#byIndex.get(providerIndex);
    // Nothing but a name begins a call at an index of its own, where the call may have been begun without the index.
    if (ofIndex === undefined) {
      if (name !== "") return ofId !== undefined && isRepeated(ofId, piece) ? ofId : undefined;
      return ofId ?? (this.#byIndex.size === 0 ? last : undefined);
    }
    const call = ofId !== undefined && ofIndex.providerId !== id ? ofId : ofIndex;
    return isNewCall(call, piece) ? undefined : call;
  }

  #open(delta: ToolCallDelta, { providerIndex, id, name, text }: Piece): ToolCallDelta | undefined {
    const sentId = id === undefined || this.#sentIds.has(id) ? makeToolCallId() : id;
    const index = this.#calls.length;
    const first: ToolCallDelta = delta.custom
      ? { ...delta, index, id: sentId, type: "custom", custom: { name, input: text } }
      : { ...delta, index, id: sentId, type: "function", function: { name, arguments: text } };
    const call: StreamedCall = {
      index,
      providerId: id,
      name,
      isCustom: Boolean(delta.custom),
      progress: new JsonProgress(),
      waiting: name === "" ? first : undefined,
      arguments: new ArgumentStream(),
    };
    this.#count(name);
    this.#count(text);
    if (!call.isCustom && first.function !== undefined) first.function.arguments = call.arguments.push(text);
    call.progress.add(text);
    this.#calls.push(call);
    this.#sentIds.add(sentId);
    this.#know(call, providerIndex, id);
    return name === "" ? undefined : first;
  }

  #continue(call: StreamedCall, delta: ToolCallDelta, piece: Piece): ToolCallDelta | undefined {
    const { providerIndex, id, name, text } = piece;
    this.#know(call, providerIndex, id);
    call.providerId ??= id;
    const { waiting } = call;
    const isKnown = isRepeated(call, piece);
    if (isKnown && waiting === undefined) return undefined;
    const added = isKnown ? "" : text;
    call.progress.add(added);
    this.#count(added);
    const output = call.isCustom ? added : call.arguments.push(added);
    if (waiting === undefined) {
      return {
        index: call.index,
        ...(delta.custom ? { custom: { input: output } } : { function: { arguments: output } }),
      };
    }
    const called = waiting.custom ?? waiting.function ?? {};
    if ("input" in called) called.input += output;
    else if ("arguments" in called) called.arguments += output;
    if (name === "") return undefined;
    this.#count(name);
    call.name = called.name = name;
    call.waiting = undefined;
    return waiting;
  }

  #know(call: StreamedCall, providerIndex: number | undefined, id: string | undefined): void {
    if (providerIndex !== undefined) this.#byIndex.set(providerIndex, call);
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, call);
  }
}

/** Whether a delta that may belong to a call begins another one. */
function isNewCall(call: StreamedCall, piece: Piece): boolean {
  const { id, name, text, isLast } = piece;
  if (name === "" || call.name === "") return false;
  const { providerId, progress } = call;
  const isSameId = id !== undefined && id === providerId;
  if (name !== call.name && (!isSameId || progress.isComplete)) return true;
  const isWhole = progress.isComplete && text !== "";
  const isOther = id !== undefined && providerId !== undefined && !isSameId;
  if (isOther && progress.length === 0 && text === "") return true;
  // Without another id the same text may be another call, but not at the end of the answer.
  return isWhole && !(isRepeated(call, piece) && (isSameId || isLast));
}

function isRepeated({ name: named, progress }: StreamedCall, { name, text, isLast }: Piece): boolean {
  // At the end of the answer some servers give all of the arguments once more, without the name.
  const isOfName = name === "" ? isLast : name === named || named === "";
  return isOfName && progress.isComplete && progress.isSame(text);
}

function readIndex(index: unknown): number | undefined {
  if (typeof index === "number") return index;
  return typeof index === "string" && /^\d{1,9}$/.test(index) ? Number(index) : undefined;
}

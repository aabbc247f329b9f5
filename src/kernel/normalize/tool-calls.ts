/**
 * The tool calls of a streamed answer. Providers differ in everything that tells one call from another: `index`, `id`
 * and `name` may arrive early, late, in each delta, with other values, or not at all. {@link StreamedCalls} has the one
 * rule that assigns a delta to its call.
 */
import { randomText } from "../../contract/index.ts";
import { fitCallId, mayComeAgain } from "../../lib/call-ids.ts";
import { isRecord } from "../../lib/json.ts";
import { JsonProgress, WholeJson } from "../../lib/json-progress.ts";
import { ArgumentStream, beginsAsObject } from "../../lib/tool-arguments.ts";
import {
  expectCallName,
  expectFewCalls,
  type Message,
  type ToolCallDelta,
  toAnswerText,
} from "../../provider/index.ts";

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

/**
 * Chooses the ids of the calls of one answer. Clients take an id as the only one in the conversation, and some keep calls of several
 * conversations by it. Many servers count their calls anew in each answer, or have no ids of their own.
 *
 * An id of the provider is kept unless it may come again in another answer, or the conversation or the answer has it already.
 */
export class AnswerCallIds {
  readonly #messages: readonly Message[];
  #taken: Set<string> | undefined;

  /** @param messages The conversation that is answered. */
  constructor(messages: readonly Message[] = []) {
    this.#messages = messages;
  }

  /**
   * The id of a call for the client.
   *
   * @param providerId As {@link readCallId} has it.
   */
  choose(providerId: string | undefined, name: string): string {
    this.#taken ??= new Set(this.#messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map(({ id }) => id)));
    const isKept = providerId !== undefined && !mayComeAgain(providerId, name) && !this.#isTaken(providerId);
    const id = isKept ? providerId : `call_${randomText(24)}`;
    this.#taken.add(id);
    return id;
  }

  /** Whether the conversation has an id, or the form of it that clients of other protocols are given. */
  #isTaken(id: string): boolean {
    const forms = [id, fitCallId(id, "messages"), fitCallId(id, "responses")];
    return forms.some((form) => this.#taken?.has(form));
  }
}

/** Reads an id as text; `undefined` if it is absent or empty. */
export function readCallId(id: unknown): string | undefined {
  if (typeof id === "number") return String(id);
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** Whether the arguments of a call break off, or have something behind their end. The text of a custom tool is no JSON. */
export function isBrokenCall(call: AnyToolCall): boolean {
  if (isRecord(call.custom)) return false;
  const progress = new JsonProgress();
  progress.add(getCallTexts(call)[1]);
  return progress.isBroken;
}

interface StreamedCall {
  /** Its place among the calls that the client gets. */
  readonly index: number;
  /** Its id at the provider, as it came first. */
  providerId: string | undefined;
  name: string;
  readonly isCustom: boolean;
  progress: JsonProgress;
  /** The delta to send once the name is whole; absent after it was sent. */
  waiting: ToolCallDelta | undefined;
  /** A piece with the name of a call that was complete, and no text: what follows is another call of that name. */
  next: Piece | undefined;
  readonly arguments: ArgumentStream;
}

/** A delta of a call, read. */
interface Piece {
  readonly providerIndex: number | undefined;
  /** The index is the place in its chunk, for want of another one. */
  readonly isPlaced: boolean;
  readonly id: string | undefined;
  readonly name: string;
  readonly text: string;
  /** The text, for comparison with the texts of calls. */
  readonly whole: WholeJson;
  /** It came with the reason why the answer ended. */
  readonly isLast: boolean;
}

/**
 * Assigns each delta to its call, and gives the calls their indexes and ids. The first delta of a call has its unique
 * id and its name; the later deltas have only text.
 *
 * A delta belongs to the call with its id; if the id is unknown, to the call with its index; without either, to the
 * previous call. If there is no such call, it begins one. If there is one, it begins another only if it has a name, and
 * this name or its id differs or the call is complete. A call that is repeated whole is the same call.
 *
 * Some servers send a name in pieces. If a name begins the longer name of a tool, it is held back until the rest
 * arrives. If it is itself the name of a tool, it is held back only until its arguments arrive.
 */
export class StreamedCalls {
  readonly #calls: StreamedCall[] = [];
  readonly #byIndex = new Map<number, StreamedCall>();
  readonly #byId = new Map<string, StreamedCall>();
  readonly #count: (text: string) => void;
  readonly #toolNames: readonly string[];
  readonly #ids: AnswerCallIds;

  /**
   * @param count Takes each name and text as it comes, also one that is held back: its provider has made it.
   * @param toolNames The names of the tools that may be called, as far as they are known.
   * @param ids Chooses the ids, of all choices of the answer.
   */
  constructor(
    count: (text: string) => void = () => undefined,
    toolNames: readonly string[] = [],
    ids = new AnswerCallIds(),
  ) {
    this.#count = count;
    this.#toolNames = toolNames;
    this.#ids = ids;
  }

  /** The calls that were begun: one without a name is not yet. */
  get size(): number {
    return this.#calls.filter(({ waiting }) => waiting === undefined).length;
  }

  /** Whether the arguments of one break off, or have something behind their end. */
  get hasBroken(): boolean {
    return this.#calls.some(({ isCustom, progress }) => !isCustom && progress.isBroken);
  }

  /** Whether something is held back, which {@link take} gives with the last delta. */
  get isHolding(): boolean {
    return this.#calls.some(isHeld);
  }

  /**
   * Returns the deltas to send for the deltas of one chunk; empty if there is nothing to send.
   *
   * @param isCut Whether the answer ends because it is too long: a call without arguments gets none.
   * @throws {UpstreamError} When there are too many, or too many calls.
   */
  take(deltas: readonly ToolCallDelta[], isLast: boolean, isCut = false): ToolCallDelta[] {
    expectFewCalls(deltas.length);
    const pieces = new Map<ToolCallDelta["index"], ToolCallDelta>();
    // The end of an answer may give its calls once more.
    const earlier = isLast ? [...this.#calls] : [];
    const isIndexed = this.#byIndex.size > 0;
    for (const [position, delta] of deltas.entries()) {
      const [name, text] = getCallTexts(delta);
      const id = readCallId(delta.id);
      const ownIndex = readIndex(delta.index);
      const isPlaced = ownIndex === undefined && id === undefined && deltas.length > 1;
      const providerIndex = isPlaced ? position : ownIndex;
      const piece = { providerIndex, isPlaced, id, name, text, whole: new WholeJson(text), isLast };
      const repeated = isIndexed && !isPlaced ? undefined : findRepeated(earlier, piece);
      const call = repeated ?? this.#find(piece);
      const before =
        call === undefined
          ? this.#release((one) => one.waiting !== undefined && this.#toolNames.includes(one.name))
          : [];
      const next = call === undefined ? this.#open(delta, piece) : this.#continue(call, delta, piece);
      for (const one of next === undefined ? before : [...before, next]) {
        // Clients put two pieces of one call in one chunk together wrongly.
        const begun = pieces.get(one.index)?.function;
        if (begun === undefined || one.function === undefined) pieces.set(one.index, one);
        else begun.arguments = toAnswerText(begun.arguments) + toAnswerText(one.function.arguments);
      }
    }
    const all = [...pieces.values()];
    return isLast && this.isHolding ? [...all, ...this.#release(() => true, isCut)] : all;
  }

  /**
   * Gives what was held back of some calls: names as far as they came, and texts as they came.
   *
   * @param isCut At the end of the answer, whether it is too long. Otherwise the calls of functions get arguments that are whole.
   */
  #release(isReleased: (call: StreamedCall) => boolean, isCut?: boolean): ToolCallDelta[] {
    const calls = this.#calls.filter((call) => isHeld(call) && isReleased(call));
    return calls.map((call) => {
      const waiting = this.#begin(call);
      const isEnd = isCut !== undefined && !call.isCustom;
      const text = isEnd ? call.arguments.end(isCut) : call.arguments.release();
      if (waiting === undefined) return { index: call.index, function: { arguments: text } };
      if (waiting.function) waiting.function.arguments += text;
      return waiting;
    });
  }

  /** @throws {UpstreamError} When a call never got its name. */
  end(): void {
    if (this.#calls.every(({ waiting, progress }) => waiting === undefined || progress.length === 0)) return;
    expectCallName(undefined);
  }

  #find(piece: Piece): StreamedCall | undefined {
    const { providerIndex, id, name } = piece;
    const ofId = id === undefined ? undefined : this.#byId.get(id);
    const last = this.#calls.at(-1);
    const ofIndex = providerIndex === undefined ? (ofId ?? last) : this.#byIndex.get(providerIndex);
    // A place among the deltas of a chunk says little: text goes on with the call that is open.
    const isEnded = piece.isPlaced && name === "" && ofIndex?.progress.isComplete === true;
    if (isEnded && last?.progress.isComplete === false) return last;
    // Nothing but a name begins a call at an index of its own, where the call may have been begun without the index.
    if (ofIndex === undefined) {
      if (name !== "") return ofId !== undefined && isRepeated(ofId, piece) ? ofId : undefined;
      return ofId ?? (this.#byIndex.size === 0 ? last : undefined);
    }
    const call = ofId !== undefined && ofIndex.providerId !== id ? ofId : ofIndex;
    return this.#isNewCall(call, piece) ? undefined : call;
  }

  /** Whether a delta that may belong to a call begins another one. */
  #isNewCall(call: StreamedCall, piece: Piece): boolean {
    const { id, name, text, isLast } = piece;
    const { providerId, progress } = call;
    const isSameId = id !== undefined && id === providerId;
    const isOther = id !== undefined && providerId !== undefined && !isSameId;
    const isEmpty = progress.length === 0 && text === "";
    if (name === "" && call.next !== undefined) return text.trim() !== "" && !isRepeated(call, piece);
    if (name === "" || call.name === "") return name === call.name && isOther && isEmpty;
    if (call.waiting !== undefined) {
      const joined = this.#joinName(call.name, name);
      // The rest of a name is known by what it comes to, whatever its id is.
      const isRest = joined !== undefined && joined !== call.name && this.#toolNames.includes(joined);
      if (isOther ? isRest && !this.#toolNames.includes(call.name) : joined !== undefined) return false;
    }
    if (name !== call.name && (!isSameId || progress.isComplete)) return true;
    // A server that gives ids gives one to each call.
    const isOwn = isSameId || (id === undefined && providerId !== undefined);
    if (isOwn && isReplaced(call, text)) return false;
    const isWhole = progress.isComplete && text !== "";
    if (isOther && isEmpty) return true;
    // Without another id the same text may be another call, but not at the end of the answer.
    return isWhole && !(isRepeated(call, piece) && (isSameId || isLast));
  }

  /** Whether a name may be the beginning of another one. */
  #mayGoOn(name: string): boolean {
    return this.#toolNames.some((whole) => whole.length > name.length && whole.startsWith(name));
  }

  /** The name that goes on by a piece, which may have all of it; `undefined` where that is the name of another call. */
  #joinName(begun: string, piece: string): string | undefined {
    if (piece === begun) return begun;
    const joined = begun + piece;
    if (this.#toolNames.includes(joined) || this.#mayGoOn(joined)) return joined;
    return piece.startsWith(begun) && !this.#toolNames.includes(begun) ? piece : undefined;
  }

  /** @throws {UpstreamError} When the answer has too many calls. */
  #open(delta: ToolCallDelta, piece: Piece): ToolCallDelta | undefined {
    expectFewCalls(this.#calls.length + 1);
    const { providerIndex, text } = piece;
    const begun = piece.name === "" ? this.#takeNext(piece) : undefined;
    const { name } = begun ?? piece;
    const id = piece.id ?? begun?.id;
    const index = this.#calls.length;
    const first: ToolCallDelta = delta.custom
      ? { ...delta, index, id: "", type: "custom", custom: { name, input: text } }
      : { ...delta, index, id: "", type: "function", function: { name, arguments: text } };
    const call: StreamedCall = {
      index,
      providerId: id,
      name,
      isCustom: Boolean(delta.custom),
      progress: new JsonProgress(),
      waiting: first,
      next: undefined,
      arguments: new ArgumentStream(true),
    };
    this.#count(name);
    this.#count(text);
    if (!call.isCustom && first.function !== undefined) first.function.arguments = call.arguments.push(text);
    call.progress.add(text);
    this.#calls.push(call);
    this.#know(call, providerIndex, id);
    return this.#isNamed(call) ? this.#begin(call) : undefined;
  }

  /** Whether the name of a call is whole. That of a tool is once there are arguments, another one where no tool's goes on from it. */
  #isNamed({ name, progress }: StreamedCall): boolean {
    if (name === "" || !this.#mayGoOn(name)) return name !== "";
    return progress.length > 0 && this.#toolNames.includes(name);
  }

  /** Returns the delta that begins a call, with an id: its name is known by now. `undefined` when the call has begun already. */
  #begin(call: StreamedCall): ToolCallDelta | undefined {
    const { waiting } = call;
    call.waiting = undefined;
    if (waiting !== undefined) waiting.id = this.#ids.choose(call.providerId, call.name);
    return waiting;
  }

  /** The piece that began the call of a text, which goes on a call that was complete. */
  #takeNext({ providerIndex, id }: Piece): Piece | undefined {
    const isOf = (call: StreamedCall) =>
      call.next !== undefined &&
      (providerIndex === undefined || this.#byIndex.get(providerIndex) === call) &&
      (id === undefined || call.next.id === undefined || call.next.id === id);
    const call = this.#calls.findLast(isOf);
    const next = call?.next;
    if (call !== undefined) call.next = undefined;
    return next;
  }

  #continue(call: StreamedCall, delta: ToolCallDelta, piece: Piece): ToolCallDelta | undefined {
    const { providerIndex, id, name, text } = piece;
    this.#know(call, providerIndex, id);
    call.providerId ??= id;
    const { waiting } = call;
    // Text without a name is no call of its own.
    const isKnown = isRepeated(call, name === "" && call.next === undefined ? { ...piece, isLast: true } : piece);
    if (isKnown && waiting === undefined) return undefined;
    if (!isKnown && isReplaced(call, text)) call.progress = new JsonProgress();
    if (name !== "" && text === "" && call.progress.isComplete) call.next = piece;
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
    if (name !== "") {
      const joined = call.name === "" ? name : (this.#joinName(call.name, name) ?? name);
      this.#count(joined.slice(call.name.length));
      call.name = called.name = joined;
    }
    return this.#isNamed(call) ? this.#begin(call) : undefined;
  }

  #know(call: StreamedCall, providerIndex: number | undefined, id: string | undefined): void {
    if (providerIndex !== undefined) this.#byIndex.set(providerIndex, call);
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, call);
  }
}

/** Whether something of a call is held back that goes out at the end: its arguments, or a name that may have come in part. */
function isHeld({ waiting, name, isCustom, arguments: stream }: StreamedCall): boolean {
  return waiting === undefined ? !isCustom && stream.isUnfinished : name !== "";
}

/** Whether a text has the arguments of a call that began with `{}` in their place. */
function isReplaced({ isCustom, arguments: stream }: StreamedCall, text: string): boolean {
  return !isCustom && stream.isPlaceholder && beginsAsObject(text);
}

/** The call that is repeated whole, where nothing but its name and text tell which it is. */
function findRepeated(calls: readonly StreamedCall[], piece: Piece): StreamedCall | undefined {
  const { id, name } = piece;
  const isSame = (call: StreamedCall) =>
    isRepeated(call, piece) && (id === undefined || (call.providerId ?? id) === id);
  return name === "" ? undefined : calls.find(isSame);
}

function isRepeated({ name: named, progress }: StreamedCall, { name, whole, isLast }: Piece): boolean {
  // At the end of the answer some servers give all of the arguments once more, without the name.
  const isOfName = name === "" ? isLast : name === named || named === "";
  return isOfName && progress.isComplete && progress.isSame(whole);
}

function readIndex(index: unknown): number | undefined {
  if (typeof index === "number") return index;
  return typeof index === "string" && /^\d{1,9}$/.test(index) ? Number(index) : undefined;
}

import { isRecord, parseJson } from "../../lib/json.ts";
import { CustomInputDecoder } from "./custom-input.ts";
import type { Thoughts } from "./reasoning-seal.ts";
import type { OutputItem } from "./schema.ts";
import type { ToolTarget } from "./tools.ts";

/** One event of a streamed response. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

/** Sends an event, and numbers it: until then its number is 0. */
export type Emit = (event: ResponseEvent) => void;
export type ItemStatus = "completed" | "incomplete";

/** Where an item stands in the answer. */
export interface ItemPlace {
  /** The response's id without its prefix, for ids that stay the same in all events. */
  suffix: string;
  outputIndex: number;
}

/** An item that is being written. */
export interface ItemWriter {
  close(status: ItemStatus): OutputItem;
}

/** Opens and closes one item, and sends what is between. */
class ItemEvents {
  readonly id: string;
  readonly #emit: Emit;
  readonly #outputIndex: number;

  constructor(emit: Emit, prefix: string, { suffix, outputIndex }: ItemPlace) {
    this.id = `${prefix}_${suffix}_${outputIndex}`;
    this.#emit = emit;
    this.#outputIndex = outputIndex;
  }

  added(item: OutputItem): void {
    this.#emit({ type: "response.output_item.added", sequence_number: 0, output_index: this.#outputIndex, item });
  }

  send(type: string, fields: Record<string, unknown>): void {
    const [item_id, output_index] = [this.id, this.#outputIndex];
    this.#emit({ type: `response.${type}`, sequence_number: 0, item_id, output_index, ...fields });
  }

  done(item: OutputItem): OutputItem {
    this.#emit({ type: "response.output_item.done", sequence_number: 0, output_index: this.#outputIndex, item });
    return item;
  }
}

/** Writes a reasoning item: the thoughts' text as its summary, and all of them sealed. */
export class ReasoningWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #seal: ((thoughts: Thoughts) => string) | undefined;
  readonly #details: unknown[] = [];
  #text = "";

  constructor(emit: Emit, place: ItemPlace, seal: ((thoughts: Thoughts) => string) | undefined) {
    this.#events = new ItemEvents(emit, "rs", place);
    this.#seal = seal;
    this.#events.added({ id: this.#events.id, type: "reasoning", status: "in_progress", summary: [] });
  }

  writeText(delta: string): void {
    if (this.#text === "") {
      const part = { type: "summary_text", text: "" };
      this.#events.send("reasoning_summary_part.added", { summary_index: 0, part });
    }
    this.#text += delta;
    this.#events.send("reasoning_summary_text.delta", { summary_index: 0, delta });
  }

  addDetails(details: readonly unknown[]): void {
    this.#details.push(...details);
  }

  close(status: ItemStatus): OutputItem {
    const text = this.#text;
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    for (const part of summary) {
      this.#events.send("reasoning_summary_text.done", { summary_index: 0, text });
      this.#events.send("reasoning_summary_part.done", { summary_index: 0, part });
    }
    const details = this.#details;
    const sealed = this.#seal?.(details.length > 0 ? { details } : { text });
    const encrypted = sealed !== undefined && { encrypted_content: sealed };
    return this.#events.done({ id: this.#events.id, type: "reasoning", status, summary, ...encrypted });
  }
}

/** A log probability of chat; this protocol wants both lists always. */
interface Logprob {
  token: string;
  logprob: number;
  bytes?: number[] | null;
  top_logprobs?: Logprob[];
}

/** Writes a message: its text and its refusal are parts of their own. */
export class MessageWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #content: Record<string, unknown>[] = [];
  #kind: "text" | "refusal" | undefined;
  #text = "";
  #logprobs: unknown[] = [];

  constructor(emit: Emit, place: ItemPlace) {
    this.#events = new ItemEvents(emit, "msg", place);
    this.#events.added({ id: this.#events.id, type: "message", status: "in_progress", role: "assistant", content: [] });
  }

  writeText(delta: string, probabilities: readonly unknown[]): void {
    this.#openPart("text");
    this.#text += delta;
    const logprobs = probabilities.map((one) => toLogprob(one as Logprob));
    this.#logprobs.push(...logprobs);
    this.#events.send("output_text.delta", { content_index: this.#content.length, delta, logprobs });
  }

  writeRefusal(delta: string): void {
    this.#openPart("refusal");
    this.#text += delta;
    this.#events.send("refusal.delta", { content_index: this.#content.length, delta });
  }

  close(status: ItemStatus): OutputItem {
    this.#closePart();
    return this.#events.done({
      id: this.#events.id,
      type: "message",
      status,
      role: "assistant",
      content: this.#content,
    });
  }

  #openPart(kind: "text" | "refusal"): void {
    if (this.#kind === kind) return;
    this.#closePart();
    this.#kind = kind;
    this.#text = "";
    this.#logprobs = [];
    this.#events.send("content_part.added", { content_index: this.#content.length, part: this.#toPart([]) });
  }

  #closePart(): void {
    if (this.#kind === undefined) return;
    const part = this.#toPart(this.#logprobs);
    const index = { content_index: this.#content.length };
    if (this.#kind === "refusal") this.#events.send("refusal.done", { ...index, refusal: this.#text });
    else this.#events.send("output_text.done", { ...index, text: this.#text, logprobs: this.#logprobs });
    this.#events.send("content_part.done", { ...index, part });
    this.#content.push(part);
    this.#kind = undefined;
  }

  #toPart(logprobs: unknown[]): Record<string, unknown> {
    if (this.#kind === "refusal") return { type: "refusal", refusal: this.#text };
    return { type: "output_text", text: this.#text, annotations: [], logprobs };
  }
}

function toLogprob({ token, logprob, bytes, top_logprobs: others }: Logprob): object {
  return { token, logprob, bytes: bytes ?? [], top_logprobs: (others ?? []).map(toTopLogprob) };
}

function toTopLogprob({ token, logprob, bytes }: Logprob): object {
  return { token, logprob, bytes: bytes ?? [] };
}

/** Sees in pieces of JSON where its object or list ends. */
class JsonEnd {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  isReached = false;

  push(piece: string): void {
    for (let at = 0; at < piece.length && !this.isReached; at++) {
      const character = piece[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInText) {
        if (character === "\\") this.#isEscaped = true;
        else if (character === '"') this.#isInText = false;
      } else if (character === '"') this.#isInText = true;
      else if (character === "{" || character === "[") this.#depth++;
      else if ((character === "}" || character === "]") && --this.#depth <= 0) this.isReached = true;
    }
  }
}

/** Writes a call of a function, a custom tool or a tool search, as its client knows the tool. */
export class CallWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #target: ToolTarget;
  readonly #callId: string;
  readonly #decoder: CustomInputDecoder | undefined;
  readonly #end = new JsonEnd();
  /** The arguments, or the input of a custom tool. */
  #text = "";

  constructor(emit: Emit, place: ItemPlace, callId: string, target: ToolTarget) {
    const { kind } = target;
    this.#events = new ItemEvents(emit, kind === "function" ? "fc" : kind === "custom" ? "ctc" : "tsc", place);
    this.#target = target;
    this.#callId = callId;
    this.#decoder = kind === "custom" ? new CustomInputDecoder() : undefined;
    this.#events.added(this.#toItem("in_progress"));
  }

  /** Whether all arguments have come. */
  get isComplete(): boolean {
    return this.#end.isReached;
  }

  write(piece: string): void {
    this.#end.push(piece);
    const text = this.#decoder === undefined ? piece : this.#decoder.push(piece);
    this.#grow(text);
  }

  close(status: ItemStatus): OutputItem {
    if (this.#decoder !== undefined) this.#grow(this.#decoder.end());
    const { kind, name } = this.#target;
    if (kind === "function") this.#events.send("function_call_arguments.done", { name, arguments: this.#text });
    if (kind === "custom") this.#events.send("custom_tool_call_input.done", { input: this.#text });
    return this.#events.done(this.#toItem(status));
  }

  #grow(delta: string): void {
    if (delta === "") return;
    this.#text += delta;
    if (this.#target.kind === "function") this.#events.send("function_call_arguments.delta", { delta });
    if (this.#target.kind === "custom") this.#events.send("custom_tool_call_input.delta", { delta });
  }

  #toItem(status: ItemStatus | "in_progress"): OutputItem {
    const { kind, name, namespace } = this.#target;
    const { id } = this.#events;
    const call = { call_id: this.#callId, name, ...(namespace !== undefined && { namespace }) };
    if (kind === "function") return { id, type: "function_call", status, ...call, arguments: this.#text };
    if (kind === "custom") return { id, type: "custom_tool_call", status, ...call, input: this.#text };
    const query = parseJson(this.#text);
    const search = { execution: "client", arguments: isRecord(query) ? query : {} };
    return { id, type: "tool_search_call", status, call_id: this.#callId, ...search };
  }
}

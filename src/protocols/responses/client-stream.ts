import { type ChatUsage, type GatewayError, getOwn, UpstreamError } from "../../contract/index.ts";
import { fitCallId } from "../../lib/call-ids.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { JsonProgress } from "../../lib/json-progress.ts";
import type { ChatChunk, ChatCompletion, ChunkChoice, FinishReason, ToolCallDelta } from "../../provider/index.ts";
import { isSealed, joinDetails, type Reasoning } from "../reasoning.ts";
import { type ResponseFailure, toFailure } from "./errors.ts";
import type { ResponsePlan, ToolTarget } from "./inbound.ts";
import type { FunctionTool, OutputItem, ResponseObject, ResponseTool, ResponseUsage } from "./schema.ts";

/** A call whose pieces came while another item was open. */
interface LaterCall {
  index: number;
  id: string;
  name: string;
  pieces: string[];
}

/**
 * Turns the chunks of one chat answer into the events of a response. Each method returns the events to send; the first
 * of all begin with `response.created`, so nothing need be sent before the first chunk.
 */
export class ResponseStream {
  readonly #plan: ResponsePlan;
  readonly #head: ResponseHead;
  readonly #echo: ReturnType<typeof toEcho>;
  readonly #suffix: string;
  readonly #output: OutputItem[] = [];
  #events: ResponseEvent[] = [];
  #sequence = 0;
  #item: ItemWriter | undefined;
  /** The index of the call that was begun last; it may be the open item. */
  #liveCall: number | undefined;
  readonly #begunCalls = new Set<number>();
  /** Items that came while a call was not complete, in order: items do not overlap. */
  #later: (LaterCall | (() => void))[] = [];
  readonly #laterCalls = new Map<number, LaterCall>();
  /** Blank text that was held back. */
  #blank: { text: string; logprobs: unknown[] } = { text: "", logprobs: [] };
  /** Citations whose text has not come. */
  #annotations: Record<string, unknown>[] = [];
  #contentLength = 0;
  #finishReason: FinishReason | undefined;
  #usage: ChatUsage | undefined;
  #serviceTier: unknown;

  constructor(plan: ResponsePlan, head: ResponseHead) {
    this.#plan = plan;
    this.#head = head;
    this.#echo = toEcho(plan);
    this.#suffix = head.id.slice(head.id.indexOf("_") + 1);
  }

  /**
   * The events of a chunk; a chunk with usage alone has none.
   *
   * @throws {UpstreamError} When the provider goes on with a tool call that was complete.
   */
  push({ choices, usage, service_tier: tier }: ChatChunk): ResponseEvent[] {
    this.#start();
    if (usage) this.#usage = usage;
    if (tier !== undefined) this.#serviceTier = tier;
    const choice = choices[0];
    if (choice?.index === 0) this.#write(choice);
    return this.#takeEvents();
  }

  /** The events that end the answer; the last has the whole response. Its items are what is to be stored. */
  finish(): ResponseEvent[] {
    this.#start();
    const finishReason = this.#finishReason ?? "stop";
    const isCut = finishReason === "length" || finishReason === "content_filter";
    this.#writeLater(isCut);
    const { text, logprobs } = this.#blank;
    if (text !== "" && this.#item === undefined) this.#writeMessage(text, logprobs);
    this.#closeItem(isCut ? "incomplete" : "completed");
    const response = this.#build({ finishReason });
    this.#emit({ type: `response.${response.status}`, sequence_number: 0, response });
    return this.#takeEvents();
  }

  /** The events that end an answer which broke off. */
  fail(error: GatewayError): ResponseEvent[] {
    this.#start();
    this.#emit({
      type: "response.failed",
      sequence_number: 0,
      response: { ...this.#build({ error: toFailure(error) }), store: false },
    });
    return this.#takeEvents();
  }

  /**
   * The events that keep a silent answer alive: its beginning where nothing was sent yet, else the last event of that once more,
   * with the number of the event before it. Codex gives up a stream without events, whatever comments it has.
   */
  heartbeat(): ResponseEvent[] {
    if (this.#sequence > 0) return [toHeartbeat(this.#build({ output: [] }), this.#sequence - 1)];
    this.#start();
    return this.#takeEvents();
  }

  readonly #emit: Emit = (event) => {
    event.sequence_number = this.#sequence++;
    this.#events.push(event);
  };

  #start(): void {
    if (this.#sequence > 0) return;
    for (const event of toOpening(this.#build({ output: [] }))) this.#emit(event);
  }

  #takeEvents(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #build(outcome: Partial<ResponseOutcome>): ResponseObject {
    const answer = { output: this.#output, usage: this.#usage, serviceTier: this.#serviceTier };
    return buildResponse(this.#head, this.#echo, { ...answer, ...outcome });
  }

  #write({ delta, logprobs, finish_reason: finishReason }: ChunkChoice): void {
    const { reasoning_content: thought, reasoning_details: details, content, refusal, tool_calls: calls } = delta;
    if (thought) this.#inTurn(() => this.#getReasoning().writeText(thought));
    if (Array.isArray(details) && details.length > 0) this.#inTurn(() => this.#getReasoning().addDetails(details));
    if (content) {
      const probabilities = (logprobs as { content?: unknown } | null | undefined)?.content;
      this.#inTurn(() => this.#writeText(content, probabilities));
    }
    if (Array.isArray(delta.annotations)) {
      const annotations = recordsOf<Record<string, unknown>>(delta.annotations);
      this.#inTurn(() => this.#annotate(annotations));
    }
    if (refusal) this.#inTurn(() => this.#getMessage().writeRefusal(refusal));
    calls?.forEach((call, position) => {
      this.#writeCall(call, call.index ?? position);
    });
    if (finishReason) this.#finishReason = finishReason;
  }

  /** Blank text opens no message: some models begin with line breaks before they think or call a tool. */
  #writeText(content: string, probabilities: unknown): void {
    const logprobs = Array.isArray(probabilities) ? probabilities : [];
    if (this.#item instanceof MessageWriter) {
      this.#writeMessage(content, logprobs);
      return;
    }
    const blank = this.#blank;
    blank.text += content;
    blank.logprobs.push(...logprobs);
    if (content.trim() === "") return;
    this.#blank = { text: "", logprobs: [] };
    this.#writeMessage(blank.text, blank.logprobs);
  }

  #writeMessage(text: string, logprobs: readonly unknown[]): void {
    this.#getMessage().writeText(text, logprobs);
    this.#contentLength += text.length;
    this.#annotate([]);
  }

  /** Adds citations to the text that they are of, which is the open one, or comes after them. */
  #annotate(annotations: readonly Record<string, unknown>[]): void {
    this.#annotations.push(...annotations);
    if (!(this.#item instanceof MessageWriter)) return;
    for (const annotation of this.#annotations) this.#item.annotate(annotation);
    this.#annotations = [];
  }

  #getReasoning(): ReasoningWriter {
    if (this.#item instanceof ReasoningWriter) return this.#item;
    const { sealsThoughts, envelope } = this.#plan;
    // Reasoning is sealed for the model that reasoned.
    const seal = (reasoning: Omit<Reasoning, "model">) => envelope.seal({ model: this.#head.model, ...reasoning });
    return this.#open((place) => new ReasoningWriter(this.#emit, place, sealsThoughts ? seal : undefined));
  }

  #getMessage(): MessageWriter {
    if (this.#item instanceof MessageWriter) return this.#item;
    return this.#open((place) => new MessageWriter(this.#emit, place, this.#contentLength));
  }

  /** Some providers announce several calls before they write the arguments of the first, or write them in turns. */
  #writeCall({ id, function: part }: ToolCallDelta, index: number): void {
    const piece = part?.arguments ?? "";
    const later = this.#laterCalls.get(index);
    if (later !== undefined) later.pieces.push(piece);
    else if (index === this.#liveCall && this.#item instanceof CallWriter) {
      this.#item.write(piece);
      if (this.#item.isComplete) this.#writeLater();
    } else if (id !== undefined && !this.#begunCalls.has(index)) {
      this.#begunCalls.add(index);
      const begun: LaterCall = { index, id, name: part?.name ?? "", pieces: [piece] };
      if (!this.#isWaiting) this.#beginCall(begun);
      else {
        this.#later.push(begun);
        this.#laterCalls.set(index, begun);
      }
    } else if (piece !== "") {
      // Its item is closed: clients run a tool as soon as they have its item.
      throw new UpstreamError("bad_response", "The provider went on with a tool call that was complete");
    }
  }

  #beginCall({ index, id, name, pieces }: LaterCall): void {
    const target = this.#plan.tools.getTarget(name);
    const writer = this.#open((place) => new CallWriter(this.#emit, place, id, target));
    this.#liveCall = index;
    for (const piece of pieces) writer.write(piece);
  }

  /** Whether the open item is a call of which more may come. */
  get #isWaiting(): boolean {
    return this.#later.length > 0 || (this.#item instanceof CallWriter && !this.#item.isComplete);
  }

  /** Writes something else than a call once no open call waits for more. */
  #inTurn(write: () => void): void {
    if (this.#isWaiting) this.#later.push(write);
    else write();
  }

  /** Writes what had to wait, up to the next call that is not complete; at the end of the answer all of it. */
  #writeLater(isCut?: boolean): void {
    const later = this.#later;
    this.#later = [];
    for (const [position, next] of later.entries()) {
      if (this.#item instanceof CallWriter && !this.#item.isComplete) {
        if (isCut === undefined) {
          this.#later = later.slice(position);
          return;
        }
        this.#closeItem(isCut ? "incomplete" : "completed");
      }
      if (typeof next === "function") next();
      else {
        this.#laterCalls.delete(next.index);
        this.#beginCall(next);
      }
    }
  }

  /** Items do not overlap: a new one closes the one before. */
  #open<Writer extends ItemWriter>(create: (place: { suffix: string; outputIndex: number }) => Writer): Writer {
    this.#closeItem("completed");
    const writer = create({ suffix: this.#suffix, outputIndex: this.#output.length });
    this.#item = writer;
    return writer;
  }

  #closeItem(status: ItemStatus): void {
    if (this.#item !== undefined) this.#output.push(this.#item.close(status));
    this.#item = undefined;
  }
}

/** The events with which every answer begins. */
export function toOpening(response: ResponseObject): ResponseEvent[] {
  return [
    { type: "response.created", sequence_number: 0, response },
    { type: "response.in_progress", sequence_number: 1, response },
  ];
}

/** An answer without items that only a provider of the protocol can give, and has not begun to. */
export function createOpening(head: ResponseHead, plan: EchoedPlan): ResponseObject {
  return buildResponse(head, toEcho(plan), { output: [] });
}

/** An event that says nothing new. @param sequence The number of the event before it. */
export function toHeartbeat(response: Record<string, unknown>, sequence: number): ResponseEvent {
  return { type: "response.in_progress", sequence_number: sequence, response };
}

/** Translates a whole chat answer; the same as the end of its stream. */
export function toResponse(completion: ChatCompletion, plan: ResponsePlan, head: ResponseHead): ResponseObject {
  const stream = new ResponseStream(plan, head);
  const { choices, usage, service_tier } = completion as ChatCompletion & { service_tier?: unknown };
  const [choice] = choices;
  if (choice !== undefined) {
    const { message, finish_reason, logprobs } = choice as typeof choice & { logprobs?: unknown };
    stream.push({ choices: [{ index: 0, delta: message as ChunkChoice["delta"], logprobs, finish_reason }] });
  }
  if (usage) stream.push({ choices: [], usage });
  if (service_tier !== undefined) stream.push({ choices: [], service_tier });
  return stream.finish().at(-1)?.response as ResponseObject;
}

/** One event of a streamed response. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

/** Sends an event, and numbers it: until then its number is 0. */
type Emit = (event: ResponseEvent) => void;
type ItemStatus = "completed" | "incomplete";

/** Where an item stands in the answer. */
interface ItemPlace {
  /** The response's id without its prefix, for ids that stay the same in all events. */
  suffix: string;
  outputIndex: number;
}

/** An item that is being written. */
interface ItemWriter {
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

/** Writes a reasoning item: the text of the reasoning as its summary, and all of it sealed. */
class ReasoningWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #seal: ((reasoning: Omit<Reasoning, "model">) => string) | undefined;
  readonly #details: unknown[] = [];
  #text = "";

  constructor(emit: Emit, place: ItemPlace, seal: ((reasoning: Omit<Reasoning, "model">) => string) | undefined) {
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
    const details = joinDetails(this.#details);
    const sealed = this.#seal?.(details.some(isSealed) ? { details } : { text });
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
class MessageWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #content: Record<string, unknown>[] = [];
  readonly #start: number;
  #kind: "text" | "refusal" | undefined;
  #text = "";
  #logprobs: unknown[] = [];
  #annotations: unknown[] = [];

  /** @param start Where its text begins in the content of the answer. */
  constructor(emit: Emit, place: ItemPlace, start: number) {
    this.#start = start;
    this.#events = new ItemEvents(emit, "msg", place);
    this.#events.added({ id: this.#events.id, type: "message", status: "in_progress", role: "assistant", content: [] });
  }

  writeText(delta: string, probabilities: readonly unknown[]): void {
    this.#openPart("text");
    this.#text += delta;
    const logprobs = recordsOf<Logprob>(probabilities).map(toLogprob);
    this.#logprobs.push(...logprobs);
    this.#events.send("output_text.delta", { content_index: this.#content.length, delta, logprobs });
  }

  /** Adds a citation of a page, in the words of chat; others, and those of other items, are left out. */
  annotate({ type, url_citation: cited }: Record<string, unknown>): void {
    if (this.#kind !== "text" || type !== "url_citation" || !isRecord(cited) || typeof cited.url !== "string") return;
    const { url, title, start_index: from, end_index: to } = cited;
    const start = typeof from === "number" ? from - this.#start : 0;
    const end = typeof to === "number" ? to - this.#start : this.#text.length;
    if (start < 0) return;
    const annotation = { type, url, title: typeof title === "string" ? title : "", start_index: start, end_index: end };
    this.#events.send("output_text.annotation.added", {
      content_index: this.#content.length,
      annotation_index: this.#annotations.length,
      annotation,
    });
    this.#annotations.push(annotation);
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
    this.#annotations = [];
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
    return { type: "output_text", text: this.#text, annotations: [...this.#annotations], logprobs };
  }
}

function toLogprob({ token, logprob, bytes, top_logprobs: others }: Logprob): object {
  return { token, logprob, bytes: bytes ?? [], top_logprobs: recordsOf<Logprob>(others).map(toTopLogprob) };
}

/** The objects of what should be a list of them. */
function recordsOf<Item>(list: unknown): Item[] {
  return Array.isArray(list) ? (list.filter(isRecord) as Item[]) : [];
}

function toTopLogprob({ token, logprob, bytes }: Logprob): object {
  return { token, logprob, bytes: bytes ?? [] };
}

/** Writes a call of a function, a custom tool or a tool search, as its client knows the tool. */
class CallWriter implements ItemWriter {
  readonly #events: ItemEvents;
  readonly #target: ToolTarget;
  readonly #callId: string;
  readonly #decoder: CustomInputDecoder | undefined;
  readonly #progress = new JsonProgress();
  /** The arguments, or the input of a custom tool. */
  #text = "";

  constructor(emit: Emit, place: ItemPlace, callId: string, target: ToolTarget) {
    const { kind } = target;
    this.#events = new ItemEvents(emit, kind === "function" ? "fc" : kind === "custom" ? "ctc" : "tsc", place);
    this.#target = target;
    this.#callId = fitCallId(callId, "responses");
    this.#decoder = kind === "custom" ? new CustomInputDecoder() : undefined;
    this.#events.added(this.#toItem("in_progress"));
  }

  /** Whether all arguments have come. */
  get isComplete(): boolean {
    return this.#progress.isComplete;
  }

  write(piece: string): void {
    this.#progress.add(piece);
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

const opening = /^\s*\{\s*"input"\s*:\s*"/;
/** An opening is far shorter; a text that has none by then is something else. */
const openingCharactersMax = 256;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/**
 * Turns the arguments of a function with one string `input` back to the free text of a custom tool, piece by piece.
 * Arguments of another form are held until their end, and given out whole.
 */
export class CustomInputDecoder {
  #state: "opening" | "text" | "ended" | "held" = "opening";
  /** Undecided text: the opening, an escape that is not complete, or all that is held. */
  #rest = "";

  /** The text that this piece adds. */
  push(piece: string): string {
    if (this.#state === "ended") return "";
    this.#rest += piece;
    if (this.#state === "held") return "";
    if (this.#state === "opening") {
      const match = opening.exec(this.#rest);
      if (match === null) {
        if (this.#rest.length > openingCharactersMax) this.#state = "held";
        return "";
      }
      this.#state = "text";
      this.#rest = this.#rest.slice(match[0].length);
    }
    return this.#decode();
  }

  /** The text that is left at the end. */
  end(): string {
    if (this.#state === "opening" || this.#state === "held") return readInput(this.#rest);
    return "";
  }

  #decode(): string {
    const source = this.#rest;
    let text = "";
    let from = 0;
    for (let at = 0; at < source.length; ) {
      const character = source[at];
      if (character === '"') {
        this.#state = "ended";
        this.#rest = "";
        return text + source.slice(from, at);
      }
      if (character !== "\\") {
        at++;
        continue;
      }
      const length = escapeLength(source, at);
      // The escape goes on in the next piece.
      if (length === undefined) {
        this.#rest = source.slice(at);
        return text + source.slice(from, at);
      }
      text += source.slice(from, at) + decodeEscape(source.slice(at + 1, at + length));
      at += length;
      from = at;
    }
    this.#rest = "";
    return text + source.slice(from);
  }
}

/** Characters of the escape there, both halves of a surrogate pair together; `undefined` when it is not complete. */
function escapeLength(source: string, at: number): number | undefined {
  const kind = source[at + 1];
  if (kind === undefined) return undefined;
  if (kind !== "u") return 2;
  if (source.length < at + 6) return undefined;
  const isHigh = /^d[89ab]/i.test(source.slice(at + 2, at + 4));
  if (!isHigh) return 6;
  const next = source.slice(at + 6, at + 12);
  if (next.length < 6 && "\\u".startsWith(next.slice(0, 2))) return undefined;
  return /^\\ud[c-f][0-9a-f]{2}$/i.test(next) ? 12 : 6;
}

/** @param sequence What stands behind the backslash. */
function decodeEscape(sequence: string): string {
  if (sequence[0] !== "u") return escapes[sequence] ?? sequence;
  const codes = sequence.split("\\").map((code) => Number.parseInt(code.slice(1), 16));
  return codes.some(Number.isNaN) ? `\\${sequence}` : String.fromCharCode(...codes);
}

/** Arguments that do not begin as expected: JSON of another form, or the free text itself. */
function readInput(text: string): string {
  const value = parseJson(text);
  if (isRecord(value) && typeof value.input === "string") return value.input;
  if (isRecord(value) && Object.keys(value).length === 0) return "";
  return typeof value === "string" ? value : text;
}

/** Fields that are the same in every event of an answer. */
export interface ResponseHead {
  /** `resp_…` */
  id: string;
  /** The public model id. */
  model: string;
  /** Seconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * The head of an answer.
 *
 * @param suffix What follows `resp_` in its id. By default it is random: the id opens a stored response, and others see that
 * of the call in the request log.
 */
export function createResponseHead(model: string, now: () => number, suffix = randomSuffix()): ResponseHead {
  return { id: `resp_${suffix}`, model, createdAt: Math.floor(now() / 1000), now };
}

function randomSuffix(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toHex();
}

/** How an answer ended, or that it has not. */
interface ResponseOutcome {
  output: OutputItem[];
  finishReason?: FinishReason | undefined;
  error?: ResponseFailure | undefined;
  usage?: ChatUsage | undefined;
  serviceTier?: unknown;
}

const incompleteReasons = { length: "max_output_tokens", content_filter: "content_filter" };
const serviceTiers: ReadonlySet<unknown> = new Set([
  "auto",
  "default",
  "flex",
  "scale",
  "priority",
  "fast",
  "ultrafast",
  "batch",
]);

/** The part of a plan that an answer repeats. */
type EchoedPlan = Pick<ResponsePlan, "request" | "stored">;

/**
 * The part of an answer that repeats the request; it is made once for all events of a stream. As from OpenAI, every field
 * is there: strict clients (Open Responses) refuse an answer without one, and one whose sampling is not a number.
 */
function toEcho({ request, stored }: EchoedPlan) {
  const { reasoning, text } = request;
  return {
    background: false,
    // The protocol has no such field in a request.
    frequency_penalty: 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    presence_penalty: 0,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    store: stored,
    temperature: request.temperature ?? 1,
    text: { format: text?.format ?? { type: "text" }, ...(text?.verbosity && { verbosity: text.verbosity }) },
    tool_choice: request.tool_choice ?? "auto",
    tools: (request.tools ?? []).map(toEchoedTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: "disabled",
    user: request.user ?? null,
  };
}

/** OpenAI answers with both fields, also where the request has none. */
function toEchoedTool(tool: ResponseTool): ResponseTool {
  if (tool.type !== "function") return tool;
  const { parameters = null, strict = null, ...rest } = tool as FunctionTool;
  return { ...rest, parameters, strict };
}

/** A response: in progress without a finish reason and an error. */
function buildResponse(
  head: ResponseHead,
  echo: ReturnType<typeof toEcho>,
  { output, finishReason, error, usage, serviceTier }: ResponseOutcome,
): ResponseObject {
  const reason = finishReason === undefined ? undefined : getOwn(incompleteReasons, finishReason);
  const ended = reason === undefined ? "completed" : "incomplete";
  const status = error !== undefined ? "failed" : finishReason === undefined ? "in_progress" : ended;
  return {
    id: head.id,
    object: "response",
    created_at: head.createdAt,
    status,
    completed_at: status === "completed" ? Math.floor(head.now() / 1000) : null,
    error: error ?? null,
    incomplete_details: error === undefined && reason !== undefined ? { reason } : null,
    model: head.model,
    output,
    ...echo,
    service_tier: serviceTiers.has(serviceTier) ? (serviceTier as string) : "default",
    usage: usage ? toResponseUsage(usage) : null,
  };
}

/** Usage in the shape of this protocol, which has no way to say that a figure is unknown: it is 0 then. */
export function toResponseUsage(usage: ChatUsage): ResponseUsage {
  const { prompt_tokens: input, completion_tokens: output = 0, cost } = usage;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      cache_write_tokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens ?? input + output,
    ...(cost !== undefined && { cost }),
  };
}

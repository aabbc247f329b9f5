import {
  type ChatChunk,
  type ChatCompletion,
  type ChatUsage,
  type ChunkChoice,
  type FinishReason,
  type GatewayError,
  type ToolCallDelta,
  UpstreamFault,
} from "../../contract/index.ts";
import { toFailure } from "./errors.ts";
import {
  CallWriter,
  type Emit,
  type ItemStatus,
  type ItemWriter,
  MessageWriter,
  ReasoningWriter,
  type ResponseEvent,
} from "./item-writers.ts";
import type { ResponsePlan } from "./request.ts";
import { buildResponse, type ResponseHead, type ResponseOutcome, toEcho } from "./response-object.ts";
import type { OutputItem, ResponseObject } from "./schema.ts";

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
  /** What came while a call was not complete, in the order in which it began: items do not overlap. */
  #later: (LaterCall | (() => void))[] = [];
  readonly #laterCalls = new Map<number, LaterCall>();
  /** Blank text that was held back. */
  #blank: { text: string; logprobs: unknown[] } = { text: "", logprobs: [] };
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
   * @throws {UpstreamFault} When the provider goes on with a tool call that was complete.
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
    if (text !== "" && this.#item === undefined) this.#getMessage().writeText(text, logprobs);
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

  readonly #emit: Emit = (event) => {
    event.sequence_number = this.#sequence++;
    this.#events.push(event);
  };

  #start(): void {
    if (this.#sequence > 0) return;
    const response = this.#build({ output: [] });
    this.#emit({ type: "response.created", sequence_number: 0, response });
    this.#emit({ type: "response.in_progress", sequence_number: 0, response });
  }

  #takeEvents(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #build(outcome: Partial<ResponseOutcome>): ResponseObject {
    const known = { output: this.#output, usage: this.#usage, serviceTier: this.#serviceTier };
    return buildResponse(this.#head, this.#echo, { ...known, ...outcome });
  }

  #write({ delta, logprobs, finish_reason: finishReason }: ChunkChoice): void {
    const { reasoning_content: thought, reasoning_details: details, content, refusal, tool_calls: calls } = delta;
    if (thought) this.#inTurn(() => this.#getReasoning().writeText(thought));
    if (Array.isArray(details) && details.length > 0) this.#inTurn(() => this.#getReasoning().addDetails(details));
    if (content) {
      const probabilities = (logprobs as { content?: unknown } | null | undefined)?.content;
      this.#inTurn(() => this.#writeText(content, probabilities));
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
      this.#item.writeText(content, logprobs);
      return;
    }
    const blank = this.#blank;
    blank.text += content;
    blank.logprobs.push(...logprobs);
    if (content.trim() === "") return;
    this.#blank = { text: "", logprobs: [] };
    this.#getMessage().writeText(blank.text, blank.logprobs);
  }

  #getReasoning(): ReasoningWriter {
    if (this.#item instanceof ReasoningWriter) return this.#item;
    const { sealsThoughts, seal } = this.#plan;
    return this.#open((place) => new ReasoningWriter(this.#emit, place, sealsThoughts ? seal.seal : undefined));
  }

  #getMessage(): MessageWriter {
    if (this.#item instanceof MessageWriter) return this.#item;
    return this.#open((place) => new MessageWriter(this.#emit, place));
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
      throw new UpstreamFault("bad_response", "The provider went on with a tool call that was complete");
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

/** Events as they go over the wire: the type stands in the name and in the data. */
export function formatEvents(events: readonly ResponseEvent[]): string {
  let text = "";
  for (const event of events) text += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  return text;
}

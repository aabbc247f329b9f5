import { UpstreamError } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { isEndMark } from "../../lib/sse.ts";
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatStream,
  type ChunkChoice,
  type FinishReason,
  type ServerEvent,
  type ToolCall,
  type ToolCallDelta,
  toAnswerText,
  toFinishReason,
} from "../../provider/index.ts";
import { toResponsesDetail } from "../reasoning.ts";
import { classifyError, classifyResponseFailure } from "../upstream-errors.ts";
import { readResponsesUsage } from "./passthrough.ts";

type Part = Record<string, unknown>;

const listOf = (value: unknown): Part[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/**
 * A response as a chat answer. Its message items are paragraphs.
 *
 * @param asksJson Whether JSON was asked for: commentary before it is then a thought, and no content.
 * @throws {UpstreamError} When it is an error, or no response.
 */
export function fromResponse(answer: unknown, asksJson: boolean): ChatCompletion {
  const response = checkResponse(answer);
  const message: ChatCompletion["choices"][number]["message"] = { role: "assistant", content: null };
  const [texts, refusals, thoughts, logprobs]: [string[], string[], string[], unknown[]] = [[], [], [], []];
  const calls: ToolCall[] = [];
  const [details, annotations]: [Part[], Part[]] = [[], []];
  for (const item of listOf(response.output)) {
    const parts = item.type === "message" ? listOf(item.content) : [];
    const isThought = asksJson && isCommentary(item);
    const text = joinParts(parts, "output_text", "text");
    if (!isThought) {
      // An empty line stands before each paragraph but the first.
      let start = joinParagraphs([...texts, text]).length - text.length;
      for (const part of parts.filter(({ type }) => type === "output_text")) {
        annotations.push(...listOf(part.annotations).flatMap((annotation) => toChatAnnotation(annotation, start)));
        start += textOf(part.text).length;
      }
    }
    (isThought ? thoughts : texts).push(text);
    refusals.push(joinParts(parts, "refusal", "refusal"));
    if (!isThought) logprobs.push(...parts.flatMap((part) => listOf(part.logprobs)));
    if (item.type === "reasoning") {
      thoughts.push(...[...listOf(item.summary), ...listOf(item.content)].map(({ text }) => textOf(text)));
      const detail = toResponsesDetail(item, details.length);
      if (detail !== undefined) details.push(detail);
    }
    const call = toCall(item, true);
    if (call !== undefined) calls.push(call as ToolCall);
  }
  const [content, refusal, thought] = [joinParagraphs(texts), joinParagraphs(refusals), joinParagraphs(thoughts)];
  if (content !== "") message.content = content;
  if (refusal !== "") message.refusal = refusal;
  if (thought !== "") message.reasoning_content = thought;
  if (details.length > 0) Object.assign(message, { reasoning_details: details });
  if (annotations.length > 0) Object.assign(message, { annotations });
  if (calls.length > 0) message.tool_calls = calls;
  const choice = {
    index: 0,
    message,
    finish_reason: readFinish(response, calls.length > 0),
    ...(logprobs.length > 0 && { logprobs: { content: logprobs } }),
  };
  const usage = readResponsesUsage(response);
  return {
    id: "",
    object: "chat.completion",
    created: typeof response.created_at === "number" ? Math.floor(response.created_at) : 0,
    model: "",
    choices: [choice],
    ...(usage && { usage }),
    ...(typeof response.service_tier === "string" && { service_tier: response.service_tier }),
  };
}

function joinParts(parts: readonly Part[], type: string, field: string): string {
  return parts.map((part) => (part.type === type ? textOf(part[field]) : "")).join("");
}

function joinParagraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/**
 * A citation of a page as chat has it. Others are of files that only the provider has.
 *
 * @param start Where the text of its part begins in the content of the answer.
 */
function toChatAnnotation({ type, ...citation }: Part, start: number): Part[] {
  if (type !== "url_citation") return [];
  for (const name of ["start_index", "end_index"]) {
    const index = citation[name];
    if (typeof index === "number") citation[name] = index + start;
  }
  return [{ type, url_citation: citation }];
}

/** Whether a message tells what the model is about to do, and does not answer. */
function isCommentary({ type, phase }: Part): boolean {
  return type === "message" && phase === "commentary";
}

/** @throws {UpstreamError} When it is not a response, or one that failed. */
function checkResponse(value: unknown): Part {
  if (!isRecord(value) || !Array.isArray(value.output)) throw classifyError(value);
  if (value.status === "failed" || isRecord(value.error)) throw classifyResponseFailure({ error: value.error ?? {} });
  return value;
}

function readFinish({ status, incomplete_details: details }: Part, hasCalls: boolean): FinishReason {
  if (status !== "incomplete") return toFinishReason(status, hasCalls);
  return isRecord(details) && details.reason === "content_filter" ? "content_filter" : "length";
}

/** The call of an item, whole or without what it is called with; `undefined` for an item that is not a call. */
function toCall({ type, call_id: callId, name: called, arguments: text, input }: Part, isWhole: boolean) {
  const [id, name] = [textOf(callId), textOf(called)];
  if (type === "custom_tool_call") {
    return { id, type: "custom", custom: { name, input: isWhole ? toAnswerText(input) : "" } } as const;
  }
  if (type !== "function_call") return undefined;
  return { id, type: "function", function: { name, arguments: isWhole ? toAnswerText(text) : "" } } as const;
}

function readEvent({ event, data }: ServerEvent): Part | undefined {
  if (data.trim() === "" || isEndMark(data)) return undefined;
  const part = parseJson(data, "event");
  if (event === "raw" || !isRecord(part)) throw classifyError(part ?? data);
  const { type, response } = part;
  if (type === "error" || isRecord(part.error)) throw classifyResponseFailure(part);
  if (type === "response.failed")
    throw classifyResponseFailure({ error: (isRecord(response) && response.error) || {} });
  return part;
}

/** A call that has begun. Servers differ in what they name again by the events that follow. */
interface OpenCall {
  readonly index: number;
  /** The place of its item, the item's id, and its own id. */
  readonly place: unknown;
  readonly itemId: unknown;
  readonly callId: unknown;
  /** Its name has come. */
  hasName: boolean;
  /** Pieces of what it is called with have come. */
  hasText: boolean;
  /** Its whole item has come. */
  hasEnded: boolean;
}

/**
 * The events of a response as chunks.
 *
 * @throws {UpstreamError} When one tells of a failure, and `bad_response` when the stream ends before the response does.
 */
export class ResponsesOutboundStream implements ChatStream<ServerEvent> {
  readonly events: ChatStream<ServerEvent>["events"];
  isComplete = false;
  readonly #onTier: (tier: unknown) => void;
  readonly #asksJson: boolean;
  readonly #calls: OpenCall[] = [];
  #detailCount = 0;
  /** The place of the item that began last, for providers that leave the place of a piece out. */
  #lastPlace = -1;
  #summaryCount = 0;
  /** Where the text of each part begins in the content of the answer. */
  readonly #starts = new Map<string, number>();
  #contentLength = 0;
  /** The places of messages that are commentary. */
  readonly #commentary = new Set<number>();
  /** The paragraphs of each field that have begun. */
  readonly #paragraphs = {
    content: new Set<unknown>(),
    refusal: new Set<unknown>(),
    reasoning_content: new Set<unknown>(),
  };
  /** The fields of which a piece was given. */
  readonly #given = new Set<string>();

  /** @param asksJson As for {@link fromResponse}. */
  constructor(events: ChatStream<ServerEvent>["events"], onTier: (tier: unknown) => void, asksJson = false) {
    this.events = events;
    this.#onTier = onTier;
    this.#asksJson = asksJson;
  }

  push(event: ServerEvent): ChatChunk[] {
    const part = readEvent(event);
    if (part === undefined) return [];
    const piece = this.#read(part);
    if (piece !== undefined) {
      for (const name in piece.delta) if (piece.delta[name]) this.#given.add(name);
      return [{ choices: [{ index: 0, ...piece }] }];
    }
    if (part.type !== "response.completed" && part.type !== "response.incomplete") return [];
    this.isComplete = true;
    // Some servers leave the items out of the last event.
    const hasStreamed = this.#given.size > 0 || this.#calls.length > 0;
    if (isRecord(part.response) && hasStreamed) part.response.output ??= [];
    const response = checkResponse(part.response);
    if (part.type === "response.incomplete") response.status ??= "incomplete";
    const { service_tier: tier } = response;
    this.#onTier(tier);
    const usage = readResponsesUsage(response);
    const delta = this.#findRest(response);
    const finish = readFinish(response, this.#calls.length > 0 || delta.tool_calls !== undefined);
    return [
      {
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...(usage && { usage }),
        ...(typeof tier === "string" && { service_tier: tier }),
      },
    ];
  }

  end(): ChatChunk[] {
    if (this.isComplete) return [];
    throw new UpstreamError("bad_response", "The provider's stream ended before its answer did");
  }

  /** Returns what the whole response has and no event before it: some servers send nothing else. */
  #findRest(response: Part): ChunkChoice["delta"] {
    const [choice] = fromResponse(response, this.#asksJson).choices;
    const { role: _, ...message }: Record<string, unknown> = { ...choice?.message };
    for (const name in message) if (this.#given.has(name) || !message[name]) delete message[name];
    const calls = (choice?.message.tool_calls ?? []).flatMap((call) => this.#findRestOfCall(call));
    return { ...message, ...(calls.length > 0 && { tool_calls: calls }) };
  }

  #findRestOfCall(call: ToolCall): ToolCallDelta[] {
    const openCall = this.#findById(undefined, call.id);
    if (openCall === undefined) return this.#calls.length === 0 ? [call] : [];
    const { index } = openCall;
    if (openCall.hasText || openCall.hasEnded) return [];
    return [{ index, function: { arguments: call.function?.arguments ?? "" } }];
  }

  /** Reads what an event adds to the answer; `undefined` if it adds nothing. */
  #read(part: Part): Pick<ChunkChoice, "delta" | "logprobs"> | undefined {
    const { type, output_index: place } = part;
    const at = typeof place === "number" ? place : this.#lastPlace;
    const text = textOf(part.delta);
    switch (type) {
      case "response.output_text.delta": {
        if (this.#commentary.has(at)) return this.#write("reasoning_content", at, text);
        const written = this.#write("content", at, text);
        const key = `${at} ${part.content_index ?? 0}`;
        this.#contentLength += textOf(written.delta.content).length;
        if (text !== "" && !this.#starts.has(key)) this.#starts.set(key, this.#contentLength - text.length);
        const logprobs = listOf(part.logprobs);
        return { ...written, ...(logprobs.length > 0 && { logprobs: { content: logprobs } }) };
      }
      case "response.output_text.annotation.added": {
        const start = this.#starts.get(`${at} ${part.content_index ?? 0}`);
        const annotations =
          start === undefined ? [] : listOf([part.annotation]).flatMap((cited) => toChatAnnotation(cited, start));
        return annotations.length === 0 ? undefined : { delta: { annotations } };
      }
      case "response.refusal.delta":
        return this.#write("refusal", at, text);
      case "response.reasoning_summary_part.added":
        this.#summaryCount++;
        return undefined;
      case "response.reasoning_summary_text.delta":
        return this.#write("reasoning_content", `${at} summary ${this.#summaryCount}`, text);
      case "response.reasoning_text.delta":
        return this.#write("reasoning_content", `${at} text ${part.content_index ?? 0}`, text);
      case "response.output_item.added":
        this.#lastPlace = typeof place === "number" ? place : this.#lastPlace + 1;
        if (this.#asksJson && isRecord(part.item) && isCommentary(part.item)) this.#commentary.add(this.#lastPlace);
        return this.#begin(part.item, place);
      case "response.function_call_arguments.delta":
        return this.#continue(part, (text) => ({ function: { arguments: text } }));
      case "response.function_call_arguments.done":
        return this.#complete(this.#find(part.item_id, part.call_id, place), {
          function: { arguments: toAnswerText(part.arguments) },
        });
      case "response.custom_tool_call_input.delta":
        return this.#continue(part, (text) => ({ custom: { input: text } }));
      case "response.output_item.done":
        return this.#end(part.item, place);
      default:
        return undefined;
    }
  }

  /** Gives a piece of a paragraph, which an empty line separates from the one before. */
  #write(field: "content" | "refusal" | "reasoning_content", paragraph: unknown, text: string) {
    const paragraphs = this.#paragraphs[field];
    const isNext = text !== "" && paragraphs.size > 0 && !paragraphs.has(paragraph);
    if (text !== "") paragraphs.add(paragraph);
    const delta: ChunkChoice["delta"] = { [field]: isNext ? `\n\n${text}` : text };
    return { delta };
  }

  #begin(item: unknown, place: unknown) {
    const call = isRecord(item) ? toCall(item, false) : undefined;
    if (call === undefined || !isRecord(item)) return undefined;
    const { id: itemId } = item;
    if (this.#findById(itemId, call.id) !== undefined) return undefined;
    const index = this.#calls.length;
    const hasName = ("custom" in call ? call.custom : call.function).name !== "";
    this.#calls.push({ index, place, itemId, callId: call.id, hasName, hasText: false, hasEnded: false });
    return toDelta({ index, ...call });
  }

  #continue(part: Part, toPiece: (text: string) => ToolCallDelta) {
    const call = this.#find(part.item_id, part.call_id, part.output_index);
    if (call === undefined) {
      throw new UpstreamError("bad_response", "The provider's stream has a piece of a call that it has not begun");
    }
    const text = toAnswerText(part.delta);
    // After empty pieces the whole item has all of it.
    call.hasText ||= text !== "";
    return toDelta({ index: call.index, ...toPiece(text) });
  }

  /** Gives the arguments of a call, unless pieces of them have come. */
  #complete(call: OpenCall | undefined, piece: ToolCallDelta) {
    if (call === undefined || call.hasText) return undefined;
    call.hasText = (piece.function?.arguments ?? piece.custom?.input ?? "") !== "";
    return toDelta({ index: call.index, ...piece });
  }

  /** A whole item: what no event before has said of it. */
  #end(item: unknown, place: unknown) {
    if (!isRecord(item)) return undefined;
    if (item.type === "reasoning") {
      const detail = toResponsesDetail(item, this.#detailCount);
      if (detail === undefined) return undefined;
      this.#detailCount++;
      return { delta: { reasoning_details: [detail] } };
    }
    const call = toCall(item, true);
    if (call === undefined) return undefined;
    const openCall = this.#find(item.id, call.id, place);
    if (openCall === undefined) {
      this.#begin(item, place);
      const begun = this.#calls.at(-1) as OpenCall;
      begun.hasText = begun.hasEnded = true;
      return toDelta({ index: begun.index, ...call });
    }
    openCall.hasEnded = true;
    const piece =
      "custom" in call
        ? { custom: { input: call.custom.input } }
        : { function: { arguments: call.function.arguments } };
    if (openCall.hasName) return this.#complete(openCall, piece);
    // Some servers name a call at its end alone.
    openCall.hasName = true;
    const { name } = "custom" in call ? call.custom : call.function;
    const text = openCall.hasText ? "" : "custom" in call ? call.custom.input : call.function.arguments;
    const named = "custom" in call ? { custom: { name, input: text } } : { function: { name, arguments: text } };
    return toDelta({ index: openCall.index, ...named });
  }

  /** The call of an event: by its ids, which some servers make anew for each event; else by its place, or the last one. */
  #find(itemId: unknown, callId: unknown, place: unknown): OpenCall | undefined {
    const isOpenAt = (call: OpenCall) => !call.hasEnded && (place === undefined || call.place === place);
    return this.#findById(itemId, callId) ?? this.#calls.findLast(isOpenAt);
  }

  #findById(itemId: unknown, callId: unknown): OpenCall | undefined {
    if (callId) return this.#calls.findLast((call) => call.callId === callId);
    return itemId ? this.#calls.findLast((call) => call.itemId === itemId) : undefined;
  }
}

function toDelta(call: ToolCallDelta): Pick<ChunkChoice, "delta"> {
  return { delta: { tool_calls: [call] } };
}

import { type ChatUsage, getOwn, UpstreamError } from "../../contract/index.ts";
import { isRecord, JsonBoundsError, mapChanged, parseJson, readJson } from "../../lib/json.ts";
import { isEndMark } from "../../lib/sse.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type Message,
  type Model,
  type ServerEvent,
  toFinishReason,
  toWrittenText,
} from "../../provider/index.ts";
import { limitMarks, sendMarked, toAnthropicMarks, withCoveredLifetimes } from "../cache-marks.ts";
import { withStops } from "../stops.ts";
import { withWholeSchema } from "../tool-schema.ts";
import { withFunctionsAsTools } from "../tools.ts";
import { classifyError, isFailedAnswer } from "../upstream-errors.ts";
import { withoutBeginning } from "./begun-answer.ts";
import {
  type ChatOptions,
  fitReasoning,
  isLeftOut,
  resolveOptions,
  takesMarks,
  toBody,
  toMessages,
  warnOfTier,
  withCacheKey,
  withFiveMinutes,
  withoutMarks,
} from "./request.ts";
import { toTurnOrder, turnOrderOf } from "./turn-order.ts";
import { UsageReports } from "./usage-report.ts";

const openTag = "<think>";
const closeTag = "</think>";

/** An answer's text with the model's thinking taken out of it. Either may be empty. */
export interface SplitText {
  content: string;
  reasoning: string;
}

/**
 * Takes a leading `<think>…</think>` out of a whole answer. Only a tag at the beginning (white space aside) counts, so
 * text about the tag stays as it is. If the tag is never closed, the whole text is reasoning.
 *
 * @example
 * splitReasoningTags("<think>Hm</think>Yes"); // => { content: "Yes", reasoning: "Hm" }
 */
export function splitReasoningTags(text: string): SplitText {
  const splitter = new ReasoningTagSplitter();
  const head = splitter.push(text);
  const tail = splitter.flush();
  return { content: head.content + tail.content, reasoning: head.reasoning + tail.reasoning };
}

/**
 * {@link splitReasoningTags} for an answer in pieces. The tags may be cut anywhere; the pieces together give the same.
 *
 * @example
 * const splitter = new ReasoningTagSplitter();
 * const pieces = ["<thi", "nk>Hm</think>Yes"].map((text) => splitter.push(text));
 * pieces.map(({ content, reasoning }) => [content, reasoning]); // => [["", ""], ["Yes", "Hm"]]
 */
export class ReasoningTagSplitter {
  #state: "undecided" | "thinking" | "answering" = "undecided";
  #held = "";
  /** White space right after a tag belongs to neither side. */
  #trimming = false;

  /** Takes the next piece. Text that could be the beginning of a tag is held back until it is known. */
  push(text: string): SplitText {
    const split: SplitText = { content: "", reasoning: "" };
    let rest = this.#held + text;
    this.#held = "";
    if (this.#state === "undecided") rest = this.#decide(rest);
    if (this.#state === "thinking") rest = this.#think(rest, split);
    if (this.#state === "answering") split.content += this.#trim(rest);
    return split;
  }

  /** Says that no more text comes, and gives what was held back. */
  flush(): SplitText {
    const rest = this.#held;
    this.#held = "";
    return this.#state === "thinking" ? { content: "", reasoning: rest } : { content: rest, reasoning: "" };
  }

  #decide(text: string): string {
    const first = text.trimStart();
    if (first.startsWith(openTag)) {
      this.#state = "thinking";
      this.#trimming = true;
      return first.slice(openTag.length);
    }
    if (openTag.startsWith(first)) {
      this.#held = text;
      return "";
    }
    this.#state = "answering";
    return text;
  }

  #think(text: string, split: SplitText): string {
    const thought = this.#trim(text);
    const end = thought.indexOf(closeTag);
    if (end !== -1) {
      split.reasoning += thought.slice(0, end);
      this.#state = "answering";
      this.#trimming = true;
      return thought.slice(end + closeTag.length);
    }
    const safe = thought.length - heldCharacters(thought);
    split.reasoning += thought.slice(0, safe);
    this.#held = thought.slice(safe);
    return "";
  }

  #trim(text: string): string {
    if (!this.#trimming) return text;
    const trimmed = text.trimStart();
    if (trimmed !== "") this.#trimming = false;
    return trimmed;
  }
}

/** How many characters at the end could be the beginning of the closing tag. */
function heldCharacters(text: string): number {
  for (let count = Math.min(closeTag.length - 1, text.length); count > 0; count--) {
    if (closeTag.startsWith(text.slice(-count))) return count;
  }
  return 0;
}

const path = "/chat/completions";

/** The chat handler of a provider that speaks OpenAI's dialect. */
export function chatHandler(defaults: ChatOptions) {
  const converting = withFunctionsAsTools((call) => chat(call, resolveOptions(defaults, call.model)));
  return (call: Call<ChatRequest>): Promise<ChatCompletion | ChatStream> => {
    const options = resolveOptions(defaults, call.model);
    return options.functions === "pass" ? chat(call, options) : converting(call);
  };
}

/** The body of a chat request as this provider takes it. */
export function toChatBody(
  requested: Pick<Call<ChatRequest>, "request" | "model" | "keepsLonger" | "warn" | "isForOwnServers">,
  options: ChatOptions,
) {
  const { model, warn } = requested;
  const isPassed = options.pass?.includes("cache_control") === true;
  const covered = isPassed ? requested.request : withCoveredLifetimes(requested.request, requested);
  const isMarked = isMarkedFor(model, options);
  const call = { model, warn, request: isMarked ? toAnthropicMarks(limitMarks(covered)) : covered };
  const body = toBody(call, options);
  if (body.cache_control !== undefined && !takesMarks(options)) {
    delete body.cache_control;
    warn("Left out cache_control: the provider does not take it", "cache_control");
  }
  const messages = toMessages(call.request.messages, options, {
    upstreamId: model.upstreamId,
    isForOwnServers: requested.isForOwnServers,
  });
  body.messages = toTurnOrder(messages, turnOrderOf(model, options), options.messageFields?.includes("prefix"));
  if (Array.isArray(body.tools)) body.tools = toTools(body.tools, options);
  if (Array.isArray(body.functions)) body.functions = mapChanged<object>(body.functions, withWholeSchema);
  fitReasoning(body, call, options);
  if (!streams(call.request, options)) {
    delete body.stream;
    delete body.stream_options;
  } else if (options.streamOptions === false) {
    delete body.stream_options;
  } else {
    body.stream_options = { ...call.request.stream_options, include_usage: true };
  }
  return body;
}

/** Tools with the cache marks that the provider takes and the price covers. Some clients write the mark of a tool into its function. */
function toTools(tools: readonly object[], options: ChatOptions): readonly object[] {
  const plain = mapChanged(mapChanged(tools, withMarkOfFunction), withWholeTool);
  if (!takesMarks(options)) return withoutMarks(plain);
  return options.pass?.includes("cache_control") ? plain : mapChanged(plain, withFiveMinutes);
}

function withWholeTool(tool: { function?: unknown }): object {
  if (!isRecord(tool.function)) return tool;
  const definition = withWholeSchema(tool.function);
  return definition === tool.function ? tool : { ...tool, function: definition };
}

function withMarkOfFunction(tool: { function?: unknown }): object {
  const inner = tool.function;
  if (!isRecord(inner) || !("cache_control" in inner)) return tool;
  const { cache_control: mark, ...definition } = inner;
  return { cache_control: mark, ...tool, function: definition };
}

/**
 * Whether a provider caches for a model nothing but what is marked, as for Claude. A router takes marks for other models, too, which
 * cache by themselves.
 */
function isMarkedFor({ upstreamId }: Model, options: ChatOptions): boolean {
  return takesMarks(options) && (/claude/i.test(upstreamId) || options.pass?.includes("cache_control") === true);
}

function chat(call: Call<ChatRequest>, options: ChatOptions): Promise<ChatCompletion | ChatStream> {
  return withStops(call, { max: isLeftOut("stop", options) ? 0 : options.stopsMax }, (stopped) => {
    if (!isMarkedFor(call.model, options)) return send(stopped, options);
    return sendMarked(stopped, "message", (sentCall) => send(sentCall, options));
  });
}

async function send(call: Call<ChatRequest>, options: ChatOptions): Promise<ChatCompletion | ChatStream> {
  const body = toChatBody({ ...call, request: withCacheKey(call.request, call, options) }, options);
  const onTier = (tier: unknown) => warnOfTier(tier, call, options);
  const isLegacy = !call.request.tools?.length;
  const beginning = findBeginning(call.request.messages, body.messages as readonly Message[]);
  const continued = <Answer extends ChatCompletion | ChatStream>(answer: Answer) =>
    beginning === undefined ? answer : withoutBeginning(answer, beginning);
  if (streams(call.request, options)) {
    return continued(new OpenaiStream(await call.upstream.events(path, body), options, { onTier, isLegacy }));
  }
  const answer = await call.upstream.json(path, body);
  onTier(isRecord(answer) ? answer.service_tier : undefined);
  return continued(toCompletion(answer, options, isLegacy));
}

/** The beginning of an answer that the gateway marked for the model to continue. The client expects only the rest. */
function findBeginning(requested: readonly Message[], ordered: readonly Message[]): string | undefined {
  const isMarked = (message: Message | undefined) => message !== undefined && "prefix" in message;
  const last = ordered.at(-1);
  if (last === undefined || !isMarked(last) || isMarked(requested.at(-1))) return undefined;
  return toWrittenText(last.content) || undefined;
}

/**
 * Whether to request a stream from the provider. If the provider cannot stream, the kernel streams its whole answer to
 * the caller.
 */
function streams({ stream, response_format: format }: ChatRequest, { streams: any, streamsSchemas }: ChatOptions) {
  return stream === true && any !== false && (streamsSchemas !== false || format?.type !== "json_schema");
}

/** The service tiers OpenAI's clients know; other values are dropped. */
const serviceTiers = ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast", "batch"];
const reasoningFieldsDefault: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];

/**
 * Converts a provider's completion to the uniform shape, in place.
 *
 * @param isLegacy The client sent no `tools`, so a `function_call` is kept as it is.
 * @throws {UpstreamError} When the answer is an error, or has an invalid choice or none.
 */
export function toCompletion(answer: unknown, options: ChatOptions, isLegacy = false): ChatCompletion {
  if (!isRecord(answer)) throw classifyError(answer);
  if (isFailedAnswer(answer)) throw classifyError(answer);
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(hasMessage)) {
    throw new UpstreamError("bad_response", "The provider's answer has no choice with a message");
  }
  findUsage(answer, new UsageReports(), options);
  dropFields(answer, options);
  if (typeof answer.system_fingerprint !== "string") delete answer.system_fingerprint;
  if (!serviceTiers.includes(answer.service_tier as string)) delete answer.service_tier;
  for (const choice of choices) {
    toChoice(choice, options);
    if (!isLegacy) toToolCalls(choice, choice.message, {});
  }
  return answer as unknown as ChatCompletion;
}

/**
 * Moves the usage to the top level, with what the answer reported before, and drops the provider's own figures from it.
 *
 * @returns Whether there is a report.
 */
function findUsage(answer: Record<string, unknown>, reports: UsageReports, options: ChatOptions): boolean {
  const { usageIn } = options;
  const place = usageIn === undefined ? undefined : answer[usageIn];
  const isPlaced = !isRecord(answer.usage) && isRecord(place) && isRecord(place.usage);
  if (!reports.add(isPlaced ? place : answer)) return false;
  answer.usage = { ...reports.usage };
  dropFields(answer.usage as Record<string, unknown>, options);
  return true;
}

/** The text and the reasoning of a content that is a list of parts, as Mistral's is where the model reasons. */
function joinParts(message: Record<string, unknown>): void {
  const { content } = message;
  if (typeof content !== "object" || content === null) return;
  const parts: unknown[] = [content].flat();
  const isThought = (part: unknown) => isRecord(part) && part.type === "thinking";
  message.content = toWrittenText(parts.filter((part) => !isThought(part)));
  const reasoning = parts
    .map((part) => (isThought(part) ? toWrittenText((part as { thinking?: unknown }).thinking) : ""))
    .join("");
  if (reasoning !== "") message.reasoning_content ??= reasoning;
}

/** Moves reasoning to `reasoning_content`, where OpenAI-like clients look for it. */
function toReasoning(message: Record<string, unknown>, options: ChatOptions): void {
  for (const field of options.reasoningFields ?? reasoningFieldsDefault) {
    const value = message[field];
    if (value === undefined) continue;
    if (field !== "reasoning_content" || typeof value !== "string") delete message[field];
    const isText = typeof value === "string" || Array.isArray(value) || (isRecord(value) && "text" in value);
    if (isText && (value !== "" || message.reasoning_content === undefined)) {
      message.reasoning_content = toWrittenText(value);
    }
  }
}

/** Drops the fields that only this provider's own clients know. */
function dropFields(holder: Record<string, unknown>, { drop }: ChatOptions): void {
  if (drop === undefined) return;
  for (const field of drop) if (field in holder) delete holder[field];
}

/**
 * The fields in which servers say what a choice was stopped at, as a text: those that hand on what Claude says, vLLM and SGLang. A
 * token's number and the word of another reason are no stop sequence of the request.
 */
const stopFields = ["stop_sequence", "stop_reason", "matched_stop"] as const;

/**
 * Puts the reason of a choice to finish in OpenAI's words, as far as it is known, and the stop sequence into the one field for it.
 *
 * @throws {UpstreamError} When the choice is an error, as where a router loses its provider within an answer.
 */
function readFinish(choice: Record<string, unknown>, { finishReasons = {} }: ChatOptions): void {
  const { error, finish_reason: reason } = choice;
  if (error !== undefined && error !== null) throw classifyError({ error });
  const stop = stopFields.map((field) => choice[field]).find((value) => typeof value === "string" && value !== "");
  delete choice.stop_sequence;
  if (reason === undefined || reason === null || reason === "") return;
  if (stop !== undefined) choice.stop_sequence = stop;
  else if (typeof reason === "string" && /^stop_sequence$/i.test(reason)) choice.stop_sequence = true;
  choice.finish_reason = toFinishReason((typeof reason === "string" && getOwn(finishReasons, reason)) || reason);
}

function toChoice(choice: { message: Record<string, unknown>; [field: string]: unknown }, options: ChatOptions): void {
  const { message } = choice;
  readFinish(choice, options);
  dropFields(choice, options);
  dropFields(message, options);
  joinParts(message);
  toReasoning(message, options);
  if (options.think === true && typeof message.content === "string") {
    const { content, reasoning } = splitReasoningTags(message.content);
    message.content = content;
    if (reasoning !== "") message.reasoning_content = reasoning;
  }
}

/** Converts a `function_call`, which some servers answer to `tools`, to a tool call. */
function toToolCalls(
  choice: Record<string, unknown>,
  message: Record<string, unknown>,
  place: { index?: number },
): void {
  if (choice.finish_reason === "function_call") choice.finish_reason = "tool_calls";
  const { function_call: called, tool_calls: calls } = message;
  if (!isRecord(called)) return;
  delete message.function_call;
  if (!Array.isArray(calls) || calls.length === 0)
    message.tool_calls = [{ ...place, type: "function", function: called }];
}

function hasMessage(choice: unknown): boolean {
  return isRecord(choice) && isRecord(choice.message);
}

type Chunk = Record<string, unknown> & { choices: unknown[] };

/**
 * A stream in chunks of the uniform shape. Works on the chunks themselves.
 *
 * @throws {UpstreamError} When an event is an error or not a chunk, and `bad_response` when the stream ends before `[DONE]`
 * and before a finish reason.
 */
export class OpenaiStream implements ChatStream<ServerEvent> {
  readonly events: ChatStream<ServerEvent>["events"];
  isComplete = false;
  readonly #options: ChatOptions;
  readonly #onTier: ((tier: unknown) => void) | undefined;
  readonly #isLegacy: boolean;
  readonly #splitters: Map<unknown, ReasoningTagSplitter> | undefined;
  /** The choices that at least one piece has come for. */
  readonly #begun = new Set<unknown>();
  readonly #reports = new UsageReports();
  /** A report has come, and no piece of a choice without one since. */
  #hasReported = false;
  #hasFinished = false;
  #lastTier: unknown;

  constructor(
    events: ChatStream<ServerEvent>["events"],
    options: ChatOptions,
    { onTier, isLegacy = false }: { onTier?: (tier: unknown) => void; isLegacy?: boolean } = {},
  ) {
    this.events = events;
    this.#options = options;
    this.#onTier = onTier;
    this.#isLegacy = isLegacy;
    this.#splitters = options.think === true ? new Map() : undefined;
  }

  /** No report came with the end of the answer or behind it: some servers send it behind `[DONE]`. */
  get awaitsReport(): boolean {
    return !this.#hasReported;
  }

  push(event: ServerEvent): ChatChunk[] {
    if (this.isComplete) return this.#readLate(event);
    if (isEndMark(event.data)) {
      this.isComplete = true;
      return [];
    }
    const chunk = readChunk(event);
    if (chunk === undefined) return [];
    if (chunk.service_tier !== undefined && chunk.service_tier !== this.#lastTier) {
      this.#lastTier = chunk.service_tier;
      this.#onTier?.(this.#lastTier);
    }
    if (findUsage(chunk, this.#reports, this.#options)) this.#hasReported = true;
    else if (chunk.choices.length > 0) this.#hasReported = false;
    for (const choice of chunk.choices) {
      if (!isRecord(choice)) continue;
      if (isRecord(choice.message)) this.#takeMessage(choice, choice.message);
      if (isRecord(choice.delta) && hasPiece(choice.delta)) this.#begun.add(choice.index);
      if (toChunkChoice(choice, this.#options, this.#splitters)) this.#hasFinished = true;
      if (!this.#isLegacy) toToolCalls(choice, isRecord(choice.delta) ? choice.delta : {}, { index: 0 });
    }
    return [chunk as unknown as ChatChunk];
  }

  /** Reads the usage of an event behind the end. Nothing else of it counts. */
  #readLate({ data }: ServerEvent): ChatChunk[] {
    const chunk = parseJson(data, "event");
    if (!isRecord(chunk) || !findUsage(chunk, this.#reports, this.#options)) return [];
    this.#hasReported = true;
    return [{ choices: [], usage: chunk.usage as ChatUsage }];
  }

  /** A whole message in place of a piece, as servers send it that only seem to stream; behind pieces it repeats them. */
  #takeMessage(choice: Record<string, unknown>, message: Record<string, unknown>): void {
    delete choice.message;
    if (!this.#begun.has(choice.index) && !(isRecord(choice.delta) && hasPiece(choice.delta))) choice.delta = message;
  }

  end(): ChatChunk[] {
    if (this.isComplete || this.#hasFinished) return [];
    throw new UpstreamError("bad_response", "The provider's stream ended before its answer did");
  }
}

/** Whether a delta has more than a role. */
function hasPiece(delta: Record<string, unknown>): boolean {
  for (const name in delta) if (name !== "role" && delta[name]) return true;
  return false;
}

/** The chunk of an event; `undefined` when it carries nothing for the caller (a ping, a provider's own event). */
function readChunk({ event, data }: ServerEvent): Chunk | undefined {
  if (data.trim() === "") return undefined;
  let chunk: unknown;
  try {
    chunk = readJson(data, "event");
  } catch (cause) {
    if (event === "error") throw classifyError(data);
    const reason = cause instanceof JsonBoundsError ? cause.reason : "is not JSON";
    throw new UpstreamError("bad_response", `The provider's stream has an event that ${reason}`, { cause });
  }
  if (event === "raw" && isRecord(chunk) && Array.isArray(chunk.choices)) {
    throw new UpstreamError("bad_response", "The provider sent a whole response, expected a stream");
  }
  if (event === "error" || event === "raw") throw classifyError(chunk);
  if (!isRecord(chunk)) return undefined;
  if (isFailedAnswer(chunk)) throw classifyError(chunk);
  if (Array.isArray(chunk.choices)) return chunk as Chunk;
  if (!isRecord(chunk.usage)) return undefined;
  chunk.choices = [];
  return chunk as Chunk;
}

/** Normalizes one choice of a chunk. Returns whether the choice is finished. */
function toChunkChoice(
  choice: Record<string, unknown>,
  options: ChatOptions,
  splitters: Map<unknown, ReasoningTagSplitter> | undefined,
): boolean {
  if (choice.finish_reason === "") choice.finish_reason = null;
  const isLast = choice.finish_reason !== null && choice.finish_reason !== undefined;
  readFinish(choice, options);
  dropFields(choice, options);
  const { delta } = choice;
  if (!isRecord(delta)) return isLast;
  dropFields(delta, options);
  joinParts(delta);
  toReasoning(delta, options);
  if (splitters !== undefined) {
    const splitter = splitters.get(choice.index) ?? new ReasoningTagSplitter();
    splitters.set(choice.index, splitter);
    splitDelta(delta, splitter, isLast);
  }
  return isLast;
}

function splitDelta(delta: Record<string, unknown>, splitter: ReasoningTagSplitter, isLast: boolean): void {
  if (typeof delta.content !== "string" && !isLast) return;
  const split = splitter.push(typeof delta.content === "string" ? delta.content : "");
  const rest = isLast ? splitter.flush() : undefined;
  const content = split.content + (rest?.content ?? "");
  const reasoning = split.reasoning + (rest?.reasoning ?? "");
  if (typeof delta.content === "string" || content !== "") delta.content = content;
  if (reasoning !== "") delta.reasoning_content = reasoning;
}

/**
 * Answers of chat in the uniform form: whole ones by {@link normalizeCompletion}, streamed ones by {@link StreamNormalizer}. Ids, model name,
 * indexes of tool calls and finish reasons are the same for every provider, and what is said is counted on its way.
 */

import { type ChatUsage, GatewayError, toMeters, UpstreamError, withEarlierFigures } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { completeArguments, decodeArguments } from "../../lib/tool-arguments.ts";
import {
  type BesideChoice,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChunkChoice,
  expectCallName,
  expectFewCalls,
  type FinishReason,
  judgeFinish,
  type ProviderPlugin,
  type ToolCall,
  toAnswerText,
  toFinishReason,
  toWrittenText,
} from "../../provider/index.ts";
import { countAudio, getAudio } from "./chat-audio.ts";
import { ChoiceText, visitBeside } from "./output-text.ts";
import {
  AnswerCallIds,
  type AnyToolCall,
  getCallTexts,
  isBrokenCall,
  readCallId,
  StreamedCalls,
} from "./tool-calls.ts";
import type { ChoiceOutput, UsageMeter } from "./usage-meter.ts";

/** @throws {GatewayError} `invalid_request` for a custom tool, or a call of one, where not every plugin takes them. */
export function checkCustomTools(request: ChatRequest, routes: readonly { plugin: ProviderPlugin }[]): void {
  if (routes.every(({ plugin }) => plugin.takes?.includes("customTools"))) return;
  const { tools, tool_choice: choice, messages } = request;
  if (typeof choice === "object") refuseCustom(choice, "tool_choice");
  refuseCustomIn(tools, "tools");
  for (let index = 0; index < messages.length; index++) {
    const calls = messages[index]?.tool_calls;
    if (calls) refuseCustomIn(calls, `messages[${index}].tool_calls`);
  }
}

function refuseCustomIn(list: readonly object[] | null | undefined, place: string): void {
  if (!list) return;
  for (let index = 0; index < list.length; index++) refuseCustom(list[index] as object, `${place}[${index}]`);
}

function refuseCustom(member: object | null, place: string): void {
  if ((member as AnyToolCall | null)?.type !== "custom") return;
  const message = `${place}.type is "custom", but this model takes only function tools; use one with a string property`;
  throw new GatewayError("invalid_request", message, { param: `${place}.type` });
}

/** Fields of every chunk of an answer. */
export interface AnswerHead {
  /** `chatcmpl-…` */
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** The public model id. */
  model: string;
}

/** The head of a call's answer. Its id is the call's with another prefix. */
export function createAnswerHead(callId: string, model: string, nowMs: number): AnswerHead {
  return { id: `chatcmpl-${callId.slice(4)}`, created: Math.floor(nowMs / 1000), model };
}

/**
 * Brings a provider's completion into the shape clients expect: our id and model name, `refusal` and `logprobs` always
 * present, ids on tool calls, one of OpenAI's finish reasons. Changes the object itself.
 */
export function normalizeCompletion(
  raw: ChatCompletion,
  head: AnswerHead,
  { messages, onUnknown }: CompletionOptions = {},
): ChatCompletion {
  const ids = new AnswerCallIds(messages);
  const completion = raw as ChatCompletion & { system_fingerprint?: unknown };
  completion.id = head.id;
  completion.object = "chat.completion";
  completion.created = Number.isSafeInteger(raw.created) && raw.created > 0 ? raw.created : head.created;
  completion.model = head.model;
  if (typeof completion.system_fingerprint !== "string") delete completion.system_fingerprint;
  for (let index = 0; index < raw.choices.length; index++) {
    const choice = raw.choices[index] as ChatCompletion["choices"][number] & { logprobs?: unknown };
    choice.finish_reason = judgeChoice(choice, onUnknown);
    normalizeChoice(choice, index, ids);
  }
  return completion;
}

/** Options of {@link normalizeCompletion}. */
export interface CompletionOptions {
  /** The conversation that is answered, whose ids of calls are not given once more. */
  readonly messages?: ChatRequest["messages"];
  readonly onUnknown?: OnUnknownFinish;
}

/** Takes a provider's word for the end of an answer that is not known. */
export type OnUnknownFinish = (word: string) => void;

/**
 * Why a whole choice, or the one chunk that a choice has, is finished.
 *
 * @throws {UpstreamError} When it failed.
 */
export function judgeChoice(
  choice: { message?: object; delta?: ChunkChoice["delta"]; finish_reason?: unknown },
  onUnknown?: OnUnknownFinish,
): FinishReason {
  const written = choice.message ?? choice.delta ?? {};
  const { tool_calls: calls } = written as { tool_calls?: unknown };
  const hasCalls = isFilled(calls) || undefined;
  const hasBrokenCall = Array.isArray(calls) && calls.some((call) => isRecord(call) && isBrokenCall(call));
  return judgeFinish(choice.finish_reason, { hasOutput: hasOutput(written), hasCalls, hasBrokenCall, onUnknown });
}

/** The fields that are nothing to the caller without others. */
const besideOutput: ReadonlySet<string> = new Set(["role", "reasoning_content", "reasoning_details"]);
const isFilled = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value));

function hasOutput(written: object): boolean {
  for (const name in written) {
    if (!besideOutput.has(name) && isFilled((written as Record<string, unknown>)[name])) return true;
  }
  return false;
}

function normalizeChoice(
  choice: ChatCompletion["choices"][number] & { logprobs?: unknown },
  index: number,
  ids: AnswerCallIds,
): void {
  const { message } = choice;
  choice.index = index;
  choice.logprobs = normalizeLogprobs(choice.logprobs);
  message.role = "assistant";
  fixTexts(message);
  message.content ??= null;
  message.refusal ??= null;
  if (message.tool_calls === undefined || message.tool_calls === null || message.tool_calls.length === 0) {
    delete message.tool_calls;
  } else {
    expectFewCalls(message.tool_calls.length);
    const isCut = choice.finish_reason === "length";
    for (const call of message.tool_calls) normalizeToolCall(call, { ids, isCut });
  }
}

function normalizeToolCall(call: ToolCall, { ids, isCut }: { ids: AnswerCallIds; isCut: boolean }): void {
  const { custom }: AnyToolCall = call;
  const [name, text] = getCallTexts(call);
  expectCallName(name);
  call.id = ids.choose(readCallId(call.id), name);
  if (isRecord(custom)) {
    custom.input = text;
    return;
  }
  call.type = "function";
  call.function.arguments = isCut ? decodeArguments(text) : completeArguments(text);
}

/** Makes texts of what a message or a piece of one has in their place. */
function fixTexts(message: Record<string, unknown>): void {
  for (const name of textFields) {
    const value: unknown = message[name];
    if (typeof value !== "string" && value !== undefined && value !== null) message[name] = toWrittenText(value);
  }
  const { function_call: called } = message;
  if (isRecord(called) && called.arguments !== undefined) called.arguments = toAnswerText(called.arguments);
}

const textFields = ["content", "reasoning_content", "refusal"] as const;

/**
 * OpenAI's shape has both lists of log probabilities, and each token its bytes and a list of others. Providers leave out the list for
 * refusals, and what was not asked for.
 */
function normalizeLogprobs(logprobs: unknown): unknown {
  if (!isRecord(logprobs)) return null;
  for (const list of [logprobs.content, logprobs.refusal]) if (Array.isArray(list)) list.forEach(fillToken);
  return { content: null, refusal: null, ...logprobs };
}

/** The reason of an ending by a filter. */
const filtered = "content_filter";

function fillToken(token: unknown): void {
  if (!isRecord(token)) return;
  fillBytes(token);
  token.top_logprobs ??= [];
  if (Array.isArray(token.top_logprobs)) token.top_logprobs.forEach(fillBytes);
}

function fillBytes(token: unknown): void {
  if (isRecord(token)) token.bytes ??= null;
}

/** All text of a completion. */
export function collectText(completion: Pick<ChatCompletion, "choices">): string {
  let text = "";
  const take = (more: string) => {
    text += more;
  };
  for (const choice of completion.choices) {
    const { message } = choice;
    new ChoiceText().visit(message, take, choice.finish_reason === filtered);
    visitBeside(choice, take);
    text += toWrittenText(getAudio(message)?.transcript);
    for (const call of message.tool_calls ?? []) for (const part of getCallTexts(call)) text += part;
  }
  return text;
}

/** A completion as the chunks of a stream, for providers that do not stream it. */
export function toChunks(completion: ChatCompletion & { service_tier?: unknown }): ChatChunk[] {
  const { service_tier: tier } = completion;
  const begun = completion.choices.map(({ message: { role: _, ...delta }, ...choice }, index) => {
    return { index, delta, logprobs: (choice as { logprobs?: unknown }).logprobs } as ChunkChoice;
  });
  const ended = completion.choices.map((choice, index): ChunkChoice => {
    const { finish_reason: finish, stop_sequence: stop }: typeof choice & BesideChoice = choice;
    return {
      index,
      delta: {},
      finish_reason: toFinishReason(finish),
      ...(stop !== undefined && { stop_sequence: stop }),
    };
  });
  const usage = completion.usage ? [{ choices: [], usage: completion.usage }] : [];
  return [{ choices: begun, ...(typeof tier === "string" && { service_tier: tier }) }, { choices: ended }, ...usage];
}

/** More characters than any answer has. They are held in memory until they are counted. */
const charactersMax = 64 * 1024 * 1024;

/** The state of one choice of a stream. */
interface ChoiceState {
  begun: boolean;
  output: ChoiceOutput;
  /** There is more of it than reasoning. */
  hasOutput: boolean;
  /** The finish reason; absent until the choice has finished. */
  finish: string | undefined;
  readonly calls: StreamedCalls;
  readonly text: ChoiceText;
  /** Counts a text of it. */
  readonly count: (text: string) => void;
}

/** Options of {@link StreamNormalizer}. */
export interface NormalizerOptions extends CompletionOptions {
  /** Whether usage is sent in a separate chunk, and in no other. Default false. */
  readonly includeUsage?: boolean;
  /** The tools of the request. A tool name that arrives in pieces is recognized by their names. */
  readonly tools?: ChatRequest["tools"];
}

/**
 * Brings a provider's chunks into the shape clients expect, and counts them. Tool-call indexes are assigned here.
 */
export class StreamNormalizer {
  readonly #head: AnswerHead;
  readonly #usageMeter: UsageMeter;
  readonly #includeUsage: boolean;
  readonly #onUnknown: OnUnknownFinish | undefined;
  readonly #toolNames: readonly string[];
  readonly #ids: AnswerCallIds;
  readonly #choices: ChoiceState[] = [];
  /** The last usable report. */
  usage: ChatUsage | undefined;
  /** Chunks to send before and after the current one; mostly empty. */
  readonly #before: ChunkChoice[] = [];
  readonly #after: ChunkChoice[] = [];

  constructor(head: AnswerHead, usageMeter: UsageMeter, options: NormalizerOptions = {}) {
    const { includeUsage = false, messages, onUnknown, tools } = options;
    this.#head = head;
    this.#usageMeter = usageMeter;
    this.#includeUsage = includeUsage;
    this.#onUnknown = onUnknown;
    this.#ids = new AnswerCallIds(messages);
    this.#toolNames = (tools ?? []).map((tool: AnyToolCall) => getCallTexts(tool)[0]);
  }

  /**
   * The chunks to send for a chunk of the provider; none when it is empty or only reports usage.
   *
   * @throws {UpstreamError} When it is malformed, or ends a choice by a failure. Only the fields that are used are checked.
   */
  push(raw: ChatChunk): ChatChunk[] {
    try {
      return this.#normalize(raw);
    } catch (cause) {
      if (cause instanceof UpstreamError) throw cause;
      throw new UpstreamError("bad_response", "A chunk of the provider's stream cannot be read", { cause });
    }
  }

  #normalize(raw: ChatChunk): ChatChunk[] {
    if (raw.usage) this.#report(raw.usage);
    const { choices } = raw;
    if (!Array.isArray(choices))
      throw new UpstreamError("bad_response", "A chunk of the provider's stream has no choices");
    for (const choice of choices) this.#normalizeChoice(choice);
    const chunks: ChatChunk[] = [];
    if (this.#before.length > 0) for (const choice of this.#before.splice(0)) chunks.push(this.#toChunk(raw, [choice]));
    if (choices.length > 1 || !choices.every(isEmpty)) chunks.push(this.#toChunk(raw, choices));
    if (this.#after.length > 0) for (const choice of this.#after.splice(0)) chunks.push(this.#toChunk(raw, [choice]));
    return chunks;
  }

  /** A chunk of the provider with other choices in it. */
  #toChunk(raw: ChatChunk, choices: ChunkChoice[]): ChatChunk {
    const { id, created, model } = this.#head;
    const chunk: ChatChunk = { id, object: "chat.completion.chunk", created, model, choices };
    if (typeof raw.system_fingerprint === "string") chunk.system_fingerprint = raw.system_fingerprint;
    if (typeof raw.service_tier === "string") chunk.service_tier = raw.service_tier;
    if (this.#includeUsage) chunk.usage = null;
    return chunk;
  }

  /** Whether every choice that began has finished; otherwise the stream broke off. */
  get finished(): boolean {
    return (
      this.#choices.length > 0 && this.#choices.every((state) => state === undefined || state.finish !== undefined)
    );
  }

  /** Whether the requested number of choices have finished: only the report of usage can follow. */
  hasFinished(count: number): boolean {
    return this.finished && this.#choices.length >= count;
  }

  /** Why each choice finished. */
  get finishReasons(): string[] {
    return this.#choices.flatMap((state) => state?.finish ?? []);
  }

  /** The last chunk of an answer whose client requested usage. */
  usageChunk(usage: ChatUsage): ChatChunk {
    const { id, created, model } = this.#head;
    return { id, object: "chat.completion.chunk", created, model, choices: [], usage };
  }

  #report(reported: ChatUsage): void {
    const usage = this.usage === undefined ? reported : withEarlierFigures(reported, this.usage);
    const meters = toMeters(usage);
    if (meters === undefined) return;
    this.#usageMeter.report(meters, usage);
    this.usage = usage;
  }

  #normalizeChoice(choice: ChunkChoice): void {
    const index = Number.isSafeInteger(choice.index) && choice.index >= 0 && choice.index < 128 ? choice.index : 0;
    choice.index = index;
    const state = this.#getState(index);
    choice.delta ??= {};
    const { delta } = choice;
    fixTexts(delta);
    if (!state.begun) this.#begin(state, choice);
    else if (delta.role !== undefined) delete delta.role;
    state.text.visit(delta, state.count, choice.finish_reason === filtered);
    visitBeside(choice, state.count);
    if (delta.audio) state.count(toWrittenText(countAudio(this.#usageMeter, delta)));
    if (delta.tool_calls || (choice.finish_reason && state.calls.isHolding)) {
      this.#normalizeToolCalls(delta, state, choice.finish_reason);
    }
    choice.logprobs = choice.logprobs ? normalizeLogprobs(choice.logprobs) : null;
    if (!state.hasOutput) state.hasOutput = hasOutput(delta);
    if (choice.finish_reason) {
      state.calls.end();
      const hasCalls = state.calls.size > 0 || undefined;
      choice.finish_reason = judgeFinish(choice.finish_reason, {
        hasOutput: state.hasOutput,
        hasCalls,
        hasBrokenCall: state.calls.hasBroken,
        onUnknown: this.#onUnknown,
      });
      state.finish = choice.finish_reason;
      state.output.isFinished = true;
      this.#usageMeter.produced = true;
      if (hasSubstance(delta)) this.#end(choice);
    } else choice.finish_reason = null;
  }

  /** Every choice begins with a chunk of its role alone. */
  #begin(state: ChoiceState, choice: ChunkChoice): void {
    state.begun = true;
    const { delta } = choice;
    const content = delta.tool_calls || delta.content === null ? null : "";
    const role = { role: "assistant", content, refusal: null } as const;
    if (!hasSubstance(delta) && !choice.finish_reason) {
      choice.delta = role;
      return;
    }
    this.#before.push({ index: choice.index, delta: role, logprobs: null, finish_reason: null });
    delete delta.role;
    for (const name of ["content", "refusal"] as const) if (!delta[name]) delete delta[name];
  }

  /** Every choice ends with a chunk of its finish reason alone. */
  #end(choice: ChunkChoice): void {
    this.#after.push({ ...choice, delta: {}, logprobs: null });
    choice.finish_reason = null;
    delete choice.stop_sequence;
  }

  #onText(text: string, choice: ChoiceOutput): void {
    if (text === "") return;
    this.#usageMeter.produced = true;
    this.#usageMeter.wrote = true;
    const { output } = this.#usageMeter;
    output.sample.add(text);
    choice.length += text.length;
    if (output.sample.length > charactersMax) {
      throw new UpstreamError("bad_response", "The provider's response exceeds the size limit", { isOfRequest: true });
    }
  }

  #getState(index: number): ChoiceState {
    const choice = this.#choices[index];
    if (choice !== undefined) return choice;
    const output: ChoiceOutput = { length: 0, isFinished: false };
    this.#usageMeter.output.choices.push(output);
    const count = (text: string) => this.#onText(text, output);
    const state: ChoiceState = {
      begun: false,
      output,
      hasOutput: false,
      finish: undefined,
      calls: new StreamedCalls(count, this.#toolNames, this.#ids),
      text: new ChoiceText(),
      count,
    };
    this.#choices[index] = state;
    return state;
  }

  #normalizeToolCalls(delta: ChunkChoice["delta"], state: ChoiceState, finish: ChunkChoice["finish_reason"]): void {
    const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls.filter(isRecord) : [];
    const isCut = Boolean(finish) && toFinishReason(finish) === "length";
    const pieces = state.calls.take(calls, Boolean(finish), isCut);
    if (pieces.length > 0) delta.tool_calls = pieces;
    else delete delta.tool_calls;
  }
}

/** Whether a delta holds more than what every stream begins and ends with. */
export function hasSubstance(delta: ChunkChoice["delta"]): boolean {
  for (const name in delta) if (name !== "role" && delta[name]) return true;
  return false;
}

function isEmpty({ delta, logprobs, finish_reason }: ChunkChoice): boolean {
  return !finish_reason && logprobs === null && delta.role === undefined && !hasSubstance(delta);
}

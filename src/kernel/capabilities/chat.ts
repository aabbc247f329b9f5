/**
 * Chat: what a model takes, the request as a provider is sent it, the answer as the client gets it, and what it costs where the
 * provider does not say.
 */

import { GatewayError, type Meters, quoteValue, toMeters, toTokenMeters, UpstreamError } from "../../contract/index.ts";
import { isRecord, JsonBoundsError, JsonTexts, jsonBounds } from "../../lib/json.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type ContentPart,
  getDisplayName,
  isEnded,
  type Message,
  type Model,
  type ProviderPlugin,
} from "../../provider/index.ts";
import { chunkTokensMax } from "../admission.ts";
import type { ModelRun } from "../call.ts";
import { withFailover } from "../failover.ts";
import {
  type AnswerHead,
  checkCustomTools,
  collectText,
  createAnswerHead,
  hasSubstance,
  judgeChoice,
  normalizeCompletion,
  StreamNormalizer,
  toChunks,
} from "../normalize/answer.ts";
import {
  countAudio,
  estimateAudio,
  estimateAudioTokens,
  hasAudioPrice,
  measureAudio,
} from "../normalize/chat-audio.ts";
import { boundPrompt, chatForm, readPromptText } from "../normalize/prompt-bounds.ts";
import { countPieces, countTokens } from "../normalize/tokenizer.ts";
import type { AnyToolCall } from "../normalize/tool-calls.ts";
import { type Count, shareOfOpen, toChatUsage } from "../normalize/usage-meter.ts";
import { mayUse } from "../routing/registry.ts";
import { priceOfRun } from "../service-tier.ts";
import { type BegunStream, begin, pump, StreamReader } from "../streaming.ts";
import type { CapabilityHandler, Kernel } from "../types.ts";
import { OtherFormError } from "../upstream/answer-form.ts";
import {
  boundPrompts,
  boundSearches,
  chatBounds,
  getOutputTokens,
  getOutputTokensMax,
  nameOfLimit,
  needsFanOut,
  promptCopiesMax,
} from "./chat-bounds.ts";
import { countPrompt } from "./chat-count.ts";
import { collectCompletion } from "./collect-completion.ts";
import { fanOutChunks, fanOutCompletions, fanOutMax } from "./fan-out.ts";
import { createOpener, type OpenedPassthrough, sendPassthrough, withClientNames } from "./passthrough.ts";

/** Bytes of a token with its probability as JSON, and of each of the likeliest others. */
const logprobBytes = 70;

/**
 * Bounds a whole answer with logprobs: each token has its probability and the probabilities of alternatives. It can be
 * 30 times the size of its text, and would be paid for and buffered before the gateway notices. A stream is never in
 * memory as a whole.
 *
 * @throws {GatewayError} `invalid_request`
 */
function checkLogprobs({ sink, modelEntry }: ModelRun<"chat">, request: ChatRequest, bytesMax: number): void {
  if (sink !== undefined || request.logprobs !== true) return;
  const { n, top_logprobs: others } = request;
  const tokens = (n ?? 1) * getOutputTokensMax(request, modelEntry);
  const bytes = tokens * (1 + (others ?? 0)) * logprobBytes;
  if (bytes <= bytesMax) return;
  const message = `With logprobs ${tokens} tokens may take ${bytes} bytes, more than the ${bytesMax} of a whole answer; set a smaller max_completion_tokens, n or top_logprobs, or stream: true`;
  throw new GatewayError("invalid_request", message, { param: others ? "top_logprobs" : "logprobs" });
}

/** Texts of tools in a request that together have no more characters are within the bounds of JSON, but for their depth. */
const textCharsMax = jsonBounds.text.weightMax / 2;
/** A shorter text nests no deeper. */
const deepCharsMin = 2 * jsonBounds.text.depthMax;
/** The values of texts that take no more memory are not counted, and shorter results of tools are not looked at for it. */
const [valueBytesMin, resultCharsMin] = [65_536, 65_536];

/**
 * Bounds the JSON texts inside a request, because plugins parse them without yielding when they translate. Arguments of
 * calls beyond the bounds are refused. Results of tools are free text: a result beyond the bounds stays text. The
 * memory of the parsed values is counted.
 *
 * @throws {GatewayError} `invalid_request`, or that there is no room.
 */
function checkToolTexts({ request, call, modelEntry, passthrough }: ModelRun<"chat">): void {
  if (passthrough !== undefined && modelEntry.routes.every((route) => passthrough.isServedBy(route))) return;
  const { messages } = request;
  let chars = 0;
  for (const { tool_calls: calls } of messages) for (const one of calls ?? []) chars += getArguments(one).length;
  const charsMin = chars > textCharsMax ? 0 : deepCharsMin;
  const texts = new JsonTexts();
  let valueBytes = 0;
  for (let index = 0; index < messages.length; index++) {
    const { role, tool_calls: calls, function_call: called, content } = messages[index] as Message;
    const path = `messages[${index}]`;
    const check = (text: unknown, name: string, param: string) => {
      if (typeof text !== "string" || text.length <= charsMin) return;
      valueBytes += texts.checkField(text, `The text of the arguments of ${name}`, param).valueBytes;
    };
    if (called) check(called.arguments, called.name, `${path}.function_call.arguments`);
    for (const [place, one] of calls?.entries() ?? []) {
      check(getArguments(one), one.function?.name, `${path}.tool_calls[${place}].function.arguments`);
    }
    if (role === "tool" || role === "function") valueBytes += boundResult(content, texts);
  }
  if (valueBytes > valueBytesMin) call.request.memory?.reserve(valueBytes);
}

/** The arguments of a call of a function; none of a custom tool. */
function getArguments({ function: called }: AnyToolCall): string {
  return typeof called?.arguments === "string" ? called.arguments : "";
}

/** Most bytes of a tool's result as values; 0 where it is not parsed. */
function boundResult(content: Message["content"], texts: JsonTexts): number {
  const text =
    typeof content === "string" ? content : (content ?? []).map((part) => ("text" in part ? part.text : "")).join("");
  if (text.length < resultCharsMin || !/^\s*[[{]/.test(text)) return 0;
  try {
    return texts.check(text).valueBytes;
  } catch (error) {
    if (error instanceof JsonBoundsError) return 0;
    throw error;
  }
}

/**
 * The tokens of the body that was sent. If only the provider can count a prompt, it is called to count. If it does not
 * answer, or an estimate exceeds the maximum, the maximum counts.
 */
async function estimatePrompt(kernel: Kernel, run: ModelRun<"chat">): Promise<Meters> {
  const { request, modelEntry, answeredBy, passthrough } = run;
  const { model } = modelEntry;
  const routes = modelEntry.routes.filter(({ plugin }) => answeredBy === undefined || plugin.name === answeredBy);
  const isPassed = passthrough !== undefined && routes.some((route) => passthrough.isServedBy(route));
  const [body, form] = isPassed ? [passthrough.body, passthrough.format.prompt] : [request, chatForm];
  const open = run.owedRequests.filter(({ usage }) => usage === undefined).length;
  const copiesMax = isPassed ? 1 : promptCopiesMax(request, { ...modelEntry, routes });
  const copies = open === 0 ? copiesMax : Math.min(copiesMax, open);
  const { meters, hasAddress } = boundPrompt(body, form, model);
  const answerTokens = run.call.request.steering?.answerTokens() ?? 0;
  const text = readPromptText(body, form, model);
  const counted = text.isOpenEnded
    ? (run.bounds.countedTokensMax ??
      (hasAddress ? undefined : await countPrompt(kernel, run)) ??
      Number.POSITIVE_INFINITY)
    : (await countPieces(text.pieces)) + text.otherTokens;
  const audioTokens = estimateAudioTokens(text.audioTokensMax);
  const { inputToken = 0, audioInputToken } = meters;
  const estimate = (tokens: number, most: number) => copies * Math.min(tokens, most);
  if (!hasAudioPrice(model)) return { inputToken: estimate(counted + audioTokens, inputToken) + answerTokens };
  return {
    inputToken: estimate(counted, inputToken) + answerTokens,
    // A prompt without a bound may be audio, which costs more.
    ...(audioInputToken !== undefined && {
      audioInputToken: estimate(text.isOpenEnded ? counted : audioTokens, audioInputToken),
    }),
  };
}

/** The API's default where a model takes the field; other defaults are the provider's. */
const temperatureDefault = 0.7;

/** A chat answer that has begun: whole, or as a stream. */
type OpenedChat = { completion: ChatCompletion } | ({ completion?: undefined } & BegunStream<ChatChunk>);

export const chatCapability: CapabilityHandler<"chat"> = {
  validate(run, kernel) {
    const request = withOneOutputLimit(run.request);
    const { model, routes } = run.modelEntry;
    const { n } = request;
    checkCustomTools(request, routes);
    checkToolTexts(run);
    const raisedRequest = withLeastOutput(run, request);
    checkFeatures(kernel, run);
    if (n && n > fanOutMax && promptCopiesMax(request, run.modelEntry) > 1) {
      throw new GatewayError("invalid_request", `n is ${n}, but this model takes at most ${fanOutMax}`, { param: "n" });
    }
    const outputTokens = getOutputTokens(request);
    if (outputTokens !== undefined && model.contextTokens !== undefined && outputTokens > model.contextTokens) {
      const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
      const message = `${param} is ${outputTokens}, but the whole context of ${getDisplayName(model)} is ${model.contextTokens} tokens`;
      throw new GatewayError("invalid_request", message, { param });
    }
    checkLogprobs(run, raisedRequest, kernel.network.bounds.answerBytesMax);
    const validRequest = withOutputLimitOf(raisedRequest, model);
    const measuring = measureAudio(validRequest);
    return measuring === undefined ? validRequest : measuring.then(() => validRequest);
  },

  ...chatBounds,

  async countPrompt(kernel, run) {
    // Search results cannot be counted in advance.
    if ((run.bounds.searchesMax ?? 0) > 0) return undefined;
    const bounds = boundPrompts(run);
    if (!bounds.some(({ isOpenEnded }) => isOpenEnded) || bounds.some(({ hasAddress }) => hasAddress)) return undefined;
    await kernel.ledger.countRequest(run.call.id, run.caller);
    return await countPrompt(kernel, run);
  },

  toReport: (_, usage) =>
    "prompt_tokens" in usage ? toMeters(usage) : toTokenMeters(usage, { input: "text_tokens", output: "text_tokens" }),

  async estimate(run, kernel) {
    const { request, usageMeter } = run;
    const { sample, audioLength } = usageMeter.output;
    const owed = run.owedRequests;
    const open = owed.filter(({ usage }) => usage === undefined).length;
    // Requests that reported usage are not estimated a second time.
    const share = open > 0 && open < owed.length ? shareOfOpen(usageMeter.output, open) : 1;
    const seen = Math.ceil(share * (await countTokens(sample.text, sample.length)));
    const outputToken = Math.max(seen, await estimateUnseen(run));
    const { searches = 0 } = run.passthrough ?? {};
    const { sentTokensMax = Number.POSITIVE_INFINITY } = run.bounds;
    return {
      ...(await estimatePrompt(kernel, run)),
      outputToken,
      // The search results are unknown, and were read each time.
      ...boundSearches(run, sentTokensMax, { searches, outputTokens: outputToken }),
      ...estimateAudio(request, audioLength),
    };
  },

  async execute(kernel, run) {
    const { id, openedAt, protocol, original } = run.call.request;
    const { passthrough, sink } = run;
    const open = original === undefined ? openChat : withClientNames(original, openChat);
    const opened = await withFailover<ChatRequest, OpenedChat | OpenedPassthrough>(kernel, run, {
      requestFor: (model) => (protocol === "chat" ? withDefaults(run.request, model) : run.request),
      run: passthrough === undefined ? open : createOpener(run, passthrough, open),
    });
    if ("readUsage" in opened) return sendPassthrough(kernel, run, opened);
    const head = createAnswerHead(id, run.publicName, openedAt);
    if (opened.completion !== undefined && sink === undefined) {
      const completion = normalizeCompletion(opened.completion, head, {
        messages: run.request.messages,
        onUnknown: (word) => reportUnknownFinish(kernel, run, word),
      });
      return finishCompletion(kernel, run, completion);
    }
    await streamChunks(kernel, run, opened, head);
    return undefined;
  },
};

/**
 * Runs a chat handler and waits for the first content. A stream that fails after an empty role has not begun, so
 * another route can still serve the call.
 */
async function openChat(plugin: ProviderPlugin, call: Call<ChatRequest>): Promise<OpenedChat> {
  const answer = await answerOf(plugin, call);
  if (isStream(answer)) {
    if (call.request.stream !== true)
      throw new TypeError("The handler returned a stream for a request without stream: true");
    const reader = new StreamReader(answer);
    return await begin(reader, hasBegun);
  }
  const choices = (answer as ChatCompletion | null)?.choices;
  if (!Array.isArray(choices) || choices.length === 0) throw badResponseError("The provider's answer has no choices");
  for (const choice of choices) {
    if (!isRecord(choice?.message)) throw badResponseError("A choice of the provider's answer has no message");
    const calls: unknown = choice.message.tool_calls ?? [];
    if (!Array.isArray(calls) || !calls.every((call) => isRecord(call?.function ?? call?.custom))) {
      throw badResponseError("A tool call in the provider's answer names no function");
    }
    judgeChoice(choice);
  }
  return { completion: answer };
}

type Chat = (call: Call<ChatRequest>) => Promise<ChatCompletion | ChatStream>;

/**
 * The answer of a handler. An answer in the other form than requested (whole or streamed) is read in the form it has.
 */
async function answerOf(plugin: ProviderPlugin, call: Call<ChatRequest>): Promise<ChatCompletion | ChatStream> {
  const { handlers, name } = plugin;
  if (handlers.chat === undefined) throw new TypeError(`Plugin '${name}' has no chat handler`);
  const chat: Chat = handlers.chat.bind(handlers);
  if (needsFanOut({ plugin, model: call.model }, call.request)) {
    const either: Chat = (single) => chat(single).catch((error) => readOtherForm(chat, single, error));
    return call.request.stream === true ? await fanOutChunks(either, call) : await fanOutCompletions(either, call);
  }
  try {
    return await chat(call);
  } catch (error) {
    return await readOtherForm(chat, call, error);
  }
}

/** Reads a whole answer that came for a stream, or puts a stream together that came for a whole answer. */
async function readOtherForm(
  chat: Chat,
  call: Call<ChatRequest>,
  error: unknown,
): Promise<ChatCompletion | ChatStream> {
  if (!(error instanceof OtherFormError)) throw error;
  const { stream_options: _, stream, ...request } = call.request;
  const other = { ...request, ...(stream !== true && { stream: true }) };
  const answer = await chat({ ...call, request: other, upstream: error.replay(call.upstream) });
  return isStream(answer) ? await collectCompletion(new StreamReader(answer), request) : answer;
}

function hasBegun(chunk: ChatChunk): boolean {
  if (!Array.isArray(chunk?.choices)) throw badResponseError("A chunk of the provider's stream has no choices");
  return chunk.choices.some((choice) => {
    if (!isRecord(choice)) throw badResponseError("A choice in the provider's stream is not an object");
    if (choice.finish_reason) judgeChoice(choice);
    return choice.finish_reason || hasSubstance(choice.delta);
  });
}

function isStream(answer: ChatCompletion | ChatStream | null): answer is ChatStream {
  return answer !== null && typeof answer === "object" && "push" in answer;
}

function badResponseError(message: string): UpstreamError {
  return new UpstreamError("bad_response", message);
}

function finishCompletion(
  kernel: Kernel,
  run: ModelRun<"chat">,
  completion: ChatCompletion,
): ChatCompletion | Promise<ChatCompletion> {
  const { usageMeter } = run;
  const { output } = usageMeter;
  run.answer.finishReasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  const { service_tier: tier } = completion as { service_tier?: unknown };
  if (typeof tier === "string") run.answer.servedTier = tier;
  usageMeter.produced = true;
  const meters = toMeters(completion.usage);
  if (meters !== undefined) usageMeter.report(meters, completion.usage);
  // The text is only needed for an estimate.
  if (!meters?.outputToken) {
    for (const choice of completion.choices) {
      const text = collectText({ choices: [choice] });
      output.sample.add(text);
      output.choices.push({ length: text.length, isFinished: true });
    }
  }
  for (const { message } of completion.choices) countAudio(usageMeter, message);
  usageMeter.wrote = output.sample.length > 0;
  usageMeter.finish();
  const finish = (count: Count) => {
    completion.usage = toChatUsage(completion.usage, count, priceOfRun(run, count.meters));
    if (count.source === "estimated")
      kernel.log.warn("usage_estimated", { call: run.call.id, model: run.model, route: run.plugin });
    return completion;
  };
  const count = usageMeter.count();
  return count instanceof Promise ? count.then(finish) : finish(count);
}

/**
 * Reports an answer that ended with an unknown finish reason and was returned as cut: the operator may know that the
 * reason means success.
 */
function reportUnknownFinish({ log }: Kernel, run: ModelRun, word: string): void {
  const { call, model, plugin, attempt } = run;
  run.answer.hasUnknownFinish = true;
  log.warn("finish_reason_unknown", { call: call.id, model, plugin });
  // It is the provider's, so the log does not have it.
  attempt?.warn(`The finish reason ${quoteValue(word)} is unknown, so the answer is treated as cut off`, []);
}

/** Sends the chunks as they come. Throws unless the stream ends in order; the HTTP side makes an error event of it. */
async function streamChunks(
  kernel: Kernel,
  run: ModelRun<"chat">,
  opened: OpenedChat,
  head: AnswerHead,
): Promise<void> {
  const { call, usageMeter, sink, request } = run;
  if (sink === undefined) throw new TypeError("There is no sink to stream to");
  const includeUsage = request.stream_options?.include_usage === true;
  const normalizer = new StreamNormalizer(head, usageMeter, {
    includeUsage,
    messages: request.messages,
    onUnknown: (word) => reportUnknownFinish(kernel, run, word),
    tools: request.tools,
  });
  const forward = (raw: ChatChunk) => {
    call.throwIfCancelled();
    let drained: Promise<void> | undefined;
    for (const chunk of normalizer.push(raw)) drained = sink.write(chunk);
    if (typeof raw.service_tier === "string") run.answer.servedTier = raw.service_tier;
    return drained;
  };
  // A chunk that is not paid is neither counted nor sent.
  const send = (raw: ChatChunk) => {
    const extension = run.spend(chunkTokensMax(raw));
    return extension === undefined ? forward(raw) : extension.then(() => forward(raw));
  };
  sink.open();
  if (opened.completion !== undefined) for (const chunk of toChunks(opened.completion)) await send(chunk);
  else await pump(opened, send, { isFinished: () => normalizer.hasFinished(request.n ?? 1) });
  if (!normalizer.finished) throw badResponseError("The provider's stream ended before the answer was complete");
  usageMeter.finish();
  run.answer.finishReasons = normalizer.finishReasons;
  if (!includeUsage) return;
  const count = await usageMeter.count();
  const usage = toChatUsage(normalizer.usage, count, priceOfRun(run, count.meters));
  await sink.write(normalizer.usageChunk(usage));
}

function withDefaults(request: ChatRequest, model: Model): ChatRequest {
  if (request.temperature !== undefined && request.temperature !== null) return request;
  if (model.omit?.includes("temperature")) return request;
  return { ...request, temperature: temperatureDefault };
}

type Feature = NonNullable<Model["features"]>[number];

/** Features beyond text that a request needs, each with the field that needs it. */
type Needs = ReadonlyMap<Feature, string>;
const noNeeds: Needs = new Map();

/** The missing feature as the end of an error message. */
const lacks: Readonly<Record<Feature, string>> = {
  vision: "does not support image input",
  audio: "does not support audio input",
  pdf: "does not support PDF input",
  tools: "does not support tool calls",
  json_schema: "does not support JSON-schema output",
  edits: "does not support image edits",
  translation: "does not support translation",
};
/** A word of ordinary text with the space before it, in characters, is longer. */
const wordCharsMean = 4;
/** The least output that the Responses protocol takes. */
const responseTokensMin = 16;
/**
 * Characters that are counted for each token of the limit: words of ordinary text, including their space, are shorter.
 */
const countedWordChars = 12;
/** How many other models an error names. */
const namedMax = 3;

/**
 * Refuses a request that the model cannot serve for certain: its row says what it can do and this is not in it, or the
 * prompt has more words than its context has tokens.
 *
 * @throws {GatewayError} `invalid_request` or `context_length_exceeded`, naming models that can and that the key may use.
 */
function checkFeatures({ registry }: Kernel, run: ModelRun<"chat">): void {
  const { request, modelEntry, passthrough } = run;
  const { model } = modelEntry;
  const needs = model.features === undefined || passthrough?.untranslatable ? noNeeds : findNeeds(request);
  const missing = needs.size === 0 ? undefined : [...needs].find(([feature]) => !hasFeature(model, feature));
  // The provider shortens such a prompt itself.
  const isShortened = passthrough?.format.shortensPrompt(passthrough.body) === true;
  const tokensMin = isShortened ? 0 : countWords(request, model.contextTokens);
  const isTooLong = tokensMin > (model.contextTokens ?? Number.POSITIVE_INFINITY);
  if (missing === undefined && !isTooLong) return;
  const able: string[] = [];
  for (const { model: other } of registry.modelEntries) {
    if (able.length === namedMax) break;
    if (!mayUse(run.caller, other.id) || other.capability !== "chat" || isEnded(other, run.call.request.openedAt))
      continue;
    if (needs.size > 0 && other.features === undefined) continue;
    const fits = other.contextTokens !== undefined && other.contextTokens >= tokensMin;
    if ([...needs.keys()].every((feature) => hasFeature(other, feature)) && (fits || !isTooLong))
      able.push(getDisplayName(other));
  }
  const advice =
    able.length === 0 ? "GET /models lists the capabilities of each model" : `models that can: ${able.join(", ")}`;
  if (missing !== undefined) {
    const [feature, param] = missing;
    throw new GatewayError("invalid_request", `The model '${getDisplayName(model)}' ${lacks[feature]}; ${advice}`, {
      param,
    });
  }
  const message = `This model's maximum context length is ${model.contextTokens} tokens. However, your messages have more words than that; ${advice}`;
  throw new GatewayError("context_length_exceeded", message, { param: "messages" });
}

/** Raises a limit that is below the least that the model takes: clients ask for one token to see whether a model is there. */
function withLeastOutput({ call, modelEntry }: ModelRun<"chat">, request: ChatRequest): ChatRequest {
  const limit = getOutputTokens(request) ?? responseTokensMin;
  const isOfResponses = modelEntry.routes.every((route) => route.model.endpoint === "responses");
  if (limit >= responseTokensMin || !isOfResponses) return request;
  call.warn(`Raised the output limit from ${limit} to ${responseTokensMin}, the model's minimum`);
  return { ...request, [nameOfLimit(request)]: responseTokensMin };
}

function hasFeature({ features }: Model, feature: Feature): boolean {
  return features === undefined || features.includes(feature);
}

function findNeeds({ messages, tools, functions, response_format: format }: ChatRequest): Needs {
  const needs = new Map<Feature, string>();
  if (tools?.length) needs.set("tools", "tools");
  else if (functions?.length) needs.set("tools", "functions");
  if (format?.type === "json_schema") needs.set("json_schema", "response_format");
  for (let index = 0; index < messages.length; index++) {
    const { content } = messages[index] as Message;
    if (!Array.isArray(content)) continue;
    for (const [part, value] of content.entries()) {
      const feature = toFeature(value);
      if (feature !== undefined && !needs.has(feature)) needs.set(feature, `messages[${index}].content[${part}]`);
    }
  }
  return needs;
}

/** Files other than PDFs are not told apart by rows, and one by its id may be anything. */
function toFeature(part: ContentPart): Feature | undefined {
  if (part.type === "image_url") return "vision";
  if (part.type === "input_audio") return "audio";
  if (part.type !== "file") return undefined;
  const { file_data: data } = part.file as { file_data?: unknown };
  return typeof data === "string" && data.startsWith("data:application/pdf") ? "pdf" : undefined;
}

/**
 * Counts the words of the messages: each is at least one token in every vocabulary. They are counted only if the text
 * is long enough that they are likely to be too many; a shorter text that does not fit is refused by the provider. If
 * the text is many times too long, only its beginning is counted; if that has too many words, the number of all words
 * is extrapolated.
 */
function countWords({ messages }: ChatRequest, tokensMax: number | undefined): number {
  if (tokensMax === undefined) return 0;
  const texts: string[] = [];
  for (const { content } of messages) {
    if (typeof content === "string") texts.push(content);
    else for (const part of content ?? []) if (part.type === "text") texts.push(part.text);
  }
  let length = 0;
  for (const text of texts) length += text.length;
  if (length < wordCharsMean * tokensMax) return 0;
  const countedMax = countedWordChars * tokensMax;
  let [words, counted] = [0, 0];
  for (const whole of texts) {
    const text = whole.slice(0, countedMax - counted);
    counted += text.length;
    let isWord = false;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
      if (isLetter && !isWord) words++;
      isWord = isLetter || (isWord && code !== 32 && code !== 10 && code !== 9 && code !== 13);
    }
  }
  return words > tokensMax ? Math.ceil((words * length) / counted) : words;
}

/** Usual speed of a model for one choice. */
export const usualTokensPerSecond = 100;
/** Bytes per token of an answer whose size alone is known. */
const outputBytesPerToken = 4;

/**
 * Estimates the output that the gateway has not seen, at most what is held. If an answer was cut, the bytes that came
 * count. If the call was cut while its model may reason, or before a whole answer came, the usual output in that time
 * counts where it is more.
 */
async function estimateUnseen(run: ModelRun<"chat">): Promise<number> {
  const { request, modelEntry, cutAfterMs, sink } = run;
  let tokens = 0;
  for (const { cutBytes, cutText } of run.owedRequests) {
    tokens +=
      cutText === "" ? cutBytes / outputBytesPerToken : await countTokens(cutText, Math.max(cutBytes, cutText.length));
  }
  if (cutAfterMs !== undefined && run.sent.size > 0 && (run.bounds.hidesOutput === true || sink === undefined)) {
    const open = run.owedRequests.filter(({ usage }) => usage === undefined).length;
    const choices = promptCopiesMax(request, modelEntry) > 1 ? open : (request.n ?? 1);
    tokens = Math.max(tokens, (cutAfterMs / 1000) * choices * usualTokensPerSecond);
  }
  return Math.min(Math.ceil(tokens), (request.n ?? 1) * getOutputTokensMax(request, modelEntry));
}

/** Both names of the output limit mean one value: the smaller one, or a provider could follow the other. */
function withOneOutputLimit(request: ChatRequest): ChatRequest {
  if (!request.max_tokens || !request.max_completion_tokens) return request;
  const { max_tokens, max_completion_tokens, ...rest } = request;
  return { ...rest, max_completion_tokens: Math.min(max_tokens, max_completion_tokens) };
}

/** A limit above what the model makes, by its row, would not be held for: a provider may keep to what it is sent. */
function withOutputLimitOf(request: ChatRequest, { outputTokensMax }: Model): ChatRequest {
  const outputTokens = getOutputTokens(request);
  if (outputTokens === undefined || outputTokensMax === undefined || outputTokens <= outputTokensMax) return request;
  return { ...request, [nameOfLimit(request)]: outputTokensMax };
}

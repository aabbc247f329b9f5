import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  GatewayError,
  type Meters,
  type Model,
  type ProviderPlugin,
  toMeters,
  toTokenMeters,
  UpstreamFault,
} from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { chunkTokensMax } from "../admission.ts";
import type { ModelRun } from "../call.ts";
import { withFailover } from "../failover.ts";
import {
  type AnswerHead,
  collectText,
  createAnswerHead,
  normalizeCompletion,
  toChunks,
} from "../normalize/completion.ts";
import { boundPrompt, chatForm, readPromptText } from "../normalize/prompt-bounds.ts";
import { countSound, estimateAudioTokens, estimateSound, hasAudioPrice, measureAudio } from "../normalize/sound.ts";
import { hasSubstance, StreamNormalizer } from "../normalize/stream.ts";
import { countPieces, countTokens } from "../normalize/tokenizer.ts";
import { checkCustomTools } from "../normalize/tool-call.ts";
import { shareOfOpen, toChatUsage } from "../normalize/usage.ts";
import { priceOfRun } from "../service-tier.ts";
import { type BegunStream, begin, pump, StreamReader } from "../streaming.ts";
import type { CapabilityHandler, Kernel } from "../types.ts";
import {
  chatBounds,
  estimateUnseen,
  getOutputTokens,
  promptCopiesMax,
  withOneOutputLimit,
  withOutputLimitOf,
} from "./chat-bounds.ts";
import { countPrompt } from "./count-prompt.ts";
import { fanOutChunks, fanOutCompletions, fanOutMax, needsFanOut } from "./fan-out.ts";
import { checkFeatures } from "./features.ts";
import { checkLogprobs } from "./logprobs-bound.ts";
import { createOpener, type OpenedPassthrough, sendPassthrough } from "./passthrough.ts";

/**
 * The tokens of the body that was sent. What its provider alone can count, it is asked for; if it does not tell, that is taken
 * at the most that it can be, as is a prompt of which an estimate is more.
 */
async function estimatePrompt(kernel: Kernel, run: ModelRun<"chat">): Promise<Meters> {
  const { request, modelEntry, answeredBy, passthrough } = run;
  const { model } = modelEntry;
  const routes = modelEntry.routes.filter(({ plugin }) => answeredBy === undefined || plugin.name === answeredBy);
  const isPassed = passthrough !== undefined && routes.some(({ plugin }) => passthrough.isServedBy(plugin));
  const [body, form] = isPassed ? [passthrough.body, passthrough.format.prompt] : [request, chatForm];
  const open = run.owedRequests.filter(({ usage }) => usage === undefined).length;
  const copiesMax = isPassed ? 1 : promptCopiesMax(request, { ...modelEntry, routes });
  const copies = open === 0 ? copiesMax : Math.min(copiesMax, open);
  const { meters, hasAddress } = boundPrompt(body, form, model);
  const text = readPromptText(body, form, model);
  const counted = text.isOpenEnded
    ? (run.countedTokensMax ?? (hasAddress ? undefined : await countPrompt(kernel, run)) ?? Number.POSITIVE_INFINITY)
    : (await countPieces(text.pieces)) + text.otherTokens;
  const audioTokens = estimateAudioTokens(text.audioTokensMax);
  const { inputToken = 0, audioInputToken } = meters;
  const estimate = (tokens: number, most: number) => copies * Math.min(tokens, most);
  if (!hasAudioPrice(model)) return { inputToken: estimate(counted + audioTokens, inputToken) };
  return {
    inputToken: estimate(counted, inputToken),
    // What has no bound may be audio, which costs more.
    ...(audioInputToken !== undefined && {
      audioInputToken: estimate(text.isOpenEnded ? counted : audioTokens, audioInputToken),
    }),
  };
}

/** The API's default where a model takes the field; other defaults are the provider's. */
const temperatureDefault = 0.7;

/** A chat answer that has begun: whole, or as a stream. */
type OpenedChat = { completion: ChatCompletion } | ({ completion?: undefined } & BegunStream<ChatChunk>);

export const chatHandler: CapabilityHandler<"chat"> = {
  validate(run, kernel) {
    if (run.passthrough !== undefined) run.modelEntry = run.passthrough.chooseRoutes(run.modelEntry);
    run.request = withOneOutputLimit(run.request);
    const { request } = run;
    const { model, routes } = run.modelEntry;
    const { n } = request;
    checkCustomTools(request, routes);
    checkFeatures(kernel, run);
    if (n && n > fanOutMax && routes.some((route) => needsFanOut(route, request))) {
      throw new GatewayError("invalid_request", `n is ${n}, but this model takes at most ${fanOutMax}`, { param: "n" });
    }
    const wanted = getOutputTokens(request);
    if (wanted !== undefined && model.contextTokens !== undefined && wanted > model.contextTokens) {
      const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
      const sentence = `${param} is ${wanted}, but the whole context of ${model.id} is ${model.contextTokens} tokens`;
      throw new GatewayError("invalid_request", sentence, { param });
    }
    checkLogprobs(run, kernel.network.bounds.answerBytesMax);
    run.request = withOutputLimitOf(request, model);
    return measureAudio(request);
  },

  ...chatBounds,

  toReport: (_, usage) =>
    "prompt_tokens" in usage ? toMeters(usage) : toTokenMeters(usage, { input: "text_tokens", output: "text_tokens" }),

  async estimate(run, kernel) {
    const { request, usageMeter } = run;
    const { sample, soundLength } = usageMeter.output;
    const owed = run.owedRequests;
    const open = owed.filter(({ usage }) => usage === undefined).length;
    // What the others report is not estimated a second time.
    const share = open > 0 && open < owed.length ? shareOfOpen(usageMeter.output, open) : 1;
    const seen = Math.ceil(share * (await countTokens(sample.text, sample.length)));
    return {
      ...(await estimatePrompt(kernel, run)),
      outputToken: Math.max(seen, await estimateUnseen(run)),
      ...estimateSound(request, soundLength),
    };
  },

  async execute(kernel, run) {
    const { id, openedAt, protocol, passthrough, sink } = run.call.request;
    const opened = await withFailover<ChatRequest, OpenedChat | OpenedPassthrough>(kernel, run, {
      requestFor: (model) => (protocol === "chat" ? withDefaults(run.request, model) : run.request),
      run: passthrough === undefined ? openChat : createOpener(passthrough, openChat),
    });
    if ("readUsage" in opened) return sendPassthrough(kernel, run, opened);
    const head = createAnswerHead(id, run.publicName, openedAt);
    if (opened.completion !== undefined && sink === undefined) {
      return finishCompletion(kernel, run, normalizeCompletion(opened.completion, head));
    }
    await streamChunks(run, opened, head);
    return undefined;
  },
};

/**
 * Runs a chat handler and waits for the first content: a stream that fails after an empty role has not begun, so that
 * another route can still serve the call.
 */
async function openChat(plugin: ProviderPlugin, call: Call<ChatRequest>): Promise<OpenedChat> {
  const answer = await callHandler(plugin, call);
  if (isStream(answer)) {
    if (call.request.stream !== true) throw new TypeError("A stream was returned where stream is not true");
    const reader = new StreamReader(answer);
    return await begin(reader, hasBegun);
  }
  const choices = (answer as ChatCompletion | null)?.choices;
  if (!Array.isArray(choices) || choices.length === 0) throw badAnswer("The provider's answer has no choices");
  for (const choice of choices) {
    if (!isRecord(choice?.message)) throw badAnswer("A choice of the provider's answer has no message");
    const calls: unknown = choice.message.tool_calls ?? [];
    if (!Array.isArray(calls) || !calls.every((call) => isRecord(call?.function ?? call?.custom))) {
      throw badAnswer("A tool call in the provider's answer names no function");
    }
  }
  return { completion: answer };
}

function callHandler(plugin: ProviderPlugin, call: Call<ChatRequest>) {
  const { handlers, name } = plugin;
  if (handlers.chat === undefined) throw new TypeError(`Plugin '${name}' has no chat handler`);
  if (!needsFanOut({ plugin, model: call.model }, call.request)) return handlers.chat(call);
  const chat = handlers.chat.bind(handlers);
  return call.request.stream === true ? fanOutChunks(chat, call) : fanOutCompletions(chat, call);
}

function hasBegun(chunk: ChatChunk): boolean {
  if (!Array.isArray(chunk?.choices)) throw badAnswer("A chunk of the provider's stream has no choices");
  return chunk.choices.some((choice) => {
    if (!isRecord(choice)) throw badAnswer("A choice in the provider's stream is not an object");
    return choice.finish_reason || hasSubstance(choice.delta);
  });
}

function isStream(answer: ChatCompletion | ChatStream | null): answer is ChatStream {
  return answer !== null && typeof answer === "object" && "push" in answer;
}

function badAnswer(sentence: string): UpstreamFault {
  return new UpstreamFault("bad_response", sentence);
}

async function finishCompletion(
  kernel: Kernel,
  run: ModelRun<"chat">,
  completion: ChatCompletion,
): Promise<ChatCompletion> {
  const { usageMeter } = run;
  const { output } = usageMeter;
  run.finishReasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  const { service_tier: tier } = completion as { service_tier?: unknown };
  if (typeof tier === "string") run.servedTier = tier;
  usageMeter.produced = true;
  const meters = toMeters(completion.usage);
  if (meters !== undefined) usageMeter.report(meters);
  // The text is only needed for an estimate.
  if (!meters?.outputToken) {
    for (const choice of completion.choices) {
      const text = collectText({ choices: [choice] });
      output.sample.add(text);
      output.choices.push({ length: text.length, isFinished: true });
    }
  }
  for (const { message } of completion.choices) countSound(usageMeter, message);
  usageMeter.wrote = output.sample.length > 0;
  usageMeter.finish();
  const count = await usageMeter.count();
  completion.usage = toChatUsage(completion.usage, count, priceOfRun(run, count.meters));
  if (count.source === "estimated")
    kernel.log.warn("usage_estimated", { call: run.call.id, model: run.model, route: run.plugin });
  return completion;
}

/** Sends the chunks as they come. Throws unless the stream ends in order; the HTTP side makes an error event of it. */
async function streamChunks(run: ModelRun<"chat">, opened: OpenedChat, head: AnswerHead): Promise<void> {
  const { call, usageMeter, sink, request } = run;
  if (sink === undefined) throw new TypeError("There is no sink to stream to");
  const includeUsage = request.stream_options?.include_usage === true;
  const normalizer = new StreamNormalizer(head, usageMeter, includeUsage);
  const forward = (raw: ChatChunk) => {
    call.throwIfCancelled();
    let drained: Promise<void> | undefined;
    for (const chunk of normalizer.push(raw)) drained = sink.write(chunk);
    if (typeof raw.service_tier === "string") run.servedTier = raw.service_tier;
    return drained;
  };
  // A chunk that is not paid is neither counted nor sent.
  const send = (raw: ChatChunk) => {
    const held = run.spend(chunkTokensMax(raw));
    return held === undefined ? forward(raw) : held.then(() => forward(raw));
  };
  sink.open();
  if (opened.completion !== undefined) for (const chunk of toChunks(opened.completion)) await send(chunk);
  else await pump(opened, send);
  if (!normalizer.finished) throw badAnswer("The provider's stream ended before the answer was complete");
  usageMeter.finish();
  run.finishReasons = normalizer.finishReasons;
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

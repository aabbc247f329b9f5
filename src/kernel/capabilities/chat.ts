import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatUsage,
  type ChunkChoice,
  costNanodollars,
  GatewayError,
  type Meters,
  type Model,
  metersOfUsage,
  nanodollarsPerUsd,
  UpstreamFault,
} from "../../contract/index.ts";
import { closeIterator } from "../let-go.ts";
import { chunksOf } from "../normalize/chunks-of.ts";
import { type AnswerHead, headOf, normalizeCompletion, normalizeUsage } from "../normalize/completion.ts";
import { StreamNormalizer } from "../normalize/stream.ts";
import { countablePrompt, countTokens, promptTokensMax } from "../normalize/token-counts.ts";
import { attempt } from "../routing/failover.ts";
import type { ModelEntry } from "../routing/registry.ts";
import type { CapabilityHandler, Job, Output } from "../trade.ts";
import { checkChoices, type Opened, openChat } from "./open-chat.ts";

/** The spec's default where a model takes the field; its other defaults are every provider's own. */
const temperatureDefault = 0.7;

/** Chat, whole and streamed. A streamed answer goes to the outlet, and the reply is `undefined`. */
export const chatCapability: CapabilityHandler<ChatRequest, ChatCompletion | undefined, ChatChunk> = {
  check(request, modelEntry) {
    const { model } = modelEntry;
    for (const route of modelEntry.routes) checkChoices(route.plugin, request.n);
    const wanted = outputTokensOf(request);
    if (wanted !== undefined && model.contextTokens !== undefined && wanted > model.contextTokens) {
      const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
      const sentence = `${param} is ${wanted}, but the whole context of ${model.id} is ${model.contextTokens} tokens`;
      throw new GatewayError("invalid_request", sentence, { param });
    }
  },

  worstCase(request, modelEntry) {
    const choices = request.n ? request.n : 1;
    const prompts = promptCopiesMax(request, modelEntry);
    return {
      inputToken: prompts * promptTokensMax(request),
      outputToken: choices * outputTokensMaxOf(request, modelEntry),
    };
  },

  promptTokens: promptTokensMax,

  async estimate(request, output, modelEntry) {
    const { text, otherTokens } = countablePrompt(request);
    const promptTokens = (await countTokens(text)) + otherTokens;
    return {
      inputToken: promptCopiesMax(request, modelEntry) * promptTokens,
      outputToken: await countTokens(output.text, output.length),
    };
  },

  async serve(job, output) {
    const { kernel, modelEntry, request, progress } = job;
    const opened = await attempt(kernel, modelEntry, progress, {
      requestFor: (model) => withDefaults(request, model),
      run: openChat,
    });
    progress.firstByteMs = kernel.now() - progress.openedAt;
    const head = headOf(progress.id, modelEntry.model.id, kernel.now());
    if (job.sink === undefined) return finishCompletion(job, opened, head, output);
    await pump(job, opened, head, output);
    return undefined;
  },
};

async function finishCompletion(
  job: Job<ChatRequest, ChatChunk>,
  opened: Opened,
  head: AnswerHead,
  output: Output,
): Promise<ChatCompletion> {
  if (opened.completion === undefined) throw new TypeError("A stream was returned where a completion was asked for");
  const completion = normalizeCompletion(opened.completion, head);
  const { usageMeter } = job;
  if (job.kernel.watch !== undefined)
    job.progress.finishReasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  usageMeter.produced = true;
  usageMeter.complete = true;
  const meters = metersOfUsage(completion.usage);
  if (meters !== undefined) usageMeter.report(meters);
  const isCounted = meters !== undefined && meters.outputToken !== undefined && meters.outputToken > 0;
  if (!isCounted) output.text = textOf(completion);
  output.length = output.text.length;
  if (meters !== undefined && (isCounted || output.text === "")) {
    if (hasNothing(meters)) usageMeter.produced = false;
    completion.usage = priced(normalizeUsage(completion.usage as ChatUsage), job.modelEntry, meters);
    return completion;
  }
  usageMeter.wrote = output.text !== "";
  const counted = (await usageMeter.count()).meters;
  completion.usage = priced(usageOf(counted), job.modelEntry, counted);
  job.kernel.log.warn("usage_estimated", { call: job.progress.id, model: head.model, route: job.progress.route });
  return completion;
}

/** All that was written in an answer. */
function textOf(completion: ChatCompletion): string {
  let text = "";
  for (const { message } of completion.choices) {
    const parts: unknown[] = [message.content, message.reasoning_content, message.refusal];
    for (const call of message.tool_calls ?? []) parts.push(call.function.name, call.function.arguments);
    for (const part of parts) if (part) text += typeof part === "string" ? part : JSON.stringify(part);
  }
  return text;
}

/** Sends the pieces as they come. Any end but an orderly one throws, and the outlet's owner makes an error event of it. */
async function pump(job: Job<ChatRequest, ChatChunk>, opened: Opened, head: AnswerHead, output: Output): Promise<void> {
  const { usageMeter, sink, request, progress } = job;
  if (sink === undefined) throw new TypeError("There is no outlet to stream to");
  const includeUsage = request.stream_options?.include_usage === true;
  const normalizer = new StreamNormalizer(head, { usageMeter, output, includeUsage });
  const send = (raw: ChatChunk) => {
    // A call that was cut has settled by now: nothing may be counted or sent after that.
    if (progress.cancelReason !== undefined) throw new UpstreamFault("bad_response", "The call was cut off");
    const chunk = normalizer.push(raw);
    sendEach(normalizer.before, raw);
    const behind = chunk === undefined ? undefined : sink.write(chunk);
    sendEach(normalizer.after, raw);
    return behind;
  };
  const sendEach = (choices: ChunkChoice[], raw: ChatChunk) => {
    if (choices.length === 0) return;
    for (const choice of choices.splice(0)) sink.write(normalizer.chunkOf(raw, [choice]));
  };
  try {
    sink.open();
    const first = opened.completion === undefined ? opened.first : chunksOf(opened.completion);
    for (const piece of first) await send(piece);
    for await (const piece of restOf(opened)) {
      const behind = send(piece);
      if (behind !== undefined) await behind;
    }
  } catch (error) {
    closeIterator(opened.chunks);
    throw error;
  }
  if (!normalizer.finished)
    throw new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
  usageMeter.complete = true;
  if (job.kernel.watch !== undefined) progress.finishReasons = normalizer.finishReasons;
  // A report of nothing for an answer of nothing stands, as it does of a whole answer.
  if (!usageMeter.wrote && usageMeter.reported !== undefined && hasNothing(usageMeter.reported))
    usageMeter.produced = false;
  if (!includeUsage) return;
  const { meters, source } = await usageMeter.count();
  const reported =
    source === "estimated" || normalizer.usage === undefined ? usageOf(meters) : normalizeUsage(normalizer.usage);
  await sink.write(normalizer.usageChunk(priced(reported, job.modelEntry, meters)));
}

/** What comes after the first pieces. */
function restOf({ chunks }: Opened): AsyncIterable<ChatChunk> | [] {
  return chunks === undefined ? [] : { [Symbol.asyncIterator]: () => chunks };
}

function withDefaults(request: ChatRequest, model: Model): ChatRequest {
  if (request.temperature !== undefined && request.temperature !== null) return request;
  if (model.omit?.includes("temperature")) return request;
  return { ...request, temperature: temperatureDefault };
}

/** How often the prompt is paid for: a provider that makes one choice at a time is sent it for each. */
function promptCopiesMax({ n }: ChatRequest, modelEntry: ModelEntry): number {
  if (n === undefined || n === null) return 1;
  return modelEntry.routes.some(({ plugin }) => plugin.maxChoices.chat !== undefined && n > plugin.maxChoices.chat)
    ? n
    : 1;
}

function outputTokensOf(request: ChatRequest): number | undefined {
  if (request.max_completion_tokens) return request.max_completion_tokens;
  return request.max_tokens ? request.max_tokens : undefined;
}

function outputTokensMaxOf(request: ChatRequest, { model }: ModelEntry): number {
  const wanted = outputTokensOf(request);
  const most = model.outputTokensMax === undefined ? model.contextTokens : model.outputTokensMax;
  if (wanted === undefined) return most === undefined ? 128_000 : most;
  return most === undefined ? wanted : Math.min(wanted, most);
}

function usageOf(meters: Meters): ChatUsage {
  let prompt = 0;
  for (const amount of [meters.inputToken, meters.cacheReadToken, meters.cacheWriteToken]) {
    if (amount !== undefined) prompt += amount;
  }
  return normalizeUsage({
    prompt_tokens: prompt,
    completion_tokens: meters.outputToken === undefined ? 0 : meters.outputToken,
  });
}

/** With what the call costs by its list price, in dollars; as it was when the price is not known. */
function priced(usage: ChatUsage, { compiledPrice }: ModelEntry, meters: Meters): ChatUsage {
  const cost = compiledPrice === undefined ? undefined : costNanodollars(compiledPrice, meters);
  if (cost === undefined) return usage;
  return { ...usage, cost: cost / nanodollarsPerUsd };
}

function hasNothing(meters: Meters): boolean {
  return !meters.outputToken && !meters.inputToken && !meters.cacheReadToken;
}

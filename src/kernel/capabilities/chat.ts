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
import { letGo } from "../let-go.ts";
import { chunksOf } from "../normalize/chunks-of.ts";
import { type AnswerHead, headOf, tidyCompletion, tidyUsage } from "../normalize/completion.ts";
import { ChunkTidier } from "../normalize/stream.ts";
import { countablePrompt, countTokens, promptTokensAtMost } from "../normalize/token-counts.ts";
import { attempt } from "../routing/failover.ts";
import type { Offer } from "../routing/registry.ts";
import type { Job, Output, Trade } from "../trade.ts";
import { checkChoices, type Opened, openChat } from "./open-chat.ts";

/** The spec's default where a model takes the field; its other defaults are every provider's own. */
const temperatureDefault = 0.7;

/** Chat, whole and streamed. A streamed answer goes to the outlet, and the reply is `undefined`. */
export const chatTrade: Trade<ChatRequest, ChatCompletion | undefined, ChatChunk> = {
  check(request, offer) {
    const { model } = offer;
    for (const route of offer.routes) checkChoices(route.plugin, request.n);
    const wanted = outputTokensOf(request);
    if (wanted !== undefined && model.contextTokens !== undefined && wanted > model.contextTokens) {
      const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
      const sentence = `${param} is ${wanted}, but the whole context of ${model.id} is ${model.contextTokens} tokens`;
      throw new GatewayError("invalid_request", sentence, { param });
    }
  },

  worstCase(request, offer) {
    const choices = request.n ? request.n : 1;
    const prompts = promptsAtMost(request, offer);
    return {
      inputToken: prompts * promptTokensAtMost(request),
      outputToken: choices * outputTokensAtMost(request, offer),
    };
  },

  promptTokens: promptTokensAtMost,

  async estimate(request, output, offer) {
    const { text, otherTokens } = countablePrompt(request);
    const promptTokens = (await countTokens(text)) + otherTokens;
    return {
      inputToken: promptsAtMost(request, offer) * promptTokens,
      outputToken: await countTokens(output.text, output.length),
    };
  },

  async serve(job, output) {
    const { kernel, offer, request, progress } = job;
    const opened = await attempt(kernel, offer, progress, {
      requestFor: (model) => withDefaults(request, model),
      run: openChat,
    });
    progress.firstByteMs = kernel.now() - progress.openedAt;
    const head = headOf(progress.id, offer.model.id, kernel.now());
    if (job.outlet === undefined) return finishCompletion(job, opened, head, output);
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
  const completion = tidyCompletion(opened.completion, head);
  const { tally } = job;
  if (job.kernel.watch !== undefined)
    job.progress.finishReasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  tally.produced = true;
  tally.complete = true;
  const meters = metersOfUsage(completion.usage);
  if (meters !== undefined) tally.report(meters);
  const isCounted = meters !== undefined && meters.outputToken !== undefined && meters.outputToken > 0;
  if (!isCounted) output.text = textOf(completion);
  output.length = output.text.length;
  if (meters !== undefined && (isCounted || output.text === "")) {
    if (hasNothing(meters)) tally.produced = false;
    completion.usage = priced(tidyUsage(completion.usage as ChatUsage), job.offer, meters);
    return completion;
  }
  tally.wrote = output.text !== "";
  const counted = (await tally.count()).meters;
  completion.usage = priced(usageOf(counted), job.offer, counted);
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
  const { tally, outlet, request, progress } = job;
  if (outlet === undefined) throw new TypeError("There is no outlet to stream to");
  const includeUsage = request.stream_options?.include_usage === true;
  const tidier = new ChunkTidier(head, { tally, output, includeUsage });
  const send = (raw: ChatChunk) => {
    // A call that was cut has settled by now: nothing may be counted or sent after that.
    if (progress.cutReason !== undefined) throw new UpstreamFault("bad_response", "The call was cut off");
    const chunk = tidier.push(raw);
    sendEach(tidier.before, raw);
    const behind = chunk === undefined ? undefined : outlet.write(chunk);
    sendEach(tidier.after, raw);
    return behind;
  };
  const sendEach = (choices: ChunkChoice[], raw: ChatChunk) => {
    if (choices.length === 0) return;
    for (const choice of choices.splice(0)) outlet.write(tidier.chunkOf(raw, [choice]));
  };
  try {
    outlet.open();
    const first = opened.completion === undefined ? opened.first : chunksOf(opened.completion);
    for (const piece of first) await send(piece);
    for await (const piece of restOf(opened)) {
      const behind = send(piece);
      if (behind !== undefined) await behind;
    }
  } catch (error) {
    letGo(opened.chunks);
    throw error;
  }
  if (!tidier.finished) throw new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
  tally.complete = true;
  if (job.kernel.watch !== undefined) progress.finishReasons = tidier.finishReasons;
  // A report of nothing for an answer of nothing stands, as it does of a whole answer.
  if (!tally.wrote && tally.reported !== undefined && hasNothing(tally.reported)) tally.produced = false;
  if (!includeUsage) return;
  const { meters, source } = await tally.count();
  const reported = source === "estimated" || tidier.usage === undefined ? usageOf(meters) : tidyUsage(tidier.usage);
  await outlet.write(tidier.usageChunk(priced(reported, job.offer, meters)));
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
function promptsAtMost({ n }: ChatRequest, offer: Offer): number {
  if (n === undefined || n === null) return 1;
  return offer.routes.some(({ plugin }) => plugin.maxChoices.chat !== undefined && n > plugin.maxChoices.chat) ? n : 1;
}

function outputTokensOf(request: ChatRequest): number | undefined {
  if (request.max_completion_tokens) return request.max_completion_tokens;
  return request.max_tokens ? request.max_tokens : undefined;
}

function outputTokensAtMost(request: ChatRequest, { model }: Offer): number {
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
  return tidyUsage({
    prompt_tokens: prompt,
    completion_tokens: meters.outputToken === undefined ? 0 : meters.outputToken,
  });
}

/** With what the call costs by its list price, in dollars; as it was when the price is not known. */
function priced(usage: ChatUsage, { tariff }: Offer, meters: Meters): ChatUsage {
  const cost = tariff === undefined ? undefined : costNanodollars(tariff, meters);
  if (cost === undefined) return usage;
  return { ...usage, cost: cost / nanodollarsPerUsd };
}

function hasNothing(meters: Meters): boolean {
  return !meters.outputToken && !meters.inputToken && !meters.cacheReadToken;
}

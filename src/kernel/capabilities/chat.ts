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
import type { CallContext } from "../call-context.ts";
import {
  type AnswerHead,
  createAnswerHead,
  normalizeCompletion,
  normalizeUsage,
  toChunks,
} from "../normalize/completion.ts";
import { StreamNormalizer } from "../normalize/stream.ts";
import { countablePrompt, countTokens, promptTokensMax } from "../normalize/token-counts.ts";
import { withFailover } from "../routing/failover.ts";
import type { ModelEntry } from "../routing/registry.ts";
import type { CapabilityHandler, Kernel } from "../types.ts";
import { closeIterator } from "./iterators.ts";
import { checkChoices, type OpenedChat, openChat } from "./open-chat.ts";

/** The API's default where a model takes the field; other defaults are the provider's. */
const temperatureDefault = 0.7;

export const chatHandler: CapabilityHandler<"chat"> = {
  validate({ request, modelEntry: { model, routes } }) {
    for (const route of routes) checkChoices(route.plugin, request.n);
    const wanted = getOutputTokens(request);
    if (wanted !== undefined && model.contextTokens !== undefined && wanted > model.contextTokens) {
      const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
      const sentence = `${param} is ${wanted}, but the whole context of ${model.id} is ${model.contextTokens} tokens`;
      throw new GatewayError("invalid_request", sentence, { param });
    }
  },

  upperBound({ request, modelEntry }) {
    const choices = request.n ? request.n : 1;
    return {
      inputToken: promptCopiesMax(request, modelEntry) * promptTokensMax(request),
      outputToken: choices * outputTokensMax(request, modelEntry.model),
    };
  },

  promptTokens: ({ request }) => promptTokensMax(request),

  async estimate({ request, modelEntry, usageMeter: { output } }) {
    const { text, otherTokens } = countablePrompt(request);
    const promptTokens = (await countTokens(text)) + otherTokens;
    return {
      inputToken: promptCopiesMax(request, modelEntry) * promptTokens,
      outputToken: await countTokens(output.text, output.length),
    };
  },

  async execute(kernel, call) {
    const opened = await withFailover(kernel, call, {
      requestFor: (model) => withDefaults(call.request, model),
      run: openChat,
    });
    call.firstByteMs = kernel.now() - call.startedMs;
    const head = createAnswerHead(call.id, call.modelEntry.model.id, call.openedAt);
    if (call.sink === undefined) return finishCompletion(kernel, call, opened, head);
    await streamChunks(kernel, call, opened, head);
    return undefined;
  },
};

async function finishCompletion(
  kernel: Kernel,
  call: CallContext<"chat">,
  opened: OpenedChat,
  head: AnswerHead,
): Promise<ChatCompletion> {
  if (opened.completion === undefined) throw new TypeError("A stream was returned where a completion was asked for");
  const completion = normalizeCompletion(opened.completion, head);
  const { usageMeter, modelEntry } = call;
  const { output } = usageMeter;
  if (kernel.observer !== undefined)
    call.finishReasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  usageMeter.produced = true;
  usageMeter.complete = true;
  const meters = metersOfUsage(completion.usage);
  if (meters !== undefined) usageMeter.report(meters);
  const isCounted = meters !== undefined && meters.outputToken !== undefined && meters.outputToken > 0;
  if (!isCounted) output.text = collectText(completion);
  output.length = output.text.length;
  if (meters !== undefined && (isCounted || output.text === "")) {
    if (isNothing(meters)) usageMeter.produced = false;
    completion.usage = withCost(normalizeUsage(completion.usage as ChatUsage), modelEntry, meters);
    return completion;
  }
  usageMeter.wrote = output.text !== "";
  const counted = (await usageMeter.count()).meters;
  completion.usage = withCost(toUsage(counted), modelEntry, counted);
  kernel.log.warn("usage_estimated", { call: call.id, model: head.model, route: call.route });
  return completion;
}

/** All text of a completion. */
function collectText(completion: ChatCompletion): string {
  let text = "";
  for (const { message } of completion.choices) {
    const parts: unknown[] = [message.content, message.reasoning_content, message.refusal];
    for (const call of message.tool_calls ?? []) parts.push(call.function.name, call.function.arguments);
    for (const part of parts) if (part) text += typeof part === "string" ? part : JSON.stringify(part);
  }
  return text;
}

/** Sends the chunks as they come. Throws unless the stream ends in order; the HTTP side makes an error event of it. */
async function streamChunks(
  kernel: Kernel,
  call: CallContext<"chat">,
  opened: OpenedChat,
  head: AnswerHead,
): Promise<void> {
  const { usageMeter, sink, request, modelEntry } = call;
  if (sink === undefined) throw new TypeError("There is no sink to stream to");
  const includeUsage = request.stream_options?.include_usage === true;
  const normalizer = new StreamNormalizer(head, usageMeter, includeUsage);
  const send = (raw: ChatChunk) => {
    call.throwIfCancelled();
    const chunk = normalizer.push(raw);
    sendEach(normalizer.before, raw);
    const drained = chunk === undefined ? undefined : sink.write(chunk);
    sendEach(normalizer.after, raw);
    return drained;
  };
  const sendEach = (choices: ChunkChoice[], raw: ChatChunk) => {
    if (choices.length === 0) return;
    for (const choice of choices.splice(0)) sink.write(normalizer.toChunk(raw, [choice]));
  };
  try {
    sink.open();
    const first = opened.completion === undefined ? opened.first : toChunks(opened.completion);
    for (const chunk of first) await send(chunk);
    for await (const chunk of getRest(opened)) {
      const drained = send(chunk);
      if (drained !== undefined) await drained;
    }
  } catch (error) {
    closeIterator(opened.chunks);
    throw error;
  }
  if (!normalizer.finished)
    throw new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
  usageMeter.complete = true;
  if (kernel.observer !== undefined) call.finishReasons = normalizer.finishReasons;
  // As for a completion, an empty report counts for an empty answer.
  if (!usageMeter.wrote && usageMeter.reported !== undefined && isNothing(usageMeter.reported))
    usageMeter.produced = false;
  if (!includeUsage) return;
  const { meters, source } = await usageMeter.count();
  const reported =
    source === "estimated" || normalizer.usage === undefined ? toUsage(meters) : normalizeUsage(normalizer.usage);
  await sink.write(normalizer.usageChunk(withCost(reported, modelEntry, meters)));
}

/** The chunks after the first ones. */
function getRest({ chunks }: OpenedChat): AsyncIterable<ChatChunk> | [] {
  return chunks === undefined ? [] : { [Symbol.asyncIterator]: () => chunks };
}

function withDefaults(request: ChatRequest, model: Model): ChatRequest {
  if (request.temperature !== undefined && request.temperature !== null) return request;
  if (model.omit?.includes("temperature")) return request;
  return { ...request, temperature: temperatureDefault };
}

/** How many times the prompt is paid for: it is sent once for each choice to a provider that makes one at a time. */
function promptCopiesMax({ n }: ChatRequest, modelEntry: ModelEntry): number {
  if (n === undefined || n === null) return 1;
  return modelEntry.routes.some(({ plugin }) => plugin.maxChoices.chat !== undefined && n > plugin.maxChoices.chat)
    ? n
    : 1;
}

function getOutputTokens(request: ChatRequest): number | undefined {
  if (request.max_completion_tokens) return request.max_completion_tokens;
  return request.max_tokens ? request.max_tokens : undefined;
}

function outputTokensMax(request: ChatRequest, model: Model): number {
  const wanted = getOutputTokens(request);
  const max = model.outputTokensMax === undefined ? model.contextTokens : model.outputTokensMax;
  if (wanted === undefined) return max === undefined ? 128_000 : max;
  return max === undefined ? wanted : Math.min(wanted, max);
}

function toUsage(meters: Meters): ChatUsage {
  let prompt = 0;
  for (const amount of [meters.inputToken, meters.cacheReadToken, meters.cacheWriteToken]) {
    if (amount !== undefined) prompt += amount;
  }
  return normalizeUsage({
    prompt_tokens: prompt,
    completion_tokens: meters.outputToken === undefined ? 0 : meters.outputToken,
  });
}

/** Adds the cost by list price in dollars, if the price is known. */
function withCost(usage: ChatUsage, { compiledPrice }: ModelEntry, meters: Meters): ChatUsage {
  const cost = compiledPrice === undefined ? undefined : costNanodollars(compiledPrice, meters);
  if (cost === undefined) return usage;
  return { ...usage, cost: cost / nanodollarsPerUsd };
}

function isNothing(meters: Meters): boolean {
  return !meters.outputToken && !meters.inputToken && !meters.cacheReadToken;
}

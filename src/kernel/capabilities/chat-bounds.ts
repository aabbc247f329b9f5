import type { ChatRequest, Meters, Model } from "../../contract/index.ts";
import type { CallContext } from "../call-context.ts";
import { largest } from "../growing-hold.ts";
import { promptTokensMax } from "../normalize/prompt-bounds.ts";
import { divideSound, getOutputMeter } from "../normalize/sound.ts";
import type { ModelEntry } from "../routing/registry.ts";
import type { CapabilityHandler } from "../types.ts";
import { needsFanOut } from "./fan-out.ts";

/** The upper bound of an answer of a model that declares neither limit. */
const outputTokensDefault = 128_000;
/** A call is refused unless this much output can be paid beside its prompt: with less, an answer is of no use. */
const firstOutputTokens = 256;
/** The output of each choice that a stream holds at first, and is extended by. */
const stepTokens = 4096;
/** The same for output of which a part is hidden, which counts by time: the first eight seconds of it. */
const hiddenStepTokens = 16_384;
/** More than the fastest models that reason make of one choice. */
const hiddenTokensPerSecond = 2000;

/** What a chat request can use at the most and at the least, and how its hold grows and its limits are lowered. */
export const chatBounds: Pick<CapabilityHandler<"chat">, "upperBound" | "lowerBound" | "growth" | "lower"> = {
  upperBound({ request, modelEntry, native }) {
    const { model } = modelEntry;
    const copies = promptCopiesMax(request, modelEntry);
    const { inputToken = 0, audioInputToken } = divideSound(promptTokensMax(request, model), request, model);
    return {
      inputToken: Math.max(copies * inputToken, native?.promptTokensMax(modelEntry) ?? 0),
      ...(audioInputToken && { audioInputToken: copies * audioInputToken }),
      [getOutputMeter(request, model)]: (request.n ?? 1) * getOutputTokensMax(request, model),
    };
  },

  lowerBound: (call, upper) =>
    call.native?.isBounded === false ? upper : createLowerBounds(call, upper)(1, firstOutputTokens),

  growth(call, upper) {
    const { sink, request, modelEntry } = call;
    const isSound = getOutputMeter(request, modelEntry.model) !== "outputToken";
    if (sink === undefined || isSound) return undefined;
    const isHidden = modelEntry.model.reasoning || (request.reasoning_effort && request.reasoning_effort !== "none");
    const toBound = createLowerBounds(call, upper);
    const choices = () => call.request.n ?? 1;
    return {
      stepTokens: choices() * (isHidden ? hiddenStepTokens : stepTokens),
      hiddenTokensPerSecond: isHidden ? choices() * hiddenTokensPerSecond : undefined,
      boundOf: (outputToken) => ({ ...toBound(choices(), 0), outputToken }),
      outputTokensMax: () => choices() * getOutputTokensMax(call.request, modelEntry.model),
    };
  },

  /** As many choices as can have a first piece of output, and as much output as all of them can have. */
  lower(call, upper, covers) {
    const { request, modelEntry } = call;
    const toBound = createLowerBounds(call, upper);
    let n = request.n ?? 1;
    while (n > 1 && !covers(toBound(n, firstOutputTokens))) n--;
    const most = getOutputTokensMax(request, modelEntry.model);
    const fits = largest(most, (tokens) => tokens === 1 || covers(toBound(n, tokens)));
    const param = request.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
    call.lowered = { [param]: fits, ...(n !== (request.n ?? 1) && { n }) };
    call.request = { ...request, ...call.lowered };
  },
};

/** How many times the prompt is paid for. */
export function promptCopiesMax(request: ChatRequest, { routes }: ModelEntry): number {
  return routes.some((route) => needsFanOut(route, request)) ? (request.n as number) : 1;
}

/** Bounds of the same request with other limits. A long prompt is counted once: its tokens are taken from the upper bound. */
function createLowerBounds({ request, modelEntry }: CallContext<"chat">, upper: Meters) {
  const { inputToken = 0, audioInputToken = 0 } = upper;
  const copiesMax = promptCopiesMax(request, modelEntry);
  const most = getOutputTokensMax(request, modelEntry.model);
  const outputMeter = getOutputMeter(request, modelEntry.model);
  return (n: number, outputTokens: number): Meters => {
    const copies = promptCopiesMax({ ...request, n }, modelEntry);
    return {
      inputToken: (copies * inputToken) / copiesMax,
      ...(audioInputToken > 0 && { audioInputToken: (copies * audioInputToken) / copiesMax }),
      [outputMeter]: n * Math.min(most, outputTokens),
    };
  };
}

/** Both names of the output limit mean one value: the smaller one, or a provider could follow the other. */
export function withOneOutputLimit(request: ChatRequest): ChatRequest {
  const { max_tokens, max_completion_tokens, ...rest } = request;
  if (!max_tokens || !max_completion_tokens) return request;
  return { ...rest, max_completion_tokens: Math.min(max_tokens, max_completion_tokens) };
}

export function getOutputTokens(request: ChatRequest): number | undefined {
  return request.max_completion_tokens || request.max_tokens || undefined;
}

function getOutputTokensMax(request: ChatRequest, { outputTokensMax, contextTokens }: Model): number {
  const max = outputTokensMax ?? contextTokens;
  const wanted = getOutputTokens(request);
  if (wanted === undefined) return max ?? outputTokensDefault;
  return max === undefined ? wanted : Math.min(wanted, max);
}

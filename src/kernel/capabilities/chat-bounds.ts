/**
 * Bounds what a chat can use, which is what it holds: its prompt, its output and its searches, before it is sent and as it grows.
 */
import type { Meters } from "../../contract/index.ts";
import { ChatRequest, contextTokensDefault } from "../../provider/index.ts";
import { largest } from "../admission.ts";
import type { ModelRun, RunBounds } from "../call.ts";
import { getOutputMeter } from "../normalize/chat-audio.ts";
import { boundPrompt, chatForm, getContextTokensMax, type PromptBound } from "../normalize/prompt-bounds.ts";
import type { ModelEntry, Route } from "../routing/registry.ts";
import type { CapabilityHandler } from "../types.ts";
import { refuseOtherSchemes } from "../upstream/media-addresses.ts";

/** How a chat is bounded when it is admitted, when it is lowered to what is left, and as its answer grows. */
export const chatBounds: Pick<CapabilityHandler<"chat">, "upperBound" | "lowerBound" | "growth" | "lower"> = {
  upperBound(run, countedTokensMax) {
    const { request, modelEntry, passthrough } = run;
    const counted = promptCopiesMax(request, modelEntry) * (countedTokensMax ?? Number.POSITIVE_INFINITY);
    const bounds = boundPrompts(run);
    if (bounds.some(({ hasAddress }) => hasAddress)) {
      refuseOtherSchemes(request);
      refuseOtherSchemes(passthrough?.body);
    }
    let [inputToken, audioInputToken] = [0, 0];
    for (const { meters } of bounds) {
      inputToken = Math.max(inputToken, meters.inputToken ?? 0);
      audioInputToken = Math.max(audioInputToken, meters.audioInputToken ?? 0);
    }
    inputToken = withAnswerOf(run, Math.min(counted, inputToken));
    audioInputToken = Math.min(counted, audioInputToken);
    const searchesMax = passthrough?.searchLimitOf(modelEntry) ?? 0;
    const toBound = createBounds(run, { upper: { inputToken, audioInputToken }, sentTokensMax: inputToken });
    return {
      upper: toBound(request.n ?? 1, getOutputTokensMax(request, modelEntry), searchesMax),
      countedTokensMax,
      sentTokensMax: inputToken,
      searchesMax,
      keepsLonger: bounds.some(({ keepsLonger }) => keepsLonger),
      hasMarks: bounds.some(({ hasMarks }) => hasMarks),
      // The results of a search are part of the prompt that is read next, and only its provider counts it.
      isOpenEnded: searchesMax > 0 || bounds.some(({ isOpenEnded }) => isOpenEnded),
      hidesOutput: reasons(run),
    };
  },

  lowerBound(run) {
    const { request, modelEntry, passthrough, bounds } = run;
    if (passthrough?.isBounded === false || mayExceed(request, modelEntry)) return bounds.upper;
    return createBounds(run, bounds)(1, firstOutputTokens, searchesMin(run));
  },

  growth(run) {
    const { sink, request, modelEntry, bounds } = run;
    const isSound = getOutputMeter(request, modelEntry.model) !== "outputToken";
    if (sink === undefined || isSound) return undefined;
    const isHidden = bounds.hidesOutput === true;
    const toBound = createBounds(run, bounds);
    // The request and its searches may be lowered once it is admitted.
    const choices = () => run.request.n ?? 1;
    const boundOf = (outputToken: number) =>
      toBound(choices(), Math.ceil(outputToken / choices()), run.bounds.searchesMax ?? 0);
    return {
      isHidden,
      stepTokens: choices() * (isHidden ? hiddenStepTokens : stepTokens),
      boundOf: (outputToken) => ({ ...boundOf(outputToken), outputToken }),
      outputTokensMax: () => choices() * getOutputTokensMax(run.request, modelEntry),
    };
  },

  /**
   * As many searches and then choices as can have a first piece of output, and as much output as all of them can have. A
   * search tool that cannot be paid for is left out.
   */
  lower(run, covers) {
    const { request, modelEntry, bounds } = run;
    const toBound = createBounds(run, bounds);
    let n = request.n ?? 1;
    const coversSearches = (searches: number) => searches === 0 || covers(toBound(n, firstOutputTokens, searches));
    const searchesMax = Math.max(largest(bounds.searchesMax ?? 0, coversSearches), searchesMin(run));
    while (n > 1 && !covers(toBound(n, firstOutputTokens, searchesMax))) n--;
    const most = getOutputTokensMax(request, modelEntry);
    const fits = largest(most, (tokens) => tokens === 1 || covers(toBound(n, tokens, searchesMax)));
    const fields = { [nameOfLimit(request)]: fits, ...(n !== (request.n ?? 1) && { n }) };
    return {
      request: { ...request, ...fields },
      fields,
      bounds: { ...bounds, upper: toBound(n, fits, searchesMax), searchesMax },
    };
  },
};

/** The tokens of a prompt with the answer that it steers, which is not there yet. */
function withAnswerOf({ call, modelEntry }: ModelRun<"chat">, promptTokens: number): number {
  const { steering } = call.request;
  if (steering === undefined) return promptTokens;
  const context = getContextTokensMax(modelEntry.model) ?? contextTokensDefault;
  return Math.max(promptTokens, Math.min(context, promptTokens + steering.answerTokensMax));
}

/** The upper bound of an answer of a model that declares neither limit. */
const outputTokensDefault = 128_000;

/**
 * A call is refused unless this much output can be paid in addition to its prompt: with less, an answer is of no use.
 */
const firstOutputTokens = 256;

/** The output of each choice that a stream holds at first, and is extended by. */
const stepTokens = 4096;

/** The output that each choice claims of the tokens per minute at first, where a part of it may not be shown. */
const hiddenStepTokens = 16_384;

/** The fewest searches that make a request useful: a request that has other tools is served without searches. */
function searchesMin({ passthrough, bounds: { searchesMax = 0 } }: ModelRun<"chat">): number {
  return searchesMax > 0 && passthrough?.needsSearch === true ? 1 : 0;
}

/**
 * The most tokens of a prompt that is read again after each search, including the search results and the output up to
 * that point. The results of all searches together are bounded if the model's row says so. No prompt is longer than the
 * context.
 */
function promptTokensMax(
  { modelEntry, passthrough }: ModelRun<"chat">,
  sentTokensMax: number,
  { searches, outputTokens }: Searches,
): number {
  const context = getContextTokensMax(modelEntry.model) ?? contextTokensDefault;
  const searchTokens = passthrough?.searchTokensMaxOf(modelEntry) ?? Number.POSITIVE_INFINITY;
  return (searches + 1) * Math.min(context, sentTokensMax + searchTokens + outputTokens);
}

/** A number of searches of the web, and the output that is read again with them. */
interface Searches {
  readonly searches: number;
  readonly outputTokens: number;
}

/**
 * The bounds of all bodies that may be sent: the chat body, for each copy of it, and the body that the client wrote.
 */
export function boundPrompts({ request, modelEntry, passthrough }: ModelRun<"chat">): PromptBound[] {
  const { model, routes } = modelEntry;
  const bounds: PromptBound[] = [];
  if (passthrough !== undefined && routes.some((route) => passthrough.isServedBy(route))) {
    bounds.push(boundPrompt(passthrough.body, passthrough.format.prompt, model));
  }
  if (passthrough?.untranslatable !== undefined) return bounds;
  const bound = boundPrompt(request, chatForm, model);
  const copies = promptCopiesMax(request, modelEntry);
  if (copies === 1) return [...bounds, bound];
  const { inputToken = 0, audioInputToken = 0 } = bound.meters;
  bounds.push({
    ...bound,
    meters: { inputToken: copies * inputToken, audioInputToken: copies * audioInputToken },
  });
  return bounds;
}

/**
 * Whether a part of the output may not be shown. This is assumed of a model that does not declare whether it reasons.
 */
function reasons(run: ModelRun<"chat">): boolean {
  return run.modelEntry.model.reasoning !== false || mayReason(run);
}

/** How many times the prompt is paid for. */
export function promptCopiesMax({ n }: Pick<ChatRequest, "n">, { routes }: ModelEntry): number {
  if (!n || n === 1) return 1;
  return routes.some((route) => needsFanOut(route, { n })) ? n : 1;
}

/**
 * Makes the bounds of a request, of the prompt that is given: the one place where what a chat can use is put together. With
 * lower limits, its prompt is not counted again.
 */
function createBounds(
  run: ModelRun<"chat">,
  { upper, sentTokensMax = Number.POSITIVE_INFINITY }: Pick<RunBounds, "upper" | "sentTokensMax">,
) {
  const { inputToken = 0, audioInputToken = 0 } = upper;
  const { request, modelEntry } = run;
  const copiesMax = promptCopiesMax(request, modelEntry);
  const most = getOutputTokensMax(request, modelEntry);
  const outputMeter = getOutputMeter(request, modelEntry.model);
  const sentTokens = Math.min(inputToken, sentTokensMax);
  return (n: number, outputTokens: number, searches: number): Meters => {
    const output = n * Math.min(most, outputTokens);
    const copies = searches > 0 ? copiesMax : promptCopiesMax({ n }, modelEntry);
    return {
      inputToken: (copies * sentTokens) / copiesMax,
      ...(audioInputToken > 0 && { audioInputToken: (copies * audioInputToken) / copiesMax }),
      [outputMeter]: output,
      ...boundSearches(run, sentTokensMax, { searches, outputTokens: output }),
    };
  };
}

/**
 * Upper bound of a number of searches, including the prompt, which is read again after each; empty without searches.
 */
export function boundSearches(run: ModelRun<"chat">, sentTokensMax: number, web: Searches): Meters {
  if (web.searches === 0) return {};
  return { inputToken: promptTokensMax(run, sentTokensMax, web), webSearch: web.searches };
}

/**
 * Fields of servers of OpenAI's dialect that this API does not have, and that neither lengthen nor multiply an answer,
 * nor request reasoning.
 */
const samplingFields: readonly string[] = [
  "allowed_token_ids",
  "bad_words",
  "documents",
  "guided_choice",
  "guided_json",
  "logit_bias",
  "metadata",
  "min_p",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "prompt_logprobs",
  "repetition_penalty",
  "safety_identifier",
  "service_tier",
  "stop_token_ids",
  "store",
  "structured_outputs",
  "top_a",
  "top_k",
  "truncate_prompt_tokens",
  "typical_p",
  "verbosity",
];

const plainFields: ReadonlySet<string> = new Set([...Object.keys(ChatRequest.properties), ...samplingFields]);

/** The plain fields, and fields that configure how a model thinks within the limit. */
const knownFields: ReadonlySet<string> = new Set([...plainFields, "chat_template_kwargs", "reasoning", "thinking"]);

/**
 * Whether a request may ask for reasoning, which may not be shown: by its effort, by a field that this API does not know, or
 * by the field of the client's own protocol.
 */
function mayReason({ request, passthrough }: ModelRun<"chat">): boolean {
  const { reasoning_effort: effort } = request;
  if (effort && effort !== "none") return true;
  if (effort !== "none" && passthrough?.format.reasoningOf(passthrough.body)) return true;
  for (const name in request) if (!plainFields.has(name) && request[name as keyof ChatRequest] != null) return true;
  return false;
}

/**
 * Whether a request has a number that this API does not know. A server may take it for its limit of the output, as some
 * do `n_predict`: then the limit that is known bounds nothing.
 */
function mayLengthen(request: ChatRequest): boolean {
  for (const name in request) if (!knownFields.has(name)) return hasUnknownNumber(request);
  return false;
}

function hasUnknownNumber(request: ChatRequest): boolean {
  let lengthens = lengthening.get(request);
  if (lengthens === undefined) {
    lengthens = Object.entries(request).some(([name, value]) => !knownFields.has(name) && hasNumber(value));
    lengthening.set(request, lengthens);
  }
  return lengthens;
}

const lengthening = new WeakMap<ChatRequest, boolean>();

/**
 * Whether a value contains a number, also as text, that may be a limit. A number of 0 or less counts, because it often
 * means no limit. A number above 0 and up to 1 does not: it is a switch or a share.
 */
function hasNumber(value: unknown): boolean {
  if (typeof value === "number") return value > 1 || value <= 0;
  if (typeof value === "string") return /^\s*[+-]?[\d.]/.test(value) && hasNumber(Number(value));
  // The runtime takes a third of a second to enumerate a list of 500 000 values as an object's.
  if (Array.isArray(value)) return value.some(hasNumber);
  return typeof value === "object" && value !== null && Object.values(value).some(hasNumber);
}

export function getOutputTokens(request: ChatRequest): number | undefined {
  return request.max_completion_tokens || request.max_tokens || undefined;
}

/** The field that bounds the output, also of a request without a limit, where one is set if its output has to be lowered. */
export function nameOfLimit({ max_completion_tokens }: ChatRequest) {
  return max_completion_tokens ? "max_completion_tokens" : "max_tokens";
}

/**
 * Whether the output may be more than the limit says: another name of it may count, a row or plugin leaves it out, or a plugin
 * does not say that it sends it.
 */
function mayExceed(request: ChatRequest, { routes }: ModelEntry): boolean {
  if (mayLengthen(request)) return true;
  const name = nameOfLimit(request);
  for (const { plugin, model } of routes) {
    if (model.omit?.includes(name) === true) return true;
    if (plugin.handlers.chat?.omits?.(model).includes(name) !== false) return true;
  }
  return false;
}

export function getOutputTokensMax(request: ChatRequest, modelEntry: ModelEntry): number {
  const { model } = modelEntry;
  const max = model.outputTokensMax ?? getContextTokensMax(model);
  const outputTokens = mayExceed(request, modelEntry) ? undefined : getOutputTokens(request);
  if (outputTokens === undefined) return max ?? outputTokensDefault;
  return max === undefined ? outputTokens : Math.min(outputTokens, max);
}

/** Whether a route makes fewer choices per request than are wanted, so each choice needs its own request. */
export function needsFanOut(
  { plugin, model }: Pick<Route, "plugin" | "model">,
  { n }: Pick<ChatRequest, "n">,
): boolean {
  // The Responses protocol has no `n`.
  const most = model.endpoint === "responses" ? 1 : plugin.maxChoices.chat;
  return n !== undefined && n !== null && most !== undefined && n > most;
}

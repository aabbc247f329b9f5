import {
  ChatRequest,
  GatewayError,
  isAmount,
  type Meters,
  type Model,
  type PassthroughFormat,
  type Call as PluginCall,
  UpstreamError,
} from "../../contract/index.ts";
import { largest } from "../admission.ts";
import { Attempt, Call, type ClientRequest, ModelRun, type Passthrough } from "../call.ts";
import { isOfKey, recordRefusedKey, toClientError } from "../failover.ts";
import {
  boundPrompt,
  chatForm,
  contextTokensDefault,
  getContextTokensMax,
  type PromptBound,
} from "../normalize/prompt-bounds.ts";
import { getOutputMeter } from "../normalize/sound.ts";
import { countTokens } from "../normalize/tokenizer.ts";
import { UsageMeter } from "../normalize/usage.ts";
import { type ModelEntry, orderRoutes } from "../routing/registry.ts";
import type { CapabilityHandler, Kernel } from "../types.ts";
import { BoundUpstream } from "../upstream/upstream.ts";
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

/** What models usually make of one choice. */
export const usualTokensPerSecond = 100;
/** Bytes for each token of an answer of which only the size is known. */
const bytesPerToken = 4;

/** What a chat request can use at the most and at the least, and how its hold grows and its limits are lowered. */
export const chatBounds: Pick<
  CapabilityHandler<"chat">,
  "upperBound" | "countPrompt" | "lowerBound" | "growth" | "lower"
> = {
  upperBound(run) {
    const { request, modelEntry, countedTokensMax = Number.POSITIVE_INFINITY } = run;
    const { model } = modelEntry;
    const counted = promptCopiesMax(request, modelEntry) * countedTokensMax;
    const bounds = boundPrompts(run);
    run.isOpenEnded = bounds.some(({ isOpenEnded }) => isOpenEnded);
    run.keepsHour = bounds.some(({ keepsHour }) => keepsHour);
    let [sent, audioInputToken] = [0, 0];
    for (const { meters } of bounds) {
      sent = Math.max(sent, meters.inputToken ?? 0);
      audioInputToken = Math.max(audioInputToken, meters.audioInputToken ?? 0);
    }
    sent = Math.min(counted, sent);
    audioInputToken = Math.min(counted, audioInputToken);
    const searches = run.passthrough?.searchLimitOf(modelEntry) ?? 0;
    setSearches(run, searches);
    run.sentTokensMax = sent;
    // What a search finds stands in the prompt that is read next, so that only the context bounds it.
    run.isOpenEnded ||= searches > 0;
    return {
      inputToken: searches > 0 ? promptTokensMax(run, searches) : sent,
      ...(audioInputToken > 0 && { audioInputToken }),
      ...(searches > 0 && { webSearch: searches }),
      [getOutputMeter(request, model)]: (request.n ?? 1) * getOutputTokensMax(request, modelEntry),
    };
  },

  async countPrompt(kernel, run) {
    // What is searched for cannot be counted before.
    if ((run.passthrough?.searchesMax ?? 0) > 0) return false;
    const bounds = boundPrompts(run);
    if (!bounds.some(({ isOpenEnded }) => isOpenEnded) || bounds.some(({ hasAddress }) => hasAddress)) return false;
    await kernel.ledger.countRequest(run.call.id, run.caller);
    const tokens = await countPrompt(kernel, run);
    run.countedTokensMax = tokens;
    return tokens !== undefined;
  },

  lowerBound: (run, upper) =>
    run.passthrough?.isBounded === false || mayExceed(run.request, run.modelEntry)
      ? upper
      : createLowerBounds(run, upper)(1, firstOutputTokens, searchesMin(run)),

  growth(run, upper) {
    const { sink, request, modelEntry } = run;
    const isSound = getOutputMeter(request, modelEntry.model) !== "outputToken";
    if (sink === undefined || isSound) return undefined;
    const isHidden = reasons(run);
    const toBound = createLowerBounds(run, upper);
    const choices = () => run.request.n ?? 1;
    return {
      stepTokens: choices() * (isHidden ? hiddenStepTokens : stepTokens),
      hiddenTokensPerSecond: isHidden ? choices() * hiddenTokensPerSecond : undefined,
      boundOf: (outputToken) => ({ ...toBound(choices(), 0), outputToken }),
      outputTokensMax: () => choices() * getOutputTokensMax(run.request, modelEntry),
    };
  },

  /**
   * As many searches and then choices as can have a first piece of output, and as much output as all of them can have. A
   * search tool that cannot be paid for is left out.
   */
  lower(run, upper, covers) {
    const { request, modelEntry } = run;
    const toBound = createLowerBounds(run, upper);
    let n = request.n ?? 1;
    const { searchesMax = 0 } = run.passthrough ?? {};
    if (searchesMax > 0) {
      const fitting = largest(
        searchesMax,
        (searches) => searches === 0 || covers(toBound(n, firstOutputTokens, searches)),
      );
      setSearches(run, Math.max(fitting, searchesMin(run)));
    }
    while (n > 1 && !covers(toBound(n, firstOutputTokens))) n--;
    const most = getOutputTokensMax(request, modelEntry);
    const fits = largest(most, (tokens) => tokens === 1 || covers(toBound(n, tokens)));
    const param = nameOfLimit(request);
    run.lowered = { [param]: fits, ...(n !== (request.n ?? 1) && { n }) };
    run.request = { ...request, ...run.lowered };
    run.upper = toBound(n, fits);
  },
};

/** The fewest searches with which a request is of use: where it has other tools, it is served without. */
function searchesMin({ passthrough }: ModelRun<"chat">): number {
  return passthrough !== undefined && passthrough.searchesMax > 0 && passthrough.needsSearch ? 1 : 0;
}

function setSearches({ passthrough }: ModelRun<"chat">, searches: number): void {
  if (passthrough !== undefined) passthrough.searchesMax = searches;
}

/** The most tokens of a prompt that is read once more after each search. */
export function promptTokensMax({ modelEntry }: ModelRun<"chat">, searches: number): number {
  return (searches + 1) * (getContextTokensMax(modelEntry.model) ?? contextTokensDefault);
}

/** The bounds of all bodies that may be sent: that of chat, for each copy of it, and that which the client wrote. */
function boundPrompts({ request, modelEntry, passthrough }: ModelRun<"chat">): PromptBound[] {
  const { model, routes } = modelEntry;
  const bounds: PromptBound[] = [];
  if (passthrough !== undefined && routes.some(({ plugin }) => passthrough.isServedBy(plugin))) {
    bounds.push(boundPrompt(passthrough.body, passthrough.format.prompt, model));
  }
  if (passthrough?.untranslatable !== undefined) return bounds;
  const { meters, ...bound } = boundPrompt(request, chatForm, model);
  const copies = promptCopiesMax(request, modelEntry);
  const { inputToken = 0, audioInputToken = 0 } = meters;
  bounds.push({
    ...bound,
    meters: { inputToken: copies * inputToken, audioInputToken: copies * audioInputToken },
  });
  return bounds;
}

/** Whether a part of the output may not be shown. */
function reasons(run: ModelRun<"chat">): boolean {
  return run.modelEntry.model.reasoning === true || mayReason(run);
}

/**
 * The output that nobody has seen, at the most what is held: of an answer that was cut by its size, what came; of a call that
 * was cut while its model reasons, or before its whole answer came, what is usually made in that time.
 */
export async function estimateUnseen(run: ModelRun<"chat">): Promise<number> {
  const { request, modelEntry, cutAfterMs, sink } = run;
  let tokens = 0;
  for (const { cutBytes, cutText } of run.owedRequests) {
    tokens +=
      cutText === "" ? cutBytes / bytesPerToken : await countTokens(cutText, Math.max(cutBytes, cutText.length));
  }
  if (cutAfterMs !== undefined && run.sent.size > 0 && (reasons(run) || sink === undefined)) {
    const open = run.owedRequests.filter(({ usage }) => usage === undefined).length;
    const choices = promptCopiesMax(request, modelEntry) > 1 ? open : (request.n ?? 1);
    tokens = Math.max(tokens, (cutAfterMs / 1000) * choices * usualTokensPerSecond);
  }
  return Math.min(Math.ceil(tokens), (request.n ?? 1) * getOutputTokensMax(request, modelEntry));
}

/** How many times the prompt is paid for. */
export function promptCopiesMax({ n }: Pick<ChatRequest, "n">, { routes }: ModelEntry): number {
  if (!n || n === 1) return 1;
  return routes.some((route) => needsFanOut(route, { n })) ? n : 1;
}

/** Bounds of the same request with other limits. A long prompt is counted once: its tokens are taken from the upper bound. */
function createLowerBounds(run: ModelRun<"chat">, upper: Meters) {
  const { request, modelEntry } = run;
  const { inputToken = 0, audioInputToken = 0 } = upper;
  const copiesMax = promptCopiesMax(request, modelEntry);
  const most = getOutputTokensMax(request, modelEntry);
  const outputMeter = getOutputMeter(request, modelEntry.model);
  const sentTokens = Math.min(inputToken, run.sentTokensMax);
  return (n: number, outputTokens: number, searches = run.passthrough?.searchesMax ?? 0): Meters => {
    if (searches > 0) {
      return {
        inputToken: promptTokensMax(run, searches),
        ...(audioInputToken > 0 && { audioInputToken }),
        webSearch: searches,
        [outputMeter]: n * Math.min(most, outputTokens),
      };
    }
    const copies = promptCopiesMax({ n }, modelEntry);
    return {
      inputToken: (copies * sentTokens) / copiesMax,
      ...(audioInputToken > 0 && { audioInputToken: (copies * audioInputToken) / copiesMax }),
      [outputMeter]: n * Math.min(most, outputTokens),
    };
  };
}

/**
 * Fields that servers of OpenAI's dialect know beside those of this API, and that neither lengthen nor multiply an answer,
 * nor ask for reasoning.
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
/** Those, and fields that say how a model thinks within the limit. */
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
 * Whether a number stands anywhere in a value, also as text, that may be a limit: one of 0 or less often means none. One
 * above 0 and up to 1 is a switch or a share.
 */
function hasNumber(value: unknown): boolean {
  if (typeof value === "number") return value > 1 || value <= 0;
  if (typeof value === "string") return /^\s*[+-]?[\d.]/.test(value) && hasNumber(Number(value));
  // The platform takes a third of a second for the values of a list of 500 000 where they are asked for as an object's.
  if (Array.isArray(value)) return value.some(hasNumber);
  return typeof value === "object" && value !== null && Object.values(value).some(hasNumber);
}

/** Both names of the output limit mean one value: the smaller one, or a provider could follow the other. */
export function withOneOutputLimit(request: ChatRequest): ChatRequest {
  if (!request.max_tokens || !request.max_completion_tokens) return request;
  const { max_tokens, max_completion_tokens, ...rest } = request;
  return { ...rest, max_completion_tokens: Math.min(max_tokens, max_completion_tokens) };
}

/** A limit above what the model makes, by its row, would not be held for: a provider may keep to what it is sent. */
export function withOutputLimitOf(request: ChatRequest, { outputTokensMax }: Model): ChatRequest {
  const wanted = getOutputTokens(request);
  if (wanted === undefined || outputTokensMax === undefined || wanted <= outputTokensMax) return request;
  return { ...request, [nameOfLimit(request)]: outputTokensMax };
}

export function getOutputTokens(request: ChatRequest): number | undefined {
  return request.max_completion_tokens || request.max_tokens || undefined;
}

/** The field that bounds the output, also of a request without a limit, where one is set if its output has to be lowered. */
function nameOfLimit({ max_completion_tokens }: ChatRequest) {
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
  const wanted = mayExceed(request, modelEntry) ? undefined : getOutputTokens(request);
  if (wanted === undefined) return max ?? outputTokensDefault;
  return max === undefined ? wanted : Math.min(wanted, max);
}

type CountHandler = "countChatTokens" | PassthroughFormat["countHandler"];

/** A count that takes longer is of less use than an estimate. */
const countMsMax = 10_000;
/** Providers call their counts estimates: what is held covers a tenth and so much more. */
const marginTokens = 1000;

/**
 * Asks the provider of a model for the tokens of a request in a protocol of the client's. One route is asked once: nothing
 * is held or charged, and nothing is counted against the route, because a provider may serve calls without being able to
 * count.
 *
 * @returns `undefined` when no route counts, or the provider failed.
 * @throws {GatewayError} When the provider says what is wrong with the request.
 */
export function countPassthrough(
  kernel: Kernel,
  request: ClientRequest,
  modelEntry: ModelEntry,
  { format, body, headers }: Passthrough,
): Promise<number | undefined> {
  return ask(kernel, request, modelEntry, { name: format.countHandler, counted: { body, headers } });
}

/**
 * Asks the provider for the tokens of a prompt of which only the model's context is a bound. It is asked within a call of its
 * own, which goes on when that of the caller is cut.
 *
 * @returns What is sure to cover what the provider bills; `undefined` when no route counts, or the provider failed.
 */
export async function countPrompt(kernel: Kernel, run: ModelRun<"chat">): Promise<number | undefined> {
  const { request, passthrough, modelEntry } = run;
  const isPassed = passthrough !== undefined && modelEntry.routes.some(({ plugin }) => passthrough.isServedBy(plugin));
  // A count of what a legacy request is translated into would miss its functions.
  if (!isPassed && (request.functions || request.messages.some(({ role }) => role === "function"))) return undefined;
  const { memory: _, signal: __, ...counting } = run.call.request;
  try {
    const tokens = isPassed
      ? await countPassthrough(kernel, counting, modelEntry, passthrough)
      : await ask(kernel, counting, modelEntry, { name: "countChatTokens", counted: request });
    return tokens === undefined ? undefined : Math.ceil((tokens * 11) / 10) + marginTokens;
  } catch (error) {
    // What is wrong with the request is told by the call itself.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The plugin's handler that counts, and what it is given. */
interface CountTask {
  readonly name: CountHandler;
  readonly counted: unknown;
}

async function ask(
  kernel: Kernel,
  requested: ClientRequest,
  modelEntry: ModelEntry,
  { name, counted }: CountTask,
): Promise<number | undefined> {
  const { network, now, random = Math.random } = kernel;
  const { accountId } = requested.caller;
  const routes = orderRoutes(modelEntry.routes, now(), random, accountId);
  const route = routes.find(({ plugin }) => plugin.handlers[name] !== undefined);
  const handler = route?.plugin.handlers[name]?.bind(route.plugin.handlers) as Count | undefined;
  if (route === undefined || handler === undefined) return undefined;
  const key = route.keys.take(now());
  const call = new Call(requested);
  const run = new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
  const attempt = new Attempt(run, route, key, now());
  call.setDeadline(network.timeouts, now() + countMsMax);
  try {
    const { model } = route;
    const { signal } = attempt;
    const upstream = new BoundUpstream(network, attempt);
    const warn = () => undefined;
    const tokens = await call.untilCancelled(
      handler({ id: requested.id, request: counted, model, signal, upstream, warn }),
    );
    key?.circuitBreaker.onSuccess();
    return isAmount(tokens) ? tokens : undefined;
  } catch (error) {
    const kind = error instanceof UpstreamError ? error.kind : undefined;
    if (error instanceof UpstreamError && isOfKey(error)) {
      route.circuitBreaker.onSuccess(accountId);
      recordRefusedKey(kernel, route, key, error);
    } else key?.circuitBreaker.onSuccess();
    if (error instanceof GatewayError || kind === "bad_request" || kind === "context_length") {
      throw toClientError(error, run);
    }
    kernel.log.warn("count_failed", { call: requested.id, model: run.model, error });
    return undefined;
  } finally {
    call.clearDeadline(network.timeouts);
    attempt.abort();
  }
}

type Count = (call: PluginCall<unknown>) => Promise<number>;

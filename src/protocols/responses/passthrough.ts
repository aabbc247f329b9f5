import { type CacheMissKind, type ChatUsage, countOutput, isAmount, UpstreamError } from "../../contract/index.ts";
import { CallIds } from "../../lib/call-ids.ts";
import { isRecord, mapChanged } from "../../lib/json.ts";
import {
  type Call,
  type Handlers,
  isFailedFinish,
  type NativeAnswer,
  type NativeRequest,
  type PassthroughFormat,
  scalarsOf,
  toFigures,
} from "../../provider/index.ts";
import { withCoveredLifetimes } from "../cache-marks.ts";
import { toCacheReport } from "../cache-report.ts";
import { type ResponsesOptions, resolveOptions, toBody, withCacheKey } from "../openai/request.ts";
import { withWholeSchema } from "../tool-schema.ts";
import { changeTools, dropPaidTools, hasOnly, listTools, withObjectText, withoutTools } from "../tools.ts";
import { classifyError, classifyResponseFailure } from "../upstream-errors.ts";
import { ResponsesRepair } from "./repair.ts";
import { ResponsesRequest } from "./schema.ts";
import { responsesTurns } from "./socket-turns.ts";

/**
 * Tools that the client runs, or that cost nothing beside the tokens that are counted. The others (searches, containers,
 * images, servers of others) have prices of their own, which no row covers.
 */
const freeTools = new Set([
  "function",
  "custom",
  "namespace",
  "tool_search",
  "local_shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
]);
/** The search of the web that OpenAI runs, by its present name and the dated ones of before. */
const webTool = /^web_search(?:_preview)?(?:_\d[\d_]*)?$/;
const webToolPreview = /^web_search_preview/;
/** The fields of a request to compact. */
const compactFields = new Set(["model", "input", "instructions", "prompt_cache_key", "prompt_cache_retention"]);
const encryptedThoughts = "reasoning.encrypted_content";

type NativeResponses = Pick<Handlers, "responses" | "compactResponse" | "countResponsesTokens">;

/** The handlers of a provider that speaks the Responses protocol itself. */
export function responsesHandlers(defaults: ResponsesOptions): NativeResponses {
  return {
    async responses(call): Promise<NativeAnswer> {
      const options = resolveOptions(defaults, call.model);
      const body = withCacheKey(toResponsesBody(call, options), call, options);
      const { upstream } = call;
      const path = "/responses";
      const init = hasWebSocket(call, options) ? { socketTurns: responsesTurns } : undefined;
      const content = body.stream === true ? await upstream.events(path, body, init) : await upstream.json(path, body);
      return { content: content as NativeAnswer["content"], readUsage: readResponsesUsage };
    },
    ...(defaults.compact === true && {
      async compactResponse(call): Promise<NativeAnswer> {
        const requested = toResponsesBody(call, resolveOptions(defaults, call.model));
        const body = Object.fromEntries(Object.entries(requested).filter(([field]) => compactFields.has(field)));
        const content = await call.upstream.json<Record<string, unknown>>("/responses/compact", body);
        return { content, readUsage: readResponsesUsage };
      },
    }),
    ...(defaults.inputTokens === true && {
      async countResponsesTokens(call): Promise<number> {
        const requested = toResponsesBody(call, resolveOptions(defaults, call.model));
        const { stream: _, store: __, include: ___, ...body } = requested;
        const { input_tokens } = await call.upstream.json<{ input_tokens: number }>("/responses/input_tokens", body);
        return input_tokens;
      },
    }),
  };
}

/** A server of the operator's own has WebSockets only where the model's row says so. */
function hasWebSocket({ model, isOwnServer }: Call<NativeRequest>, options: ResponsesOptions): boolean {
  const ofRow = isRecord(model.options) && model.options.responsesWebSocket === true;
  return options.responsesWebSocket === true && (ofRow || isOwnServer !== true);
}

/**
 * The body to send. Nothing is stored under the operator's account, which all callers share: a model that reasons gives its
 * reasoning to the client instead, sealed.
 */
function toResponsesBody(
  {
    request: { body: requested },
    model,
    keepsLonger,
    warn,
  }: Pick<Call<NativeRequest>, "request" | "model" | "keepsLonger" | "warn">,
  options: ResponsesOptions,
): Record<string, unknown> {
  const pass = ["max_output_tokens", "cache_control", ...(options.pass ?? [])];
  const covered = withCoveredLifetimes(requested, { model, keepsLonger, warn });
  const body = toBody({ request: covered, model, warn }, { ...options, pass });
  body.store = false;
  // It names people's machines and projects.
  if (options.clientMetadata !== true && (body.client_metadata ?? null) !== null) {
    warn("Left out client_metadata, which the provider is not told", "client_metadata");
    delete body.client_metadata;
  }
  if (Array.isArray(body.input)) {
    const lost = body.input.flatMap((item, index) => (isLostThought(item) ? `input[${index}]` : []));
    if (lost.length > 0) {
      warn("Left out reasoning that is not sealed, which the provider would look for in its store", lost);
      body.input = body.input.filter((item) => !isLostThought(item));
    }
  }
  if (Array.isArray(body.input)) body.input = withCallIds(mapChanged(body.input, withReadableCall));
  const include = Array.isArray(body.include) ? body.include : [];
  if (model.reasoning === true && !include.includes(encryptedThoughts)) body.include = [...include, encryptedThoughts];
  changeTools(body, (tool) => withWholeSchema(toPresentSearch(tool)));
  const isCovered = (tool: Record<string, unknown>) =>
    isWebTool(tool)
      ? model.price?.webSearch !== undefined
      : isFree(tool) || options.pass?.includes(tool.type as string) === true;
  dropPaidTools(body, isCovered, warn);
  return body;
}

/** A call whose arguments a server can read, though the model was cut within them. */
function withReadableCall(item: unknown): unknown {
  const isCall = isRecord(item) && item.type === "function_call" && typeof item.arguments === "string";
  return isCall ? withObjectText(item as typeof item & { arguments: string }) : item;
}

/**
 * Items whose calls and outputs have ids that the provider takes, each call one of its own: a client brings those of other providers back.
 */
function withCallIds(items: readonly unknown[]): readonly unknown[] {
  const ids = new CallIds("responses");
  let isAnswered = false;
  return mapChanged(items, (item) => {
    if (!isRecord(item) || typeof item.call_id !== "string") {
      isAnswered = true;
      return item;
    }
    const isCall = typeof item.type === "string" && item.type.endsWith("_call");
    if (isAnswered && isCall) ids.beginAnswer();
    isAnswered = !isCall;
    const id = isCall ? ids.take(item.call_id) : ids.takeResult(item.call_id);
    return id === item.call_id ? item : { ...item, call_id: id };
  });
}

function isFree({ type, environment }: Record<string, unknown>): boolean {
  const isLocal = isRecord(environment) && environment.type === "local";
  return (typeof type === "string" && freeTools.has(type)) || (type === "shell" && isLocal);
}

function isWebTool({ type }: Record<string, unknown>): boolean {
  return typeof type === "string" && webTool.test(type);
}

/**
 * The search by its present name. Under the name of its preview it costs $25 for 1,000 on models that do not reason, and $10
 * on all others. https://developers.openai.com/api/docs/pricing
 */
function toPresentSearch(tool: Record<string, unknown>): Record<string, unknown> {
  if (typeof tool.type !== "string" || !webToolPreview.test(tool.type)) return tool;
  const { search_content_types: _, ...present } = tool;
  return { ...present, type: "web_search" };
}

/** Whether an item of an answer is a search: to open a page that was found, or to look in it, is not charged. */
function isWebSearch(item: unknown): boolean {
  if (!isRecord(item) || item.type !== "web_search_call") return false;
  return !isRecord(item.action) || item.action.type === undefined || item.action.type === "search";
}

/** The fields of a search whose results are bounded by the provider's limit. What others may do to it is not known. */
const searchFields: ReadonlySet<string> = new Set([
  "type",
  "external_web_access",
  "filters",
  "user_location",
  "search_context_size",
  "search_content_types",
  "return_token_budget",
]);

/** Reasoning that the client was not given can only be had from the provider's store, which has none. */
function isLostThought(item: unknown): boolean {
  return isRecord(item) && item.type === "reasoning" && !item.encrypted_content && !item.content;
}

/** The usage of a response: the whole answer, or the one in an event. */
export function readResponsesUsage(part: Record<string, unknown>): ChatUsage | undefined {
  const { usage: reported } = isRecord(part.response) ? part.response : part;
  if (!isRecord(reported)) return undefined;
  const usage = toFigures(reported);
  const { input_tokens: input, output_tokens: written, total_tokens: total } = usage;
  if (typeof input !== "number" || typeof written !== "number") return undefined;
  const output = countOutput({ prompt: input, output: written, total });
  const [inputDetails, outputDetails] = [usage.input_tokens_details, usage.output_tokens_details];
  const { tool_usage: toolUsage } = isRecord(part.response) ? part.response : part;
  const { web_search: web } = isRecord(toolUsage) ? toolUsage : {};
  const { num_requests: searches } = isRecord(web) ? web : {};
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(isRecord(inputDetails) && { prompt_tokens_details: inputDetails }),
    ...(isRecord(outputDetails) && { completion_tokens_details: outputDetails }),
    ...(typeof searches === "number" && { web_search_requests: searches }),
  };
}

/** The events that end a response, and the status that each says where its response has none. */
const lastStatuses: ReadonlyMap<unknown, string> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
]);

/** Its reasons that name what changed. */
const missKinds: ReadonlyMap<string, CacheMissKind> = new Map([
  ["model_changed", "model"],
  ["tools_changed", "tools"],
  ["input_changed", "messages"],
  ["context_compacted", "messages"],
  ...[
    ...["prompt_cache_key_changed", "text_format_changed", "reasoning_effort_changed"],
    ...["verbosity_changed", "service_tier_changed"],
  ].map((reason) => [reason, "settings"] as const),
]);

/** The Responses protocol as the kernel passes its bodies and events through. */
export const responsesFormat: PassthroughFormat = {
  protocol: "responses",
  namesOfChat: {
    messages: ["input", "instructions"],
    max_tokens: ["max_output_tokens"],
    max_completion_tokens: ["max_output_tokens"],
    reasoning_effort: ["reasoning"],
    response_format: ["text"],
    verbosity: ["text"],
    logprobs: ["top_logprobs", "include"],
  },
  countHandler: "countResponsesTokens",
  prompt: {
    list: "input",
    scalars: scalarsOf(ResponsesRequest.properties),
    parts: {
      text: "text",
      input_text: "text",
      output_text: "text",
      refusal: "text",
      summary_text: "text",
      reasoning_text: "text",
      input_image: "image",
      computer_screenshot: "image",
      input_audio: "audio",
      input_file: "file",
    },
    partsMembers: new Set(["content", "output"]),
    // Others may refer to what the provider keeps.
    items: new Set([
      undefined,
      null,
      "message",
      "function_call",
      "function_call_output",
      "custom_tool_call",
      "custom_tool_call_output",
      "tool_search_call",
      "tool_search_output",
      "additional_tools",
      "reasoning",
      "compaction",
      "computer_call",
      "computer_call_output",
      "local_shell_call",
      "local_shell_call_output",
      "shell_call",
      "shell_call_output",
      "apply_patch_call",
      "apply_patch_call_output",
      "web_search_call",
    ]),
    hasSingleParts: true,
    files: "part",
  },
  cacheReportOf(part) {
    const { prompt_cache_diagnostics: diagnostics } = isRecord(part.response) ? part.response : part;
    if (!isRecord(diagnostics)) return undefined;
    const { type, reason = type, cache_missed_tokens: tokens } = diagnostics;
    return toCacheReport(reason, tokens, missKinds);
  },
  reasoningOf: ({ reasoning }) => reasoning,
  tierOf: ({ service_tier: tier }) => tier,
  servedTierOf: ({ service_tier: tier }) => tier,
  searchLimitOf(body) {
    if (!listTools(body).some(isWebTool)) return 0;
    return isAmount(body.max_tool_calls) ? body.max_tool_calls : undefined;
  },
  isSearchBounded: (body) =>
    listTools(body).every((tool) => !isWebTool(tool) || Object.keys(tool).every((field) => searchFields.has(field))),
  hasOnlySearches: (body) => hasOnly(listTools(body), isWebTool),
  withSearchLimit: (body, searches, warn) =>
    searches === 0 ? withoutTools(body, isWebTool, warn) : { ...body, max_tool_calls: searches },
  countSearches({ output, type, item }) {
    if (Array.isArray(output)) return output.filter(isWebSearch).length;
    return type === "response.output_item.done" && isWebSearch(item) ? 1 : 0;
  },
  shortensPrompt: ({ truncation }) => truncation === "auto",
  readError: (body) => classifyError(body),
  outputLimit: "max_output_tokens",
  createRepair: () => new ResponsesRepair(),
  isPrelude: (type) => type === "response.created" || type === "response.in_progress" || type === "response.queued",
  isLast: (type) => typeof type === "string" && lastStatuses.has(type),
  isAnswer: ({ output }) => Array.isArray(output),
  headOf: ({ response }) => (isRecord(response) ? response : undefined),
  errorOf(part) {
    if (part.type === "error") return classifyResponseFailure(part);
    const head = isRecord(part.response) ? part.response : part;
    const hasFailed = head.status === "failed" || isRecord(head.error);
    if (hasFailed) return classifyResponseFailure({ error: head.error ?? {} });
    const isUnbegun = part.type === undefined && (head.status === "in_progress" || head.status === "queued");
    if (!isUnbegun || !Array.isArray(head.output) || head.output.length > 0) return undefined;
    return new UpstreamError("bad_response", `The model gave no answer (${head.status})`);
  },
  readOutput(part, reader) {
    const { delta, response, output, item, type, output_index: index = 0 } = part;
    const place = part.content_index ?? part.summary_index ?? 0;
    if (delta !== undefined) reader.piece(delta, index, place);
    else if (isRecord(response)) {
      // A report needs no estimate beside it.
      const { usage } = response;
      if (!isRecord(usage) || !usage.output_tokens) reader.whole(response.output);
    } else if (Array.isArray(output)) reader.whole(output);
    else if (item !== undefined) {
      reader.whole(item, index);
      if (type === "response.output_item.done") reader.end(index);
    } else {
      const whole = part.part ?? part.text ?? part.refusal ?? part.arguments ?? part.input ?? part.code;
      if (whole !== undefined && /\.(?:added|done)$/.test(String(type))) reader.whole(whole, index, place);
      else reader.piece(part, index, place);
    }
  },
  finishReasonOf(part) {
    const head = isRecord(part.response) ? part.response : part;
    const { status = lastStatuses.get(part.type), incomplete_details: details } = head;
    if (status === "completed") return "stop";
    if (isFailedFinish(status)) return String(status);
    if (status !== "incomplete") return undefined;
    return isRecord(details) && details.reason === "content_filter" ? "content_filter" : "length";
  },
};

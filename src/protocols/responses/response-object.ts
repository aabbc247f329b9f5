import { type ChatUsage, type FinishReason, getOwn } from "../../contract/index.ts";
import type { ResponsePlan } from "./request.ts";
import type { FunctionTool, OutputItem, ResponseObject, ResponseTool, ResponseUsage } from "./schema.ts";

/** What stays the same from the first event of an answer to the last. */
export interface ResponseHead {
  /** `resp_…` */
  id: string;
  /** The public model id. */
  model: string;
  /** Seconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * The head of an answer.
 *
 * @param suffix What follows `resp_` in its id. By default it is random: the id opens a stored response, and others see that
 * of the call in the request log.
 */
export function createResponseHead(model: string, now: () => number, suffix = randomSuffix()): ResponseHead {
  return { id: `resp_${suffix}`, model, createdAt: Math.floor(now() / 1000), now };
}

function randomSuffix(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toHex();
}

/** How an answer ended, or that it has not. */
export interface ResponseOutcome {
  output: OutputItem[];
  finishReason?: FinishReason | undefined;
  error?: { code: string; message: string } | undefined;
  usage?: ChatUsage | undefined;
  serviceTier?: unknown;
}

const incompleteReasons = { length: "max_output_tokens", content_filter: "content_filter" };
const serviceTiers: ReadonlySet<unknown> = new Set("auto default flex scale priority fast ultrafast".split(" "));

/**
 * The part of an answer that repeats the request; it is made once for all events of a stream. As from OpenAI, every field
 * is there: strict clients (Open Responses) refuse an answer without one, and one whose sampling is not a number.
 */
export function toEcho({ request, stored }: ResponsePlan) {
  const { reasoning, text } = request;
  return {
    background: false,
    // The protocol has no such field in a request.
    frequency_penalty: 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    presence_penalty: 0,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    store: stored,
    temperature: request.temperature ?? 1,
    text: { format: text?.format ?? { type: "text" }, ...(text?.verbosity && { verbosity: text.verbosity }) },
    tool_choice: request.tool_choice ?? "auto",
    tools: (request.tools ?? []).map(toEchoedTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: "disabled",
    user: request.user ?? null,
  };
}

/** OpenAI answers with both fields, also where the request has none. */
function toEchoedTool(tool: ResponseTool): ResponseTool {
  if (tool.type !== "function") return tool;
  const { parameters = null, strict = null, ...rest } = tool as FunctionTool;
  return { ...rest, parameters, strict };
}

/** A response: in progress without a finish reason and an error. */
export function buildResponse(
  head: ResponseHead,
  echo: ReturnType<typeof toEcho>,
  { output, finishReason, error, usage, serviceTier }: ResponseOutcome,
): ResponseObject {
  const reason = finishReason === undefined ? undefined : getOwn(incompleteReasons, finishReason);
  const ended = reason === undefined ? "completed" : "incomplete";
  const status = error !== undefined ? "failed" : finishReason === undefined ? "in_progress" : ended;
  return {
    id: head.id,
    object: "response",
    created_at: head.createdAt,
    status,
    completed_at: status === "completed" ? Math.floor(head.now() / 1000) : null,
    error: error ?? null,
    incomplete_details: error === undefined && reason !== undefined ? { reason } : null,
    model: head.model,
    output,
    ...echo,
    service_tier: serviceTiers.has(serviceTier) ? (serviceTier as string) : "default",
    usage: usage ? toResponseUsage(usage) : null,
  };
}

/** Usage in the shape of this protocol, which has no way to say that a figure is unknown: it is 0 then. */
function toResponseUsage(usage: ChatUsage): ResponseUsage {
  const { prompt_tokens: input, completion_tokens: output = 0, cost } = usage;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      cache_write_tokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens ?? input + output,
    ...(cost !== undefined && { cost }),
  };
}

import { type ContextFigures, type ErrorCode, type GatewayError, UpstreamError } from "../../contract/index.ts";
import type { RefusedResponse } from "../../provider/index.ts";
import { classifyRefusal } from "../upstream-errors.ts";
import type { MessagesErrorBody } from "./schema.ts";
import { toSpentHeaders } from "./spend-limit.ts";

interface ErrorRow {
  status: number;
  type: string;
}

/** The type of a refusal by a policy, after which Claude Code leaves out no fields and tries no more. */
const policyBlocked = "policy_blocked";

/**
 * The gateway's errors in Anthropic's words. The status decides what an agent does: it ends at 402, and waits at 429. A 400 Claude
 * Code sends five times more, each without another field, so it stands for what is wrong with the request alone: what has more
 * tokens than may be sent at once is a 429, with `x-should-retry: false`.
 */
const rows: Record<ErrorCode, ErrorRow> = {
  invalid_request: { status: 400, type: "invalid_request_error" },
  context_length_exceeded: { status: 400, type: "invalid_request_error" },
  content_policy_violation: { status: 400, type: policyBlocked },
  request_too_large: { status: 429, type: "rate_limit_error" },
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  invalid_api_key: { status: 401, type: "authentication_error" },
  invalid_session: { status: 401, type: "authentication_error" },
  quota_exceeded: { status: 402, type: "billing_error" },
  insufficient_balance: { status: 402, type: "billing_error" },
  budget_exceeded: { status: 402, type: "billing_error" },
  model_not_allowed: { status: 403, type: "permission_error" },
  forbidden: { status: 403, type: "permission_error" },
  // A 403 Claude Code calls a failed sign-in.
  session_ended: { status: 400, type: policyBlocked },
  model_not_found: { status: 404, type: "not_found_error" },
  not_found: { status: 404, type: "not_found_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  request_timeout: { status: 408, type: "timeout_error" },
  conflict: { status: 409, type: "invalid_request_error" },
  payload_too_large: { status: 413, type: "request_too_large" },
  upgrade_required: { status: 426, type: "invalid_request_error" },
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  upstream_error: { status: 500, type: "api_error" },
  internal_error: { status: 500, type: "api_error" },
  upstream_timeout: { status: 504, type: "timeout_error" },
  unavailable: { status: 529, type: "overloaded_error" },
};

/** An error as a response. `error` in a stream that has begun is the body alone. */
interface MessagesErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: MessagesErrorBody;
}

/**
 * @param requestId The call's id, also in the header `request-id`.
 * @param isProgram Of a program that a person has signed in, which is told of a spent budget as of the limit of a plan.
 */
export function toMessagesError(error: GatewayError, requestId: string, isProgram = false): MessagesErrorResponse {
  const spent = isProgram ? error.budget : undefined;
  const { status, type } = spent === undefined ? toRow(error) : { ...rows[error.code], status: 429 };
  const { code, publicCode } = error;
  // A provider's own code is in `code` alone: its details are not known.
  const isOwn = !(error.cause instanceof UpstreamError);
  const details = isOwn && publicCode !== code && { details: { error_code: publicCode } };
  const body = { type, message: toMessage(error), code: publicCode, ...details };
  return {
    status,
    headers: {
      "request-id": requestId,
      ...error.retryHeaders,
      // Anthropic's SDKs repeat a 409, which helps only while an equal request runs.
      ...(status === 409 && error.retryAfterMs === undefined && { "x-should-retry": "false" }),
      ...(spent !== undefined && toSpentHeaders(spent)),
    },
    body: { type: "error", error: body, request_id: requestId },
  };
}

/**
 * What a provider says of a request stays as it is said where clients act on it: a body that is too large, and a refusal that no other
 * request of the same words gets past. A provider that failed is not overloaded: clients are told to wait only where that helps.
 */
function toRow({ code, publicCode, cause }: GatewayError): ErrorRow {
  if (!(cause instanceof UpstreamError)) return rows[code];
  const { kind, status } = cause;
  if (kind === "overloaded" && (status === 503 || status === 529)) return rows.unavailable;
  if (kind === "bad_request" && status === 413) return rows.payload_too_large;
  return publicCode === policyBlocked ? { ...rows[code], type: policyBlocked } : rows[code];
}

/**
 * Claude Code compacts its conversation when it reads Anthropic's words for one that is too long, or the mark for gateways, and
 * lowers `max_tokens` when it reads those for one that leaves too little room.
 */
function toMessage({ code, message, cause }: GatewayError): string {
  if (code !== "context_length_exceeded") return message;
  const { prompt, answer, max }: ContextFigures = cause instanceof UpstreamError ? cause.contextFigures : {};
  if (prompt !== undefined && max !== undefined) {
    if (prompt > max) return `prompt is too long: ${prompt} tokens > ${max} maximum`;
    const advice = "decrease input length or `max_tokens` and try again";
    if (answer !== undefined) {
      return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${answer} > ${max}, ${advice}`;
    }
  }
  if (/prompt is too long/i.test(message)) return message;
  return `prompt is too long: ${message} (capability_rejected: prompt_too_long)`;
}

/** The fields that a message of the provider can begin with (`tools.0.name: …`), by the names callers know them by. */
const sameParams = ["max_tokens", "messages", "model", "temperature", "tool_choice", "tools", "top_p"];
const otherParams = { metadata: "user", stop_sequences: "stop", system: "messages", thinking: "reasoning_effort" };
const params = new Map([...sameParams.map((name): [string, string] => [name, name]), ...Object.entries(otherParams)]);

/** Reads a refusal. The provider has no codes for what is wrong with a request, so that its message decides, or its type. */
export function readError(answer: RefusedResponse): UpstreamError {
  const error = classifyRefusal(answer);
  if (error.kind !== "bad_request") return error;
  const { message, status, code } = error;
  const field = message.includes("effort level") ? "thinking" : /^[a-z_]+(?=[.:])/.exec(message)?.[0];
  return new UpstreamError("bad_request", message, { status, code, param: params.get(field ?? "") });
}

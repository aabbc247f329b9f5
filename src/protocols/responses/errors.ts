import {
  type ErrorBody,
  type ErrorCode,
  errorTable,
  type GatewayError,
  isOfOperator,
  UpstreamError,
} from "../../contract/index.ts";
import type { NamedEvent } from "../inbound.ts";

/** The HTTP form of an error on this endpoint. */
export interface ResponsesError {
  status: number;
  headers: Record<string, string>;
  body: ErrorBody;
}

interface Difference {
  readonly status: number;
  /** OpenAI's code in place of ours. */
  readonly code?: string;
  /** Absent: the error says when to come again. */
  readonly headers?: Record<string, string>;
}

/**
 * The status that ends the tries of Codex and has it show the answer's words. A 429 of type `insufficient_quota` ends them too, but
 * is shown as a sentence of its own, without the words that say which budget it was and until when.
 */
const final: Difference = { status: 400 };
const overloaded = { status: 503, headers: {}, code: "server_is_overloaded" };

/**
 * How errors differ from the other endpoints, so that clients which try again on most statuses stop where that is of no
 * use. Codex makes one request for a 400, 6 for most others, and 30 for a 5xx: only for a 503 with OpenAI's code for overload
 * and without `retry-after` it makes 5. A wrong key stays a 401, after which clients ask for another token.
 */
const differences: Partial<Record<ErrorCode, Difference>> = {
  quota_exceeded: final,
  insufficient_balance: final,
  budget_exceeded: final,
  model_not_allowed: final,
  forbidden: final,
  session_ended: final,
  payload_too_large: final,
  unsupported_media_type: final,
  upstream_error: overloaded,
  upstream_timeout: overloaded,
  internal_error: overloaded,
  unavailable: overloaded,
};

/** An error before the first event, in OpenAI's envelope; message and type are the gateway's own. */
export function toResponsesError(error: GatewayError): ResponsesError {
  // Only the operator can cure it: Codex makes one request for a 400, and shows the message.
  const difference = isOfOperator(error) ? final : differences[error.code];
  const { error: publicError } = error.toBody();
  return {
    status: difference?.status ?? error.status,
    headers: difference?.headers ?? error.retryHeaders,
    body: { error: { ...publicError, code: difference?.code ?? publicError.code } },
  };
}

/** The `error` of a response that failed. */
export interface ResponseFailure {
  readonly code: string;
  readonly message: string;
  readonly type?: string;
}

/**
 * The `error` of a response that failed after its first event. Codex tries again after any code but a few, and shows the message of
 * only one of these, `invalid_prompt`: it stands for all that no retry cures. What is used up is told apart by its `type`.
 */
export function toFailure(error: GatewayError): ResponseFailure {
  const { code, message, cause } = error;
  const { status, type } = errorTable[code];
  if (code === "context_length_exceeded") return { code, message };
  if (code === "rate_limit_exceeded") return { code, message: withDelay(error) };
  if (type === "insufficient_quota") return { code: "invalid_prompt", message, type };
  if (status < 500 || isOfOperator(error)) return { code: "invalid_prompt", message };
  // A provider of the protocol that is full says so in a word that its clients know.
  const isFull = cause instanceof UpstreamError && cause.code === overloaded.code;
  return { code: isFull ? overloaded.code : "server_error", message };
}

/** Events have no `retry-after`: Codex reads from OpenAI's words how long to wait. */
function withDelay({ message, retryAfterMs }: GatewayError): string {
  if (retryAfterMs === undefined || /try again in \d/i.test(message)) return message;
  return `${message}; try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))}s`;
}

/**
 * The event that ends a stream which was passed through until it broke off. Of an event `error` Codex does not show the words.
 *
 * @param head The response as it was begun.
 * @param sequence The number of the last event.
 */
export function toPassedFailure(error: GatewayError, head: object, sequence: number): NamedEvent {
  const response = { ...head, status: "failed", error: toFailure(error) };
  return { type: "response.failed", sequence_number: sequence + 1, response };
}

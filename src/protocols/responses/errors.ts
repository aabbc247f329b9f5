import { type ErrorBody, type ErrorCode, errorTable, type GatewayError, isOfOperator } from "../../contract/index.ts";
import type { PassedAnswer } from "../../provider/index.ts";
import type { NamedEvent } from "../inbound.ts";

/** The HTTP form of an error on this endpoint. */
export interface ResponsesError {
  status: number;
  headers: Record<string, string>;
  body: ErrorBody;
}

const final = { status: 429, headers: { "x-should-retry": "false" } };
const overloaded = { status: 503, headers: {}, code: "server_is_overloaded" };

/**
 * How errors differ from the other endpoints, so that clients which try again on most statuses stop where that is of no
 * use. Codex makes one request for a 400 and for a 429 of type `insufficient_quota`, 6 for most others, and 30 for a 5xx:
 * only for a 503 with OpenAI's code for overload and without `retry-after` it makes 5.
 */
const differences: Partial<Record<ErrorCode, Omit<ResponsesError, "body"> & { code?: string }>> = {
  quota_exceeded: final,
  insufficient_balance: final,
  budget_exceeded: final,
  model_not_allowed: { status: 400, headers: {} },
  forbidden: { status: 400, headers: {} },
  payload_too_large: { status: 400, headers: {} },
  upstream_error: overloaded,
  upstream_timeout: overloaded,
  unavailable: overloaded,
};

/** An error before the first event, in OpenAI's envelope; message and type are the gateway's own. */
export function toResponsesError(error: GatewayError): ResponsesError {
  // Only the operator can cure it: Codex makes one request for a 400, and shows the message.
  const difference = isOfOperator(error) ? { status: 400, headers: {} } : differences[error.code];
  const { error: publicError } = error.toBody();
  return {
    status: difference?.status ?? error.status,
    headers: difference?.headers ?? error.retryHeaders,
    body: {
      error: {
        ...publicError,
        code: (difference && "code" in difference ? difference.code : undefined) ?? publicError.code,
      },
    },
  };
}

/** The codes that clients act on in a response that failed: all but `server_error` and the rate limit end their tries. */
const failureCodes: Partial<Record<ErrorCode, string>> = {
  context_length_exceeded: "context_length_exceeded",
  rate_limit_exceeded: "rate_limit_exceeded",
};

/** The `error` of a response that failed after its first event. */
export function toFailure({ code, message }: GatewayError): { code: string; message: string } {
  const { type } = errorTable[code];
  const failureCode = failureCodes[code];
  if (failureCode !== undefined) return { code: failureCode, message };
  if (type === "insufficient_quota") return { code: "insufficient_quota", message };
  return { code: errorTable[code].status < 500 ? "invalid_prompt" : "server_error", message };
}

/** The event that ends a stream which was passed through until it broke off. */
export function toPassedFailure(error: GatewayError, answer?: PassedAnswer): NamedEvent {
  const failure = toFailure(error);
  const head = answer?.head;
  const numbered = { sequence_number: head === undefined ? 0 : (answer?.sequence ?? 0) + 1 };
  if (head === undefined) return { type: "error", ...numbered, ...failure, param: error.param ?? null };
  return { type: "response.failed", ...numbered, response: { ...head, status: "failed", error: failure } };
}

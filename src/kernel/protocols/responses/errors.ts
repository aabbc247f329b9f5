import { type ErrorBody, type ErrorCode, errorTable, type GatewayError } from "../../../contract/index.ts";

/** The HTTP form of an error on this endpoint. */
export interface ResponsesError {
  status: number;
  headers: Record<string, string>;
  body: ErrorBody;
}

/**
 * How errors differ from the other endpoints, so that clients which try again on most statuses stop where that is of no
 * use. Codex sends a 403 six times, and one request only for a 400, a 404, and a 429 of type `insufficient_quota`.
 */
const differences: Partial<Record<ErrorCode, { status: number; isFinal?: true }>> = {
  quota_exceeded: { status: 429, isFinal: true },
  insufficient_balance: { status: 429, isFinal: true },
  budget_exceeded: { status: 429, isFinal: true },
  model_not_allowed: { status: 404 },
  forbidden: { status: 404 },
};

/** An error before the first event, in OpenAI's envelope; message, type and code are the gateway's own. */
export function toResponsesError(error: GatewayError): ResponsesError {
  const difference = differences[error.code];
  return {
    status: difference === undefined ? error.status : difference.status,
    // OpenAI's libraries try a 429 again without this.
    headers: difference?.isFinal === true ? { "x-should-retry": "false" } : {},
    body: error.toBody(),
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
  const known = failureCodes[code];
  if (known !== undefined) return { code: known, message };
  if (type === "insufficient_quota") return { code: "insufficient_quota", message };
  return { code: errorTable[code].status < 500 ? "invalid_prompt" : "server_error", message };
}

/** What is known of a native answer that broke off. */
interface BrokenAnswer {
  /** The response as its last event showed it. */
  head?: Record<string, unknown> | undefined;
  /** The number of the last event. */
  sequence: number;
}

/** The event that ends a native stream which broke off, as text. */
export function formatNativeFailure(answer: BrokenAnswer | undefined, error: GatewayError): string {
  const failure = toFailure(error);
  const head = answer?.head;
  const numbered = { sequence_number: head === undefined ? 0 : (answer?.sequence ?? 0) + 1 };
  const event =
    head === undefined
      ? { type: "error", ...numbered, ...failure, param: error.param ?? null }
      : { type: "response.failed", ...numbered, response: { ...head, status: "failed", error: failure } };
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

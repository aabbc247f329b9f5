import { type ContextFigures, readContextFigures } from "./context-length.ts";

/**
 * All errors that a request to the gateway can end with, one row per code. HTTP status and OpenAI `type` follow from
 * the code, so no other file chooses a status. A test compares the table with docs/api.md.
 */
export const errorTable = {
  invalid_request: { status: 400, type: "invalid_request_error" },
  model_not_found: { status: 400, type: "invalid_request_error" },
  context_length_exceeded: { status: 400, type: "invalid_request_error" },
  content_policy_violation: { status: 400, type: "invalid_request_error" },
  request_too_large: { status: 400, type: "invalid_request_error" },
  invalid_api_key: { status: 401, type: "invalid_request_error" },
  invalid_session: { status: 401, type: "invalid_request_error" },
  quota_exceeded: { status: 403, type: "insufficient_quota" },
  insufficient_balance: { status: 403, type: "insufficient_quota" },
  budget_exceeded: { status: 403, type: "insufficient_quota" },
  model_not_allowed: { status: 403, type: "permission_error" },
  forbidden: { status: 403, type: "permission_error" },
  session_ended: { status: 403, type: "permission_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  request_timeout: { status: 408, type: "invalid_request_error" },
  conflict: { status: 409, type: "invalid_request_error" },
  payload_too_large: { status: 413, type: "invalid_request_error" },
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  upgrade_required: { status: 426, type: "invalid_request_error" },
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  upstream_error: { status: 500, type: "upstream_error" },
  upstream_timeout: { status: 500, type: "upstream_error" },
  internal_error: { status: 500, type: "server_error" },
  unavailable: { status: 503, type: "server_error" },
} as const satisfies Record<string, { status: number; type: string }>;

export type ErrorCode = keyof typeof errorTable;

/** The limit that refused a call. */
export interface ReachedLimit {
  readonly name: "requests_per_minute" | "tokens_per_minute" | "concurrent_calls";
  readonly owner: "account" | "key";
  /** The id of the model whose calls it counts; absent: all models. */
  readonly model?: string | undefined;
  /** Name that the caller uses for the model; absent: its id. */
  readonly modelName?: string | undefined;
}

/** A spent budget that begins anew. */
export interface SpentBudget {
  readonly period: "day" | "week" | "month";
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/** Details of a {@link GatewayError} in addition to its message. */
export interface ErrorDetails {
  /** The request field at fault, as a path: `messages[0].role`. */
  param?: string | undefined;
  /** After how many milliseconds a retry can succeed; becomes `retry-after` in whole seconds. */
  retryAfterMs?: number | undefined;
  /** The limit of the caller that is reached; becomes `x-modelgate-limit`. */
  limit?: ReachedLimit | undefined;
  /** The budget that is spent. */
  budget?: SpentBudget | undefined;
  /** A provider's or an SDK's own code, shown in place of ours (the status stays ours). */
  publicCode?: string | undefined;
  cause?: unknown;
}

/** The JSON body of every failed answer, OpenAI's shape: all four members always there. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

/**
 * The only error that a caller of the gateway sees. It is thrown wherever the problem is noticed; only
 * `http/lifecycle/errors.ts` makes a response of it. The message says what was wrong, what was expected and what to do.
 *
 * @example
 * const error = new GatewayError("invalid_request", "n is 9, but this model takes at most 4", { param: "n" });
 * error.status; // => 400
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly limit: ReachedLimit | undefined;
  readonly budget: SpentBudget | undefined;
  readonly publicCode: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "GatewayError";
    this.code = code;
    this.param = details.param;
    this.retryAfterMs = details.retryAfterMs;
    this.limit = details.limit;
    this.budget = details.budget;
    this.publicCode = details.publicCode ?? code;
  }

  /** The HTTP status of this error's code. */
  get status(): number {
    return errorTable[this.code].status;
  }

  /** Header with the time until a retry; empty if the time is unknown. */
  get retryHeaders(): Record<string, string> {
    if (this.retryAfterMs === undefined) return {};
    return { "retry-after": String(Math.max(1, Math.ceil(this.retryAfterMs / 1000))) };
  }

  /** The error in OpenAI's shape: the body of a JSON answer, or the data of an error event in a stream. */
  toBody(): ErrorBody {
    const type = errorTable[this.code].type;
    return { error: { message: this.message, type, param: this.param ?? null, code: this.publicCode } };
  }
}

/**
 * Makes the error for a request that the provider cannot serve (400 `invalid_request`). The caller throws it.
 *
 * @param param The field at fault, as a path: `messages[0].content[1].image_url.url`.
 *
 * @example
 * const error = badRequest("This model takes no images", "messages[0].content");
 * [error.code, error.status, error.param]; // => ["invalid_request", 400, "messages[0].content"]
 */
export function badRequest(message: string, param: string | undefined): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

/**
 * How a provider failed, told apart by what the gateway does next (wire facts: each provider's error table):
 *
 * | kind | meaning | tried elsewhere? | the caller sees |
 * |---|---|---|---|
 * | `bad_request` | the request itself is wrong | no | 400 with the provider's message |
 * | `context_length` | more tokens than the model takes | no | 400 `context_length_exceeded` |
 * | `model_not_found` | the provider does not have the model (any more) | next route | 400 `model_not_found` |
 * | `auth` | our credential was refused | next key | 500, never the provider's words |
 * | `insufficient_quota` | our account there is used up | next key | 500, never the provider's words |
 * | `rate_limited` | rate limited, retry later | next key | 429 with `retry-after` |
 * | `request_too_large` | more tokens than our account there may send at once | next route | 400, and no retry |
 * | `overloaded` | it has too much to do (503, 529) | yes | 500 |
 * | `server_error` | it failed (500, 502) | yes | 500 |
 * | `bad_response` | no answer, or one that cannot be read | see below | 500 |
 * | `timeout` | no byte in the time allowed | see below | 500 `upstream_timeout` |
 *
 * After `bad_response` and `timeout` a request that was sent whole is not sent again: the provider may be working on it and
 * would bill it. It is tried elsewhere when no connection came about, or when `status` is an error (3xx to 5xx, `bad_response`).
 */
export type UpstreamErrorKind =
  | "bad_request"
  | "context_length"
  | "model_not_found"
  | "auth"
  | "insufficient_quota"
  | "rate_limited"
  | "request_too_large"
  | "overloaded"
  | "server_error"
  | "bad_response"
  | "timeout";

/** Details of a provider's failure. */
export interface UpstreamErrorDetails {
  /** The provider's HTTP status; absent when no answer came. */
  status?: number | undefined;
  /** The request field the provider named. */
  param?: string | undefined;
  /** The provider's own code (`context_length_exceeded`, `invalid_image_url` …). */
  code?: string | undefined;
  /** When the provider said a retry can succeed, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  /** Figures of a `context_length`, where they are not in its message. */
  contextFigures?: ContextFigures | undefined;
  /**
   * The provider works, but its answer to this request cannot be used: it is longer than can be read, or the model ended it
   * without words. A caller can choose such requests, so it does not count against the route.
   */
  isOfRequest?: boolean;
  cause?: unknown;
}

/**
 * A provider's failure, before the gateway has decided what it means for the caller.
 *
 * @example
 * new UpstreamError("bad_response", "The stream ended before its answer did").kind; // => "bad_response"
 */
export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  readonly status: number | undefined;
  readonly param: string | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** How long the prompt of a `context_length` is; empty for other kinds. */
  readonly contextFigures: ContextFigures;
  readonly isOfRequest: boolean;
  /**
   * The provider's own message, where `message` is the gateway's: for administrators alone, because it may name the
   * operator's account. Set by the kernel, which has hidden the keys in it.
   */
  providerMessage: string | undefined = undefined;

  constructor(kind: UpstreamErrorKind, message: string, details: UpstreamErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "UpstreamError";
    this.kind = kind;
    this.status = details.status;
    this.param = details.param;
    this.code = details.code;
    this.retryAfterMs = details.retryAfterMs;
    this.contextFigures = details.contextFigures ?? (kind === "context_length" ? readContextFigures(message) : {});
    this.isOfRequest = details.isOfRequest === true;
  }
}

/** Whether an error is caused by the gateway's own credential or account at a provider: no caller can fix it. */
export function isOfOperator({ cause }: Error): boolean {
  return cause instanceof UpstreamError && (cause.kind === "auth" || cause.kind === "insufficient_quota");
}

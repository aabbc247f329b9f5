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
 * | `overloaded` | it is overloaded or down | yes | 500 |
 * | `bad_response` | no answer, or one that cannot be read | see below | 500 |
 * | `timeout` | no byte in the time allowed | see below | 500 `upstream_timeout` |
 *
 * After `bad_response` and `timeout` a request that was sent whole is not sent again: the provider may be working on it and
 * would bill it. It is tried elsewhere when no connection came about, or when `status` is an error (3xx to 5xx, `bad_response`).
 */
export type FaultKind =
  | "bad_request"
  | "context_length"
  | "model_not_found"
  | "auth"
  | "insufficient_quota"
  | "rate_limited"
  | "request_too_large"
  | "overloaded"
  | "bad_response"
  | "timeout";

/** What is known of a provider's failure. */
export interface FaultDetails {
  /** The provider's HTTP status; absent when no answer came. */
  status?: number | undefined;
  /** The request field the provider named. */
  param?: string | undefined;
  /** The provider's own code (`context_length_exceeded`, `invalid_image_url` …). */
  code?: string | undefined;
  /** When the provider said a retry can succeed, in milliseconds from now. */
  retryAfterMs?: number | undefined;
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
 * new UpstreamFault("bad_response", "The stream ended before its answer did").kind; // => "bad_response"
 */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  readonly status: number | undefined;
  readonly param: string | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isOfRequest: boolean;
  /**
   * What the provider itself said, where `message` is the gateway's: for administrators alone, because it may name the
   * operator's account. Set by the kernel, which has hidden the keys in it.
   */
  providerMessage: string | undefined = undefined;

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "UpstreamFault";
    this.kind = kind;
    this.status = details.status;
    this.param = details.param;
    this.code = details.code;
    this.retryAfterMs = details.retryAfterMs;
    this.isOfRequest = details.isOfRequest === true;
  }
}

/** Whether an error comes from the gateway's own credential or account at a provider, so that no caller can cure it. */
export function isOfOperator({ cause }: Error): boolean {
  return cause instanceof UpstreamFault && (cause.kind === "auth" || cause.kind === "insufficient_quota");
}

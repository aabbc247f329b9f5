import { formatUsd, type LimitState } from "../../contract/index.ts";
import type { CallContext } from "../../kernel/index.ts";

export type ResponseHeaders = Record<string, string>;

/** The state of the rate limits by the names that OpenAI's clients read; resets are seconds with the unit `s`. */
export function limitHeaders(limits: LimitState): ResponseHeaders {
  return {
    "x-ratelimit-limit-requests": String(limits.limitRequests),
    "x-ratelimit-remaining-requests": String(limits.remainingRequests),
    "x-ratelimit-reset-requests": seconds(limits.resetRequestsMs),
    "x-ratelimit-limit-tokens": String(limits.limitTokens),
    "x-ratelimit-remaining-tokens": String(limits.remainingTokens),
    "x-ratelimit-reset-tokens": seconds(limits.resetTokensMs),
  };
}

/** The headers of a call's response. The cost is known only for a whole answer. */
export function callHeaders(call: CallContext, sandbox: boolean, contentType: string): ResponseHeaders {
  const { hold, route, costNanodollars } = call;
  const headers = hold === undefined ? {} : limitHeaders(hold.limits);
  headers["content-type"] = contentType;
  headers["x-content-type-options"] = "nosniff";
  headers["x-request-id"] = call.id;
  if (call.clientRequestId !== undefined) headers["x-client-request-id"] = call.clientRequestId;
  if (route !== undefined) {
    headers["x-modelgate-route"] = route;
    headers["x-modelgate-attempts"] = String(call.attempts);
  }
  if (costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(costNanodollars);
  if (call.ignored.size > 0) headers["x-modelgate-ignored"] = [...call.ignored].join(", ");
  if (sandbox || route === "sandbox") headers["x-modelgate-sandbox"] = "true";
  return headers;
}

/** UUIDs, ULIDs, base64, paths. Others are ignored. */
const clientRequestIdForm = /^[\w.:/+=@-]{1,128}$/;

/** The client's own `x-request-id`, if it is safe in a header and a log line. */
export function readClientRequestId({ headers }: Request): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && clientRequestIdForm.test(given) ? given : undefined;
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms)) / 1000}s`;
}

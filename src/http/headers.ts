import { formatUsd, type LimitState } from "../contract/index.ts";
import type { Progress } from "../kernel/index.ts";

export type ResponseHeaders = Record<string, string>;

/** The state of the account's limits, by the names OpenAI's clients read; resets are seconds with the unit `s`. */
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

/** What is known of a call when its answer begins; the cost only when the answer is whole. */
export function callHeaders(progress: Progress, sandbox: boolean, contentType: string): ResponseHeaders {
  const { hold, route, costNanodollars } = progress;
  const headers = hold === undefined ? {} : limitHeaders(hold.limits);
  headers["content-type"] = contentType;
  headers["x-content-type-options"] = "nosniff";
  headers["x-request-id"] = progress.id;
  if (route !== undefined) {
    headers["x-modelgate-route"] = route;
    headers["x-modelgate-attempts"] = String(progress.attempts);
  }
  if (costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(costNanodollars);
  if (sandbox || route === "sandbox") headers["x-modelgate-sandbox"] = "true";
  return headers;
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms)) / 1000}s`;
}

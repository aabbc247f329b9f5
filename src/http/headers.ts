import { formatUsd, type LimitState } from "../contract/index.ts";
import type { Progress } from "../kernel/index.ts";

type Headers = Record<string, string | number>;

/** The state of the account's limits, by the names OpenAI's clients read; resets are seconds with the unit `s`. */
export function putLimits(headers: Headers, limits: LimitState): void {
  headers["x-ratelimit-limit-requests"] = limits.limitRequests;
  headers["x-ratelimit-remaining-requests"] = limits.remainingRequests;
  headers["x-ratelimit-reset-requests"] = seconds(limits.resetRequestsMs);
  headers["x-ratelimit-limit-tokens"] = limits.limitTokens;
  headers["x-ratelimit-remaining-tokens"] = limits.remainingTokens;
  headers["x-ratelimit-reset-tokens"] = seconds(limits.resetTokensMs);
}

/** What is known of a call when its answer begins; the cost only when the answer is whole. */
export function putProgress(headers: Headers, progress: Progress, sandbox: boolean): void {
  if (progress.hold !== undefined) putLimits(headers, progress.hold.limits);
  if (progress.route !== undefined) headers["x-modelgate-route"] = progress.route;
  if (progress.costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(progress.costNanodollars);
  if (sandbox || progress.route === "sandbox") headers["x-modelgate-sandbox"] = "true";
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms)) / 1000}s`;
}

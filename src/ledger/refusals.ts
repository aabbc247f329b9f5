import { type Claim, formatUsd, GatewayError } from "../contract/index.ts";

/** How long a caller should wait when the books cannot be written. */
const unavailableRetryMs = 1000;
/** When a running call ends is not known. */
const callsRetryMs = 1000;

export function requestsExceeded(limit: number, waitMs: number): GatewayError {
  return new GatewayError(
    "rate_limit_exceeded",
    `Request limit reached: ${limit} requests a minute for this account; try again in ${seconds(waitMs)}`,
    { retryAfterMs: waitMs },
  );
}

export function tokensExceeded(claim: Claim, waitMs: number): GatewayError {
  const limit = claim.caller.limits.tokensPerMinute;
  return new GatewayError(
    "rate_limit_exceeded",
    `Token limit reached: ${limit} tokens a minute for this account, and this request has ${claim.limitTokens}; try again in ${seconds(waitMs)}`,
    { retryAfterMs: waitMs },
  );
}

export function callsExceeded(limit: number): GatewayError {
  return new GatewayError(
    "rate_limit_exceeded",
    `Concurrency limit reached: ${limit} calls at once for this account; try again when one of them has ended`,
    { retryAfterMs: callsRetryMs },
  );
}

export function quotaExceeded(quota: { limit: number; used: number; held: number }, resetsAt: number, now: number) {
  return new GatewayError(
    "quota_exceeded",
    `Daily token quota reached: ${quota.limit} free tokens a day, ${quota.used} used and ${quota.held} held by running calls; it resets at ${new Date(resetsAt).toISOString()}`,
    { retryAfterMs: Math.max(0, resetsAt - now) },
  );
}

export function balanceExceeded(model: string, balanceNanodollars: number, heldNanodollars: number): GatewayError {
  const cure =
    heldNanodollars > 0
      ? "wait for running calls to end, give them a smaller max_tokens, or credit the wallet"
      : "credit the wallet, or use a model that is not premium";
  return new GatewayError(
    "insufficient_balance",
    `Insufficient balance for the premium model ${model}: the wallet has ${formatUsd(balanceNanodollars)} USD, of which ${formatUsd(heldNanodollars)} USD is held by running calls; ${cure}`,
  );
}

export function booksUnavailable(what: string, cause?: unknown): GatewayError {
  return new GatewayError("unavailable", what, { retryAfterMs: unavailableRetryMs, cause });
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 100) / 10} s`;
}

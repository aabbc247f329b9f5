import type { KeyLimits, LimitState, Limits } from "../contract/index.ts";
import { requestsExceeded, tokensExceeded } from "./limit-errors.ts";

const minuteMs = 60_000;

/** Rounding errors in sums of fractions of a minute are smaller than this. */
const toleranceMs = 0.001;

/** Limits per minute of an account or of one of its keys; an absent one does not apply. */
export type Rates = Pick<KeyLimits, "requestsPerMinute" | "tokensPerMinute">;

/** The used part of limits per minute, as milliseconds until all of it is free again. */
export interface Backlogs {
  requestsMs: number;
  tokensMs: number;
}

/**
 * The requests and tokens per minute that an account or one of its keys has used, by GCRA: each unit adds its share of a
 * minute to a backlog, which drains in real time. The backlog is measured in time instead of units, so that callers with
 * different limits can share it.
 */
export class RateLimit {
  #requestsMs = 0;
  #tokensMs = 0;
  #drainedAt = 0;

  /** Replaces the backlogs by those that are stored elsewhere. */
  restore({ requestsMs, tokensMs }: Backlogs, now: number): void {
    this.#requestsMs = requestsMs;
    this.#tokensMs = tokensMs;
    this.#drainedAt = now;
  }

  /** @throws {GatewayError} `rate_limit_exceeded` when a call with this many tokens does not fit now. */
  check(tokens: number, { requestsPerMinute, tokensPerMinute }: Rates, owner: "account" | "key", now: number): void {
    this.#drain(now);
    if (requestsPerMinute !== undefined) {
      const waitMs = waitMsFor(this.#requestsMs, 1, requestsPerMinute);
      if (waitMs > 0) throw requestsExceeded(requestsPerMinute, waitMs, owner);
    }
    if (tokensPerMinute === undefined) return;
    const waitMs = waitMsFor(this.#tokensMs, tokens, tokensPerMinute);
    if (waitMs > 0) throw tokensExceeded({ limit: tokensPerMinute, limitTokens: tokens }, waitMs, owner);
  }

  /** Adds requests and tokens, also beyond the limit; negative numbers are returned to it. */
  add(requests: number, tokens: number, rates: Rates, now: number): void {
    this.#drain(now);
    const { requestsMs, tokensMs } = toBacklogs(requests, tokens, rates);
    if (requestsMs !== undefined) this.#requestsMs = Math.max(0, this.#requestsMs + requestsMs);
    if (tokensMs !== undefined) this.#tokensMs = Math.max(0, this.#tokensMs + tokensMs);
  }

  isEmpty(now: number): boolean {
    this.#drain(now);
    return this.#requestsMs === 0 && this.#tokensMs === 0;
  }

  state({ requestsPerMinute, tokensPerMinute }: Limits, now: number): LimitState {
    this.#drain(now);
    return {
      limitRequests: requestsPerMinute,
      remainingRequests: remainingUnits(this.#requestsMs, requestsPerMinute),
      resetRequestsMs: this.#requestsMs,
      limitTokens: tokensPerMinute,
      remainingTokens: remainingUnits(this.#tokensMs, tokensPerMinute),
      resetTokensMs: this.#tokensMs,
    };
  }

  /** The limits of an account, each replaced by the one of its key if less is left of that. */
  narrow(account: LimitState, { requestsPerMinute, tokensPerMinute }: Rates, now: number): LimitState {
    this.#drain(now);
    const narrowed = { ...account };
    if (requestsPerMinute !== undefined) {
      const remaining = remainingUnits(this.#requestsMs, requestsPerMinute);
      if (remaining <= account.remainingRequests) {
        narrowed.limitRequests = requestsPerMinute;
        narrowed.remainingRequests = remaining;
        narrowed.resetRequestsMs = this.#requestsMs;
      }
    }
    if (tokensPerMinute !== undefined) {
      const remaining = remainingUnits(this.#tokensMs, tokensPerMinute);
      if (remaining <= account.remainingTokens) {
        narrowed.limitTokens = tokensPerMinute;
        narrowed.remainingTokens = remaining;
        narrowed.resetTokensMs = this.#tokensMs;
      }
    }
    return narrowed;
  }

  /** When the clock steps back, nothing drains, and draining continues from the new time. */
  #drain(now: number): void {
    const elapsedMs = now - this.#drainedAt;
    if (elapsedMs > 0) {
      this.#requestsMs = Math.max(0, this.#requestsMs - elapsedMs);
      this.#tokensMs = Math.max(0, this.#tokensMs - elapsedMs);
    }
    this.#drainedAt = now;
  }
}

/** What requests and tokens add to the backlogs; `undefined` without a limit. */
export function toBacklogs(
  requests: number,
  tokens: number,
  { requestsPerMinute, tokensPerMinute }: Rates,
): { requestsMs: number | undefined; tokensMs: number | undefined } {
  return {
    requestsMs: requestsPerMinute === undefined ? undefined : (requests * minuteMs) / requestsPerMinute,
    tokensMs: tokensPerMinute === undefined ? undefined : (tokens * minuteMs) / tokensPerMinute,
  };
}

/** Milliseconds until `units` fit; 0 when they fit now. Units beyond the limit fit when nothing is used. */
function waitMsFor(backlogMs: number, units: number, limit: number): number {
  const waitMs = backlogMs + (Math.min(units, limit) * minuteMs) / limit - minuteMs;
  return waitMs <= toleranceMs ? 0 : waitMs;
}

/** Whole units that fit now. */
function remainingUnits(backlogMs: number, limit: number): number {
  const units = Math.floor(((minuteMs - backlogMs + toleranceMs) * limit) / minuteMs);
  return Math.min(limit, Math.max(0, units));
}

import type { Claim, KeyBounds, LimitState } from "../contract/index.ts";
import { MinuteLimit } from "./minute-limit.ts";
import { requestsExceeded, tokensExceeded } from "./refusals.ts";

/** What a key has used of limits per minute of its own: apart from its account's, so that it does not use up those. */
export class KeyLimits {
  readonly #requests = new MinuteLimit();
  readonly #tokens = new MinuteLimit();

  /** Takes over what another keeps, in milliseconds of backlog. */
  restore(requestsMs: number, tokensMs: number, now: number): void {
    this.#requests.restore(requestsMs, now);
    this.#tokens.restore(tokensMs, now);
  }

  /** @throws {GatewayError} When the call does not fit now. */
  check({ limitTokens }: Claim, { requestsPerMinute, tokensPerMinute }: KeyBounds, now: number): void {
    if (requestsPerMinute !== undefined) {
      const wait = this.#requests.waitMs(1, requestsPerMinute, now);
      if (wait > 0) throw requestsExceeded(requestsPerMinute, wait, "key");
    }
    if (tokensPerMinute === undefined) return;
    const wait = this.#tokens.waitMs(limitTokens, tokensPerMinute, now);
    if (wait > 0) throw tokensExceeded({ limit: tokensPerMinute, limitTokens }, wait, "key");
  }

  /** Counts a call; negative numbers give it back. */
  add(requests: number, tokens: number, { requestsPerMinute, tokensPerMinute }: KeyBounds, now: number): void {
    if (requestsPerMinute !== undefined) this.#requests.add(requests, requestsPerMinute, now);
    if (tokensPerMinute !== undefined) this.#tokens.add(tokens, tokensPerMinute, now);
  }

  isEmpty(now: number): boolean {
    return this.#requests.resetMs(now) === 0 && this.#tokens.resetMs(now) === 0;
  }

  /** The state of the account's limits, or of the key's own where fewer are left of them. */
  narrow(limits: LimitState, { requestsPerMinute, tokensPerMinute }: KeyBounds, now: number): LimitState {
    const narrowed = { ...limits };
    if (requestsPerMinute !== undefined) {
      const remaining = this.#requests.remaining(requestsPerMinute, now);
      if (remaining <= limits.remainingRequests) {
        narrowed.limitRequests = requestsPerMinute;
        narrowed.remainingRequests = remaining;
        narrowed.resetRequestsMs = this.#requests.resetMs(now);
      }
    }
    if (tokensPerMinute !== undefined) {
      const remaining = this.#tokens.remaining(tokensPerMinute, now);
      if (remaining <= limits.remainingTokens) {
        narrowed.limitTokens = tokensPerMinute;
        narrowed.remainingTokens = remaining;
        narrowed.resetTokensMs = this.#tokens.resetMs(now);
      }
    }
    return narrowed;
  }
}

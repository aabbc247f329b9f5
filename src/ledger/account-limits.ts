import type { Claim, LimitState, Limits } from "../contract/index.ts";
import { MinuteLimit } from "./minute-limit.ts";
import { requestsExceeded, tokensExceeded } from "./refusals.ts";

/** What an account has used of its limits per minute. */
export class AccountLimits {
  readonly #requests = new MinuteLimit();
  readonly #tokens = new MinuteLimit();

  /** Takes over what another keeps, in milliseconds of backlog. */
  restore(requestsMs: number, tokensMs: number, now: number): void {
    this.#requests.restore(requestsMs, now);
    this.#tokens.restore(tokensMs, now);
  }

  /** @throws {GatewayError} When the call does not fit now. */
  check(claim: Claim, now: number): void {
    const { requestsPerMinute, tokensPerMinute } = claim.caller.limits;
    const requestsWait = this.#requests.waitMs(1, requestsPerMinute, now);
    if (requestsWait > 0) throw requestsExceeded(requestsPerMinute, requestsWait);
    const tokensWait = this.#tokens.waitMs(claim.limitTokens, tokensPerMinute, now);
    if (tokensWait > 0) {
      throw tokensExceeded({ limit: tokensPerMinute, limitTokens: claim.limitTokens }, tokensWait);
    }
  }

  /** Counts a call; negative numbers give it back. */
  add(requests: number, tokens: number, limits: Limits, now: number): void {
    this.#requests.add(requests, limits.requestsPerMinute, now);
    this.#tokens.add(tokens, limits.tokensPerMinute, now);
  }

  /** Whether nothing of them is used. */
  isEmpty(now: number): boolean {
    return this.#requests.resetMs(now) === 0 && this.#tokens.resetMs(now) === 0;
  }

  state({ requestsPerMinute, tokensPerMinute }: Limits, now: number): LimitState {
    return {
      limitRequests: requestsPerMinute,
      remainingRequests: this.#requests.remaining(requestsPerMinute, now),
      resetRequestsMs: this.#requests.resetMs(now),
      limitTokens: tokensPerMinute,
      remainingTokens: this.#tokens.remaining(tokensPerMinute, now),
      resetTokensMs: this.#tokens.resetMs(now),
    };
  }
}

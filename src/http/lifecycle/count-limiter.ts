import { RateLimiter } from "../../accounts/index.ts";
import type { HttpCall } from "./http-call.ts";

/** Limits the free counts of tokens, by account in this process, to as many a minute as there may be calls. */
export class CountLimiter {
  readonly #limits: RateLimiter;

  constructor(now: () => number) {
    this.#limits = new RateLimiter(0, now, { what: "counts of tokens" });
  }

  /** @throws {GatewayError} `rate_limit_exceeded` */
  take({ caller: { accountId, limits } }: HttpCall): void {
    this.#limits.take(accountId, limits.requestsPerMinute);
  }
}

import { LRUCache } from "lru-cache";
import { GatewayError } from "../contract/index.ts";

const trackedMax = 10_000;
const minuteMs = 60_000;

interface RateLimiterOptions {
  readonly windowMs?: number;
  /** What is counted, for the error message. */
  readonly what?: string;
}

/** Limits attempts in a fixed window, a minute by default, to prevent guessing of passwords. */
export class RateLimiter {
  readonly #attempts = new LRUCache<string, { count: number; endsAt: number }>({ max: trackedMax });
  readonly #max: number;
  readonly #now: () => number;
  readonly #windowMs: number;
  readonly #what: string;

  constructor(max: number, now: () => number, options: RateLimiterOptions = {}) {
    this.#max = max;
    this.#now = now;
    this.#windowMs = options.windowMs ?? minuteMs;
    this.#what = options.what ?? "attempts from here";
  }

  /** Counts an attempt of a client or another key. @throws {GatewayError} `rate_limit_exceeded` */
  take(key: string): void {
    const now = this.#now();
    const known = this.#attempts.get(key);
    if (known === undefined || known.endsAt <= now) {
      this.#attempts.set(key, { count: 1, endsAt: now + this.#windowMs });
      return;
    }
    known.count += 1;
    if (known.count <= this.#max) return;
    const retryAfterMs = known.endsAt - now;
    const span = this.#windowMs === minuteMs ? "a minute" : `in ${this.#windowMs / minuteMs} minutes`;
    const sentence = `Too many ${this.#what}, at most ${this.#max} ${span}; try again in ${Math.ceil(retryAfterMs / 1000)} s`;
    throw new GatewayError("rate_limit_exceeded", sentence, { retryAfterMs });
  }
}

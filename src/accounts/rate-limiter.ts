import { LRUCache } from "lru-cache";
import { GatewayError } from "../contract/index.ts";

const countedMax = 10_000;
const minuteMs = 60_000;

interface AttemptOptions {
  readonly windowMs?: number;
  /** What is counted, for the sentence. */
  readonly what?: string;
}

/** Bounds how often something may be tried in a while, a minute by default, so that passwords are not guessed. */
export class RateLimiter {
  readonly #counted = new LRUCache<string, { count: number; endsAt: number }>({ max: countedMax });
  readonly #max: number;
  readonly #now: () => number;
  readonly #windowMs: number;
  readonly #what: string;

  constructor(max: number, now: () => number, options: AttemptOptions = {}) {
    this.#max = max;
    this.#now = now;
    this.#windowMs = options.windowMs ?? minuteMs;
    this.#what = options.what ?? "attempts from here";
  }

  /** Counts an attempt of a peer, or whatever else is counted by. @throws {GatewayError} `rate_limit_exceeded` */
  take(by: string): void {
    const now = this.#now();
    const known = this.#counted.get(by);
    if (known === undefined || known.endsAt <= now) {
      this.#counted.set(by, { count: 1, endsAt: now + this.#windowMs });
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

import { LRUCache } from "lru-cache";
import { GatewayError } from "../contract/index.ts";

const trackedMax = 10_000;
const minuteMs = 60_000;

/** Limits attempts a minute in this process, before they cost anything. */
export class RateLimiter {
  /** Made at the first attempt, because it takes its full size at once and most limiters are never asked. */
  #attempts: LRUCache<string, { count: number; endsAt: number }> | undefined;
  readonly #max: number;
  readonly #now: () => number;
  readonly #what: string;

  /** @param options `what` is counted, for the error message. */
  constructor(max: number, now: () => number, options: { readonly what?: string } = {}) {
    this.#max = max;
    this.#now = now;
    this.#what = options.what ?? "attempts from here";
  }

  /** Counts an attempt of a client or another key, which may have a bound of its own. @throws {GatewayError} `rate_limit_exceeded` */
  take(key: string, max: number = this.#max): void {
    const now = this.#now();
    this.#attempts ??= new LRUCache({ max: trackedMax });
    const attempts = this.#attempts.get(key);
    if (attempts === undefined || attempts.endsAt <= now) {
      this.#attempts.set(key, { count: 1, endsAt: now + minuteMs });
      return;
    }
    attempts.count += 1;
    if (attempts.count <= max) return;
    throw tooManyAttempts({ max, windowMs: minuteMs, what: this.#what }, attempts.endsAt - now);
  }
}

export function tooManyAttempts(
  { max, windowMs, what }: { max: number; windowMs: number; what: string },
  retryAfterMs: number,
): GatewayError {
  const span = windowMs === minuteMs ? "a minute" : `in ${windowMs / minuteMs} minutes`;
  const message = `Too many ${what}, at most ${max} ${span}; try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return new GatewayError("rate_limit_exceeded", message, { retryAfterMs });
}

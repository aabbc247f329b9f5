import { GatewayError } from "../contract/index.ts";
import { LruCache } from "./lru-cache.ts";

const peersMax = 10_000;
const windowMs = 60_000;

/** Bounds how often a peer may try something in a minute, so that passwords are not guessed. */
export class AttemptLimit {
  readonly #peers = new LruCache<{ count: number; endsAt: number }>(peersMax);
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Counts an attempt. @throws {GatewayError} `rate_limit_exceeded` */
  take(peer: string): void {
    const now = this.#now();
    const known = this.#peers.get(peer);
    if (known === undefined || known.endsAt <= now) {
      this.#peers.set(peer, { count: 1, endsAt: now + windowMs });
      return;
    }
    known.count += 1;
    if (known.count <= this.#max) return;
    const retryAfterMs = known.endsAt - now;
    const sentence = `Too many attempts from here, at most ${this.#max} a minute; try again in ${Math.ceil(retryAfterMs / 1000)} s`;
    throw new GatewayError("rate_limit_exceeded", sentence, { retryAfterMs });
  }
}

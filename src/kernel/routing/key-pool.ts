import { CircuitBreaker, type CircuitBreakerOptions } from "./circuit-breaker.ts";

/** A key that is refused is refused for everyone; two in ten minutes are no accident. */
const keyBounds: CircuitBreakerOptions = { faultsMin: 2, windowMs: 600_000, openMs: 300_000, restMsMax: 3_600_000 };

/** A shorter one is a word such as `none`, for a server that wants any. */
const keyCharactersMin = 8;

const none: ReadonlySet<number> = new Set();

/** The keys of one plugin, taken in turn; one that a provider refuses or limits rests for a while. */
export class KeyPool {
  readonly #keys: readonly string[];
  readonly #circuits: readonly CircuitBreaker[];
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
    this.#circuits = keys.map(() => new CircuitBreaker(keyBounds));
  }

  get size(): number {
    return this.#keys.length;
  }

  /** How many can be taken now without being the last resort. */
  readyAt(nowMs: number): number {
    return this.#circuits.filter((circuitBreaker) => circuitBreaker.isReady(nowMs)).length;
  }

  /**
   * The next key that is not resting and was not tried yet in this call; when all rest, the one that rests the least.
   *
   * @returns `undefined` when every key was tried.
   */
  take(nowMs: number, tried: ReadonlySet<number> = none): { index: number; key: string } | undefined {
    let best: number | undefined;
    for (let step = 0; step < this.#keys.length; step++) {
      const index = (this.#next + step) % this.#keys.length;
      if (tried.has(index)) continue;
      const circuitBreaker = this.#at(index);
      if (circuitBreaker.isReady(nowMs)) {
        best = index;
        break;
      }
      if (best === undefined || circuitBreaker.restsUntilMs < this.#at(best).restsUntilMs) best = index;
    }
    if (best === undefined) return undefined;
    this.#next = (best + 1) % this.#keys.length;
    this.#at(best).begin(nowMs);
    return { index: best, key: this.#keys[best] as string };
  }

  /** The provider took the key. */
  onSuccess(index: number): void {
    this.#at(index).onSuccess();
  }

  /** The provider refused the key. Returns whether it begins to rest by that. */
  onFailure(index: number, nowMs: number): boolean {
    return this.#at(index).onFailure(nowMs);
  }

  /** The provider said when the key can be used again. */
  rest(index: number, untilMs: number): void {
    this.#at(index).rest(untilMs);
  }

  /** A text without any of the keys, for what a provider says and others read. */
  hide(text: string): string {
    let hidden = text;
    for (const key of this.#keys) if (key.length >= keyCharactersMin) hidden = hidden.replaceAll(key, "[hidden]");
    return hidden;
  }

  #at(index: number): CircuitBreaker {
    return this.#circuits[index] as CircuitBreaker;
  }
}

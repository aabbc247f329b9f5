import { CircuitBreaker, type CircuitBreakerOptions } from "./circuit-breaker.ts";

/** A refused key is refused for every call, so two refusals in ten minutes are enough. */
const keyCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 2,
  windowMs: 600_000,
  openMs: 300_000,
  openMsMax: 3_600_000,
};

/** A shorter one is a placeholder such as `none`, for a server that accepts any. */
const keyCharactersMin = 8;

const noKeys: ReadonlySet<number> = new Set();

/** The keys of one plugin, used in turn. A key that a provider refuses or limits is paused. */
export class KeyPool {
  readonly #keys: readonly string[];
  readonly #circuits: readonly CircuitBreaker[];
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
    this.#circuits = keys.map(() => new CircuitBreaker(keyCircuitOptions));
  }

  get size(): number {
    return this.#keys.length;
  }

  /** How many can be used now other than as a last resort. */
  readyAt(nowMs: number): number {
    return this.#circuits.filter((circuitBreaker) => circuitBreaker.isReady(nowMs)).length;
  }

  /**
   * The next key that is not paused and was not tried yet in this call; when all are paused, the one that is free first.
   *
   * @returns `undefined` when every key was tried.
   */
  take(nowMs: number, tried: ReadonlySet<number> = noKeys): { index: number; key: string } | undefined {
    let best: number | undefined;
    for (let step = 0; step < this.#keys.length; step++) {
      const index = (this.#next + step) % this.#keys.length;
      if (tried.has(index)) continue;
      const circuitBreaker = this.#at(index);
      if (circuitBreaker.isReady(nowMs)) {
        best = index;
        break;
      }
      if (best === undefined || circuitBreaker.openUntilMs < this.#at(best).openUntilMs) best = index;
    }
    if (best === undefined) return undefined;
    this.#next = (best + 1) % this.#keys.length;
    this.#at(best).begin(nowMs);
    return { index: best, key: this.#keys[best] as string };
  }

  onSuccess(index: number): void {
    this.#at(index).onSuccess();
  }

  /** The provider refused the key. Returns whether its circuit opens. */
  onFailure(index: number, nowMs: number): boolean {
    return this.#at(index).onFailure(nowMs);
  }

  /** The provider said when the key can be used again. */
  pauseUntil(index: number, untilMs: number): void {
    this.#at(index).openUntil(untilMs);
  }

  /** The text with all keys replaced, for what a provider says to others. */
  hide(text: string): string {
    let hidden = text;
    for (const key of this.#keys) if (key.length >= keyCharactersMin) hidden = hidden.replaceAll(key, "[hidden]");
    return hidden;
  }

  #at(index: number): CircuitBreaker {
    return this.#circuits[index] as CircuitBreaker;
  }
}

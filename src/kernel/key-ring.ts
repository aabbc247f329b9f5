/** The keys of one plugin, taken in turn; one that a provider refused or limited rests for a while. */
export class KeyRing {
  readonly #keys: readonly string[];
  readonly #restsUntilMs: number[];
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
    this.#restsUntilMs = keys.map(() => 0);
  }

  get size(): number {
    return this.#keys.length;
  }

  /**
   * The next key that is not resting and was not tried yet in this call; when all rest, the one that rests the least.
   *
   * @returns `undefined` when every key was tried.
   */
  take(nowMs: number, tried: ReadonlySet<number>): { index: number; key: string } | undefined {
    let best: number | undefined;
    for (let step = 0; step < this.#keys.length; step++) {
      const index = (this.#next + step) % this.#keys.length;
      if (tried.has(index)) continue;
      const rests = this.#restsUntilMs[index] as number;
      if (rests <= nowMs) {
        best = index;
        break;
      }
      if (best === undefined || rests < (this.#restsUntilMs[best] as number)) best = index;
    }
    if (best === undefined) return undefined;
    this.#next = (best + 1) % this.#keys.length;
    return { index: best, key: this.#keys[best] as string };
  }

  rest(index: number, untilMs: number): void {
    this.#restsUntilMs[index] = untilMs;
  }
}

/**
 * A map that holds so many entries and no more: the one that was not read or written for longest goes first.
 *
 * @example
 * const thoughts = new RecentMap(2);
 * for (const id of ["a", "b", "c"]) thoughts.set(id, `of ${id}`);
 * [thoughts.get("a"), thoughts.get("c")]; // => [undefined, "of c"]
 */
export class RecentMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#countMax) return;
    for (const oldest of this.#entries.keys()) return void this.#entries.delete(oldest);
  }
}

import { LRUCache } from "lru-cache";

/**
 * A map with a bound on its entries: when it is full, the least recently used one is dropped.
 *
 * @example
 * const titles = new LruMap(2);
 * for (const id of ["a", "b", "c"]) titles.set(id, `of ${id}`);
 * [titles.get("a"), titles.get("c")]; // => [undefined, "of c"]
 */
export class LruMap<Value extends {}> {
  /** Made for the first entry, because it takes its full size at once. */
  #entries: LRUCache<string, Value> | undefined;
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get(key: string): Value | undefined {
    return this.#entries?.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries ??= new LRUCache({ max: this.#countMax });
    this.#entries.set(key, value);
  }
}

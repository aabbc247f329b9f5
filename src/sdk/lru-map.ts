import { LRUCache } from "lru-cache";

/**
 * A map with a bound on its entries: when it is full, the least recently used one is dropped.
 *
 * @example
 * const thoughts = new LruMap(2);
 * for (const id of ["a", "b", "c"]) thoughts.set(id, `of ${id}`);
 * [thoughts.get("a"), thoughts.get("c")]; // => [undefined, "of c"]
 */
export class LruMap<Value extends {}> {
  readonly #entries: LRUCache<string, Value>;

  constructor(countMax: number) {
    this.#entries = new LRUCache({ max: countMax });
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries.set(key, value);
  }
}

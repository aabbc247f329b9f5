import type { UsageKind } from "../../db/index.ts";

/** Names of one account and day that are counted apart. */
const namesMax: Readonly<Record<Extract<UsageKind, "session" | "tag">, number>> = { session: 500, tag: 100 };
/** Names of all accounts that are remembered, some 10 MB. */
const rememberedMax = 50_000;

/** Stands for the names that are too many; no session or tag can be called so. */
const otherName = "*";

interface Named {
  readonly kind: keyof typeof namesMax;
  readonly hour: number;
  readonly accountId: string;
  readonly name: string;
}

/** The names that clients gave on a day: the first ones are counted apart, and those that are too many as one. */
export class Names {
  #day = 0;
  #remembered = 0;
  #names = new Map<string, Set<string>>();

  /** The name to count by. */
  take({ kind, hour, accountId, name }: Named): string {
    const day = Math.floor(hour / 24);
    if (day > this.#day) {
      this.#day = day;
      this.#remembered = 0;
      this.#names = new Map();
    }
    const owner = `${day}\n${kind}\n${accountId}`;
    let names = this.#names.get(owner);
    if (names?.has(name)) return name;
    if (this.#remembered >= rememberedMax) return otherName;
    if (names === undefined) {
      names = new Set();
      this.#names.set(owner, names);
    }
    if (names.size >= namesMax[kind]) return otherName;
    names.add(name);
    this.#remembered += 1;
    return name;
  }
}

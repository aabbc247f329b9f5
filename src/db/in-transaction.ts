import type { Store } from "./store.ts";

/** What changes are made with: a store, or what {@link together} hands out in its place. */
export type Books = Pick<Store, "db" | "change">;

/** Has changes that are a transaction each made in one: all of them or none. */
export function together<T>(store: Books, work: (books: Books) => Promise<T>): Promise<T> {
  return store.change((db) => work({ db, change: (change) => change(db) }));
}

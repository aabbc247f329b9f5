import type { Store } from "./store.ts";

/** What changes are made with: a store, or what {@link inTransaction} hands out in its place. */
export type TransactionScope = Pick<Store, "db" | "change">;

/** Has changes that are a transaction each made in one: all of them or none. */
export function inTransaction<T>(store: TransactionScope, work: (books: TransactionScope) => Promise<T>): Promise<T> {
  return store.change((db) => work({ db, change: (change) => change(db) }));
}

import type { CompiledQuery, Kysely, Transaction } from "kysely";
import type { AccountBalance, BudgetQuery } from "./account-balance.ts";
import type { Blobs } from "./blobs.ts";
import type { KeyRecord } from "./key-query.ts";
import type { CallOpened, HoldDecision, LedgerWrite } from "./ledger-write.ts";
import type { Database } from "./schema.ts";

/** A call that its process did not live to end. */
export interface AbandonedCall {
  id: string;
  hold_nanodollars: number;
  hold_tokens: number;
}

/** The state of the gateway on disk. */
export interface Store {
  /** For everything off the hot path. A transaction of it takes the write lock at its begin: keep it short. */
  readonly db: Kysely<Database>;
  /** Whether several processes may write calls to it at once: PostgreSQL. */
  readonly shared: boolean;
  /** Which of them this process is, for the rows of its calls; `null` where it is alone. */
  readonly nodeId: string | null;
  readonly blobs: Blobs;
  /**
   * Counts changes made outside {@link Store.writeLedger}, by {@link Store.change} or other processes, except changes of
   * a single key. A cached row is stale when this differs from the count at the time it was read.
   */
  readonly revision: number;
  /**
   * Writes to the ledger in one transaction: all of it or nothing. When it resolves, it is committed and, except
   * with {@link Synchronous} `normal`, on the disk. Each kind of write may be repeated safely but an {@link LedgerWrite}
   * that opens a call whose id is taken.
   *
   * @returns The decision about each hold with `guard` in a shared store: what it grants and has written, or why it
   * refuses; undefined when there was none. Everything else is written.
   * @throws {Error} The engine's error. {@link isConstraintError} tells a bad write from a bad disk; nothing is written
   * then, unless {@link isOutcomeUnknown}.
   */
  writeLedger(batch: readonly LedgerWrite[]): Promise<ReadonlyMap<CallOpened, HoldDecision> | undefined>;
  /**
   * What is written of an account's money and quota: at once in the embedded store, else with all writes that were
   * requested before, and none after. `budgetQuery` also reads the budget of one key.
   */
  readBalance(accountId: string, budgetQuery?: BudgetQuery): AccountBalance | Promise<AccountBalance>;
  /**
   * Runs a query that a call waits for: unlike {@link Store.db}, it fails once it takes longer than a call may wait.
   */
  ask<Row>(query: CompiledQuery<Row>): Promise<Row[]>;
  /**
   * Reads the key with this public id and the settings of its account; synchronously in the embedded store. An id that
   * may be made up is `isUnproven`: a shared store looks these up apart and fails when too many come at once.
   */
  readKey(keyId: string, isUnproven?: boolean): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  /**
   * Marks the open calls of dead processes as abandoned and returns them. Where the store is not shared all open calls
   * are, so it is for the start. Else those of processes that this one has seen to be silent and without a connection
   * for `deadAfterMs` without a gap in its own view: for a timer, for what is dead is known by looking again and again.
   */
  abandonCalls(now: number): Promise<AbandonedCall[]>;
  /**
   * Changes accounts, keys or wallets in one transaction. Cached copies are then invalidated: in this process at
   * once, in others within a second. A change of only the key `keyId` invalidates only that key.
   */
  change<T>(work: (db: Transaction<Database>) => Promise<T>, keyId?: string): Promise<T>;
  /** Calls `listener` when a single key was changed, by this or another process. */
  onKeyChange(listener: (keyId: string) => void): void;
  /** Invalidates rows cached in this process. */
  bumpRevision(): void;
  /**
   * Asks whether another process changed something since the last question; cheap enough for a timer, and to be asked
   * about twice a second. Counts up `revision`.
   */
  pollExternalChange(): boolean;
  /**
   * Locks an embedded store for serving until this process ends; `false` when another process has the lock. Two
   * processes would both cache balances. Absent for a shared store.
   */
  lockForServing?(): boolean;
  /** Why the gateway should not be sent calls, in one sentence; absent when nothing is wrong. */
  trouble?(): string | undefined;
  /** The setting of this name, made and kept at the first question. */
  setting(name: string, make: () => string): Promise<string>;
  /** Ends the connection. Repeating it does nothing. */
  close(): Promise<void>;
}

/**
 * When the embedded store syncs a commit to disk: `full` before it is confirmed, so that it survives a power failure;
 * `normal` later, so that it outlives the end of the process and a power failure may take the last moments.
 */
export type Synchronous = "full" | "normal";

/** A store to which one process alone writes calls, so that it may know in memory what is held and what is left. */
export interface EmbeddedStore extends Store {
  readonly shared: false;
  readBalance(accountId: string, budgetQuery?: BudgetQuery): AccountBalance;
}

export function isEmbedded(store: Store): store is EmbeddedStore {
  return !store.shared;
}

/** Options of {@link openStore}. */
export interface StoreOptions {
  /** The SQLite file, made when absent; its folder must exist. */
  file?: string;
  /** `postgres://…`; it goes before the file. */
  url?: string | undefined;
  /** Milliseconds that a call may wait for PostgreSQL; default 200, so that with all else it stays below 250. */
  timeoutMs?: number;
  /** Milliseconds of silence after which another process counts as dead (PostgreSQL); default 30 000. */
  deadAfterMs?: number;
  /**
   * Milliseconds that a statement waits for another process's lock on the SQLite file, which stops the event loop;
   * default 250, as long as a call may hang for it. Who serves no calls can wait for longer.
   */
  lockWaitMs?: number;
  /** Of the embedded store; default `full`. */
  synchronous?: Synchronous | undefined;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
}

/** What changes are made with: a store, or what {@link inTransaction} hands out in its place. */
export type TransactionScope = Pick<Store, "db" | "change">;

/** Runs several {@link Store.change} calls as one transaction. */
export function inTransaction<T>(store: TransactionScope, work: (books: TransactionScope) => Promise<T>): Promise<T> {
  return store.change((db) => work({ db, change: (change) => change(db) }));
}

/** Gets a setting, or keeps the one made now; of two processes that make it at once, one wins and both get its value. */
export async function readSetting(db: Kysely<Database>, name: string, make: () => string): Promise<string> {
  const found = await find(db, name);
  if (found !== undefined) return found;
  await db
    .insertInto("settings")
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const kept = await find(db, name);
  if (kept === undefined) throw new Error(`Cannot keep setting ${name}: it was deleted meanwhile`);
  return kept;
}

async function find(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}

import type { CompiledQuery, Kysely, Transaction } from "kysely";
import type { AccountBalance } from "./account-balance.ts";
import type { Blobs } from "./blobs.ts";
import type { IdempotencyKeys } from "./idempotency-keys.ts";
import type { KeyRecord } from "./key-query.ts";
import type { BudgetDraw, BudgetFigures, HoldDecision, LedgerWrite, OpenCall } from "./ledger-records.ts";
import type { NodeReport } from "./nodes.ts";
import type { Payer } from "./payers.ts";
import type { Database } from "./schema.ts";
import type { UsageRow, UsageStep } from "./usage-sums.ts";

/** A call whose process died before it ended. */
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
  /**
   * How long a call waits for its writes, in milliseconds; absent in the embedded store, whose writes fail by
   * themselves.
   */
  readonly callWaitMs?: number;
  /** The id of this process in the rows of its calls; `null` in the embedded store. */
  readonly nodeId: string | null;
  readonly blobs: Blobs;
  readonly idempotencyKeys: IdempotencyKeys;
  /**
   * Counts changes made outside {@link Store.writeLedger}, by {@link Store.change} or other processes, except changes of
   * a single key. A cached row is stale when this differs from the count at the time it was read.
   */
  readonly revision: number;
  /** Counts the times that the database may have become another one, or an older state of itself; 0 of an embedded store. */
  readonly epoch: number;
  /**
   * Writes to the ledger in one transaction: all of it or nothing. When the promise resolves, the transaction is
   * committed. If it contains ends of calls, it is also on disk, except with {@link Synchronous} `normal`. Every write
   * may be repeated safely, except an {@link LedgerWrite} that opens a call whose id is taken.
   *
   * @param onCommitted Called after the commit, while only the disk is still awaited. Holds need not wait for the disk:
   * an open call lost in a power failure costs as little as one that is found. Never called by a shared store.
   * @returns The decision about each hold with `guard` in a shared store: the amounts granted and written, or the
   * reason for the refusal; undefined if there was no such hold. Everything else is written.
   * @throws {Error} The engine's error. {@link isConstraintError} distinguishes a bad write from a bad disk; nothing is
   * written then, unless {@link isOutcomeUnknown}.
   */
  writeLedger(
    batch: readonly LedgerWrite[],
    onCommitted?: () => void,
  ): Promise<ReadonlyMap<OpenCall, HoldDecision> | undefined>;
  /**
   * Writes the rows of a trial call and rolls them back in the same transaction, synced to disk like the end of a call.
   *
   * @throws {Error} When calls cannot be recorded.
   */
  tryWrite(): Promise<void>;
  /**
   * Adds sums of usage in one transaction, together with the step of the roll-up that they belong to. Returns false and
   * writes nothing if the progress has changed since the step began. It is not synced: sums lost in a power failure are
   * counted again.
   */
  addUsage(rows: readonly UsageRow[], step?: UsageStep): Promise<boolean>;
  /**
   * Reads the written balance and quota of an account: synchronously in the embedded store, else after all writes that
   * were requested before and none that come later. `today` is in days since 1970.
   */
  readBalance(accountId: string, today: number): AccountBalance | Promise<AccountBalance>;
  /** Reads budgets of calls of a key; synchronously and in order as the balance. */
  readBudgets(owner: Payer, draws: readonly BudgetDraw[]): readonly BudgetFigures[] | Promise<readonly BudgetFigures[]>;
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
   * Reads a key by the foreign hash of another gateway's key, as {@link Store.readKey}. Anyone may have made the hash
   * up.
   */
  readForeignKey(hash: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
  /**
   * Marks the open calls of dead processes as abandoned and returns them. In the embedded store these are all open
   * calls, so call it at the start. In a shared store a process is dead after this one has observed `deadAfterMs`
   * without a heartbeat, so call it by a timer.
   *
   * @param isRunning Whether this process runs one of its own calls. A call that it does not run at two checks in a row
   * is open by mistake, for example after a failover that lost its end.
   */
  abandonCalls(now: number, isRunning: (callId: string) => boolean): Promise<AbandonedCall[]>;
  /**
   * Changes accounts, keys or wallets in one transaction. Cached copies are then invalidated: in this process at
   * once, in others within a second. A change of only the key `keyId` invalidates only that key.
   */
  change<T>(work: (db: Transaction<Database>) => Promise<T>, keyId?: string): Promise<T>;
  /** Calls `listener` when a single key was changed, by this or another process. */
  onKeyChange(listener: (keyId: string) => void): void;
  /**
   * Notifies all processes to end this call. A process without a connection at this moment is not notified. Absent for
   * an embedded store, whose calls all run in one process.
   */
  endCall?(callId: string): Promise<void>;
  /** Calls `listener` with each call that {@link Store.endCall} ends; absent if `endCall` is. */
  onEndCall?(listener: (callId: string) => void): void;
  /** Invalidates rows cached in this process. */
  bumpRevision(): void;
  /**
   * Returns whether another process changed something since the last call, and then increments `revision`. For a timer
   * of about half a second.
   */
  pollExternalChange(): boolean;
  /**
   * Locks an embedded store for serving until this process ends; `false` when another process has the lock. Two
   * processes would both cache balances. Absent for a shared store.
   */
  lockForServing?(): boolean;
  /** From now on the heartbeats of this process carry these figures, for {@link listNodes}: it serves. */
  reportNode(read: () => NodeReport): void;
  /** Milliseconds since the last heartbeat of this process that was written; absent before the first. */
  readonly heartbeatAgeMs: number | undefined;
  /** Why the gateway cannot take calls, in one message; `undefined` when it can. */
  trouble?(): string | undefined;
  /**
   * Reports degradations while calls are still served, in messages that anyone may read; absent for an embedded store.
   */
  degraded?(): string[];
  /** Reads the setting of this name; the first call makes and stores it. */
  setting(name: string, make: () => string): Promise<string>;
  /** Closes all connections. Repeating it does nothing. */
  close(): Promise<void>;
}

/**
 * When the embedded store syncs a commit to disk. `full`: before it is confirmed, so it survives a power failure
 * (except holds of calls). `normal`: later, so it survives the end of the process, but a power failure may lose the
 * last moments.
 */
export type Synchronous = "full" | "normal";

/** A store with one process that writes calls: it can keep holds and balances in memory. */
export interface EmbeddedStore extends Store {
  readonly shared: false;
  readBalance(accountId: string, today: number): AccountBalance;
  readBudgets(owner: Payer, draws: readonly BudgetDraw[]): readonly BudgetFigures[];
}

export function isEmbedded(store: Store): store is EmbeddedStore {
  return !store.shared;
}

/** Called when something happened to the database that its operator has to know. */
export type StoreReport = (event: string, fields: Record<string, unknown>) => void;

/** Options of {@link openStore}. */
export interface StoreOptions {
  /** The SQLite file, created when absent; its folder must exist. */
  file?: string;
  /** `postgres://…`; takes precedence over the file. */
  url?: string | undefined;
  /** Milliseconds that a call may wait for PostgreSQL; default 2 000. */
  timeoutMs?: number | undefined;
  /** Milliseconds of silence after which another process counts as dead (PostgreSQL); default 30 000. */
  deadAfterMs?: number;
  /**
   * Milliseconds that a statement waits for another process's lock on the SQLite file, which stops the event loop;
   * default 250, as long as a call may wait. A process that serves no calls can wait longer.
   */
  lockWaitMs?: number;
  /** Sync mode of the embedded store; default `full`. */
  synchronous?: Synchronous | undefined;
  report?: StoreReport;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
}

/** A store for changes, or the one that {@link inTransaction} hands out in its place. */
export type TransactionScope = Pick<Store, "db" | "change" | "shared">;

/** A transaction that is open; further changes become a part of it. */
export interface OpenTransaction extends TransactionScope {
  readonly db: Transaction<Database>;
}

/** Runs several {@link Store.change} calls as one transaction. */
export function inTransaction<T>(
  store: TransactionScope,
  work: (transaction: OpenTransaction) => Promise<T>,
): Promise<T> {
  return store.change((db) => work({ db, shared: store.shared, change: (change) => change(db) }));
}

/** Runs a transaction on rows that no process caches: no cache has to be invalidated after it. */
export function inQuietTransaction<T>(
  { db, shared }: Pick<Store, "db" | "shared">,
  work: (transaction: OpenTransaction) => Promise<T>,
): Promise<T> {
  return db.transaction().execute((opened) => work({ db: opened, shared, change: (change) => change(opened) }));
}

/** Reads a setting or stores the one made now; of two processes that do so at once, both get the same value. */
export async function readSetting(db: Kysely<Database>, name: string, make: () => string): Promise<string> {
  const value = await find(db, name);
  if (value !== undefined) return value;
  await db
    .insertInto("settings")
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const stored = await find(db, name);
  if (stored === undefined) throw new Error(`Cannot keep setting ${name}: it was deleted meanwhile`);
  return stored;
}

/** Writes a setting. @returns The previous value, or `undefined`. */
export async function replaceSetting(db: Kysely<Database>, name: string, value: string): Promise<string | undefined> {
  const before = await find(db, name);
  if (before === value) return before;
  await db
    .insertInto("settings")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
  return before;
}

/** Id of the database. Data kept elsewhere is labelled with it to show that it belongs to this database. */
export function readLedgerId(store: Pick<Store, "setting">): Promise<string> {
  return store.setting("ledger_id", () => crypto.randomUUID().slice(0, 8));
}

async function find(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}

import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { promisify } from "node:util";
import { Kysely, sql } from "kysely";
import { type AccountBalance, toQuota } from "../account-balance.ts";
import { createBlobs } from "../blobs.ts";
import { fromCallKey, insertAbandoned } from "../call-columns.ts";
import { NotSyncedError, StoreError, UnknownPayerError } from "../errors.ts";
import { createIdempotencyKeys } from "../idempotency-keys.ts";
import { type KeyRecord, keyQuery } from "../key-query.ts";
import type { LedgerWrite } from "../ledger-records.ts";
import { migrate } from "../migrate.ts";
import { embeddedNodeId, type NodeReport } from "../nodes.ts";
import { toPayerNumber } from "../payers.ts";
import type { Database } from "../schema.ts";
import { type AbandonedCall, type EmbeddedStore, readSetting, type Store, type Synchronous } from "../store.ts";
import { prepareUsageWriter } from "../usage-sums.ts";
import { KyselyConnection, PlannedOnceDialect } from "./kysely-connection.ts";
import { takeServingLock } from "./serving-lock.ts";
import { prepareLedgerStatements, tryWrite, writeLedger } from "./write-ledger.ts";

/** Syncs the platform's cached data of an open file to disk: by a thread of the platform, or synchronously. */
interface Disk {
  sync(fd: number): Promise<void>;
  syncNow(fd: number): void;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
}

const platform: Disk = { sync: promisify(fdatasync), syncNow: fdatasyncSync, now: () => performance.now() };

/** Where a sync takes less than this, the event loop waits for it: handing it to a thread costs a lone call 100 µs of CPU. */
const quickMs = 1;
/** Weight of a new sync in the moving mean. */
const weightOfNew = 0.1;

/**
 * The log of a database in WAL mode. It is synced to disk by a thread of the platform while the event loop continues,
 * or synchronously if nothing else waits and the disk was quick lately. Its frames have checksums, so the next start
 * ignores any remains of a commit that was not synced before a power failure.
 */
export class LogFile {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #disk: Disk;
  /** Whether SQLite syncs at a commit. A change of that costs 10 µs, so it is made only when the next transaction needs it. */
  #isSynced = true;
  /** How long a sync took lately. */
  #meanMs = Number.POSITIVE_INFINITY;
  #fd: number | undefined;
  #syncing: Promise<void> | undefined;

  constructor(database: DatabaseSync, path: string, disk: Disk = platform) {
    this.#database = database;
    this.#path = path;
    this.#disk = disk;
  }

  /** Runs a transaction that SQLite does not sync: a killed process leaves it, and a power failure may lose it. */
  leaveUnsynced(transact: () => void): void {
    if (this.#isSynced) this.#database.exec("pragma synchronous = normal");
    this.#isSynced = false;
    transact();
  }

  /** Makes SQLite sync at each commit. Must be called before every other write, outside of a transaction. */
  syncAtCommit(): void {
    if (!this.#isSynced) this.#database.exec("pragma synchronous = full");
    this.#isSynced = true;
  }

  /**
   * Resolves once all transactions so far are on disk. SQLite itself syncs the transactions that were not left
   * unsynced.
   *
   * @param isAlone Nothing else was written with it, so the event loop has little to do in the meantime.
   * @throws {NotSyncedError} When the disk failed to sync; the transactions remain committed.
   */
  async sync(isAlone = false): Promise<void> {
    // SQLite locks the database and its shared memory, never the log: a second descriptor of it can be closed safely.
    this.#fd ??= openSync(this.#path, "r+");
    const startedMs = this.#disk.now();
    try {
      if (isAlone && this.#meanMs < quickMs) this.#disk.syncNow(this.#fd);
      else {
        this.#syncing = this.#disk.sync(this.#fd);
        await this.#syncing;
      }
    } catch (cause) {
      throw new NotSyncedError(cause);
    }
    const ms = this.#disk.now() - startedMs;
    this.#meanMs = this.#meanMs === Number.POSITIVE_INFINITY ? ms : this.#meanMs + (ms - this.#meanMs) * weightOfNew;
  }

  async close(): Promise<void> {
    await this.#syncing?.catch(() => undefined);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/** How often the only process that serves writes its heartbeat, which nobody's lease depends on. */
const heartbeatMs = 5000;
/** A start may wait for another process's migration. */
const startWaitMs = 10_000;
const lockWaitMsDefault = 250;

/** Options of {@link openSqlite}. */
interface SqliteOptions {
  file: string;
  now: () => number;
  lockWaitMs?: number | undefined;
  synchronous?: Synchronous | undefined;
}

/** Opens the embedded store and brings its schema up to date. */
export async function openSqlite({
  file,
  now,
  lockWaitMs = lockWaitMsDefault,
  synchronous = "full",
}: SqliteOptions): Promise<Store> {
  const database = openDatabase(file);
  const connection = new KyselyConnection(database);
  const db = new Kysely<Database>({ dialect: new PlannedOnceDialect({ database: connection }) });
  try {
    // In WAL mode `full` syncs the log at each commit; `normal` only before a checkpoint.
    database.exec(`
      pragma busy_timeout = ${startWaitMs};
      pragma journal_mode = wal;
      pragma synchronous = ${synchronous};
      pragma foreign_keys = on;
      pragma cache_size = -2000;
      pragma journal_size_limit = 67108864;
    `);
    await migrate(db, "sqlite", now);
    database.exec(`pragma busy_timeout = ${lockWaitMs}`);
    // A database in memory ends with its process, so nobody else can serve from it.
    const takeLock = () => (file === ":memory:" ? { release() {} } : takeServingLock(file));
    const log = synchronous === "full" && file !== ":memory:" ? new LogFile(database, `${file}-wal`) : undefined;
    return createSqliteStore({ database, connection, db, now, takeLock, log });
  } catch (error) {
    connection.close();
    throw error instanceof StoreError ? error : cannotOpen(file, error);
  }
}

/** The file holds secrets, so nobody else may read it; SQLite gives its side files the same rights. */
function openDatabase(file: string): DatabaseSync {
  try {
    if (file !== ":memory:") closeSync(openSync(file, "a", 0o600));
    return new DatabaseSync(file);
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

function cannotOpen(file: string, error: unknown): StoreError {
  const reason = error instanceof Error ? error.message : String(error);
  const advice = remedies.find(([pattern]) => pattern.test(reason))?.[1];
  const message = `Cannot open the database ${file}: ${reason}${advice === undefined ? "" : `; ${advice}`}`;
  return new StoreError(message, error);
}

const remedies = [
  [/disk is full|disk I\/O|ENOSPC|EFBIG/, "see that its disk has room"],
  [/EACCES|EPERM|EROFS|readonly/, "let the gateway's user write it and its folder"],
  [/not a database|malformed/, "restore a backup, or move the file away to begin with an empty database"],
] as const;

/** The parts of an embedded store. */
interface Parts {
  /** Takes the lock of the process that serves; undefined when another process has it. */
  readonly takeLock: () => { release(): void } | undefined;
  readonly database: DatabaseSync;
  readonly connection: KyselyConnection;
  readonly db: Kysely<Database>;
  readonly now: () => number;
  /** Absent: SQLite syncs each commit, or none. */
  readonly log?: LogFile | undefined;
}

/** The embedded store over an open database whose schema is up to date. */
function createSqliteStore({ database, connection, db, now, takeLock, log }: Parts): Store {
  if (log !== undefined) connection.onWrite = () => log.syncAtCommit();
  const statements = prepareLedgerStatements(database);
  const writeUsage = prepareUsageWriter(database);
  const dataVersion = database.prepare("pragma data_version");
  const readVersion = () => (dataVersion.get() as { data_version: number }).data_version;
  let version = readVersion();
  let revision = 0;
  let lock: { release(): void } | undefined;
  const bumpRevision = () => {
    revision += 1;
  };
  const keyListeners: ((keyId: string) => void)[] = [];
  const heartbeat = prepareHeartbeat(database, now, log);
  return {
    db,
    shared: false,
    nodeId: null,
    blobs: createBlobs(db, now),
    idempotencyKeys: createIdempotencyKeys({ db, now }),
    get revision() {
      return revision;
    },
    epoch: 0,
    async writeLedger(batch: readonly LedgerWrite[], onCommitted?: () => void) {
      // Between the end of one transaction of Kysely's and this turn the next may have begun.
      while (database.isOpen && database.isTransaction) await connection.free();
      try {
        if (log === undefined) writeLedger(database, statements, batch);
        else log.leaveUnsynced(() => writeLedger(database, statements, batch));
      } catch (error) {
        // A key that was read before the database lost it is still taken for one.
        if (error instanceof UnknownPayerError) bumpRevision();
        throw error;
      }
      if (log !== undefined && batch.some(({ kind }) => kind === "end")) {
        onCommitted?.();
        await log.sync(batch.length === 1);
      }
      return undefined;
    },
    async tryWrite() {
      while (database.isOpen && database.isTransaction) await connection.free();
      tryWrite(database, statements);
      await log?.sync(true);
    },
    async addUsage(rows, step) {
      while (database.isOpen && database.isTransaction) await connection.free();
      let isWritten = false;
      const write = () => {
        isWritten = writeUsage(rows, step);
      };
      if (log === undefined) write();
      else log.leaveUnsynced(write);
      return isWritten;
    },
    abandonCalls: (at) => abandonAll(db, at),
    async change(work, keyId) {
      try {
        return await db.transaction().execute(async (transaction) => {
          const result = await work(transaction);
          // Before the commit: the next end of a call may be written before the code after it runs.
          statements.budgets.forget();
          return result;
        });
      } finally {
        // Also after a failure: an account that was read in the meantime shows what was rolled back.
        if (keyId === undefined) bumpRevision();
        else for (const listener of keyListeners) listener(keyId);
      }
    },
    onKeyChange: (listener) => void keyListeners.push(listener),
    async ask(query) {
      return (await db.executeQuery(query)).rows;
    },
    readBalance: prepareBalanceReader(database, log),
    readBudgets: prepareBudgetsReader(database, log),
    readKey: prepareKeyReader(db, database),
    readForeignKey: prepareKeyReader(db, database, "foreign_hash"),
    bumpRevision,
    pollExternalChange() {
      if (!database.isOpen) return false;
      heartbeat.beat();
      const versionBefore = readVersion();
      if (versionBefore === version) return false;
      version = versionBefore;
      revision += 1;
      return true;
    },
    setting: (name, make) => readSetting(db, name, make),
    lockForServing() {
      lock ??= takeLock();
      return lock !== undefined;
    },
    reportNode: (read) => heartbeat.start(read),
    get heartbeatAgeMs() {
      return heartbeat.ageMs;
    },
    async close() {
      await connection.free();
      heartbeat.stop();
      await log?.close();
      connection.close();
      lock?.release();
      lock = undefined;
    },
  };
}

/**
 * Writes the figures of the process that serves, for commands. No power failure matters to them, so they are not synced; a write that
 * fails, as while another process has the lock, is left out.
 */
function prepareHeartbeat(database: DatabaseSync, now: () => number, log: LogFile | undefined) {
  const write = database.prepare(`insert into nodes (id, seen_at, lease, report) values ('${embeddedNodeId}', ?, 1, ?)
    on conflict (id) do update set seen_at = excluded.seen_at, report = excluded.report`);
  let read: (() => NodeReport) | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let writtenAtMs: number | undefined;
  const tryUnsynced = (work: () => void) => {
    try {
      if (log === undefined) work();
      else log.leaveUnsynced(work);
      return true;
    } catch {
      return false;
    }
  };
  return {
    start(from: () => NodeReport) {
      read = from;
    },
    /** For a timer. Does nothing in between, and while a transaction is open. */
    beat() {
      const nowMs = performance.now();
      if (read === undefined || nowMs - triedAtMs < heartbeatMs || database.isTransaction) return;
      triedAtMs = nowMs;
      const report = JSON.stringify(read());
      if (tryUnsynced(() => void write.run(now(), report))) writtenAtMs = nowMs;
    },
    get ageMs() {
      return writtenAtMs === undefined ? undefined : performance.now() - writtenAtMs;
    },
    stop() {
      if (read === undefined || !database.isOpen) return;
      read = undefined;
      tryUnsynced(() => database.exec(`delete from nodes where id = '${embeddedNodeId}'`));
    },
  };
}

/** One process alone writes calls, so at its start every open one is a dead process's. */
function abandonAll(db: Kysely<Database>, now: number): Promise<AbandonedCall[]> {
  return db.transaction().execute(async (transaction) => {
    await insertAbandoned(sql`open_call_rows`, now).execute(transaction);
    const rows = await transaction
      .deleteFrom("open_call_rows")
      .returning(["id", "hold_nanodollars", "hold_tokens"])
      .execute();
    return rows.map((call) => ({ ...call, id: fromCallKey(call.id) }));
  });
}

interface Row {
  balance: number | null;
  day: number | null;
  used: number | null;
  ahead: number | null;
}

/**
 * Prepares the look-up of an account's money and quota. It is one statement, so its values are all from the same
 * moment. For the reason for the `+?` parameters see `PlannedOnceDialect`.
 */
function prepareBalanceReader(
  database: DatabaseSync,
  log: LogFile | undefined,
): (accountId: string, today: number) => AccountBalance {
  const latest = `from daily_quota_usage where account_id = +?1 and day <= +?2 + 1 order by day desc limit 1`;
  const ahead = `from daily_quota_usage where account_id = +?1 and day > +?2 + 1 and coalesce(counted_day, +?2) = +?2`;
  const statement = database.prepare(`select
    (select balance_nanodollars from wallets where account_id = +?1) as balance,
    (select day ${latest}) as day, (select used_tokens ${latest}) as used, (select sum(used_tokens) ${ahead}) as ahead`);
  const count = database.prepare(`update daily_quota_usage set counted_day = +?2
    where account_id = +?1 and day > +?2 + 1 and counted_day is null`);
  return (accountId, today) => {
    const { balance, ...quota } = statement.get(accountId, today) as unknown as Row;
    if (quota.ahead !== null) tryToNote(log, () => count.run(accountId, today));
    return { balanceNanodollars: balance === null ? 0 : balance, ...toQuota(quota, today) };
  };
}

/**
 * Records amounts that were written while a clock was wrong. Another process may be writing: then the next look records
 * them.
 */
function tryToNote(log: LogFile | undefined, write: () => void): void {
  try {
    log?.syncAtCommit();
    write();
  } catch {
    // An amount counts as long as it is not recorded.
  }
}

/** Prepares the look-up of the spending of budgets. */
function prepareBudgetsReader(database: DatabaseSync, log: LogFile | undefined): EmbeddedStore["readBudgets"] {
  const isAhead = (today: string) => `day > ${today} + 1 and counted_day is null`;
  const statement = database.prepare(`select coalesce(sum(case when day < +?5 or (day > +?6 and (day <= +?6 + 1
      or (coalesce(counted_day, +?6) >= +?4 and coalesce(counted_day, +?6) < +?5))) then spent_nanodollars end), 0) as spent,
    max(${isAhead("+?6")}) as ahead
    from spending where account_id = +?1 and subject_id = +?2 and name = +?3 and day >= +?4`);
  const note =
    database.prepare(`update spending set counted_day = +?4 where account_id = +?1 and subject_id = +?2 and name = +?3
    and ${isAhead("+?4")}`);
  const ofSession = database.prepare(`select coalesce(sum(spent_nanodollars), 0) as spent from (
      select spent_nanodollars, run, max(run) over () as last_run, max(last_at) over () as last_at
      from session_spending where account_id = +?1 and subject_id = +?2 and name = +?3) as days
    where run = last_run and last_at >= +?4 - 86400000`);
  return ({ accountId }, draws) =>
    draws.map(({ sums: { subjectNo, name, from, until, today, sessionAt } }) => {
      const keys = [toPayerNumber(accountId), subjectNo, name] as const;
      const period = [...keys, from, until, today] as const;
      const row = sessionAt === undefined ? statement.get(...period) : ofSession.get(...keys, sessionAt);
      const { spent, ahead } = row as { spent: number; ahead?: number | null };
      if (ahead === 1) tryToNote(log, () => note.run(...keys, today));
      return { spentNanodollars: spent, heldNanodollars: 0 };
    });
}

/** Returns a reader that compiles the look-up once, for the first key: most gateways have no imported ones. */
function prepareKeyReader(
  db: Kysely<Database>,
  database: DatabaseSync,
  column?: "foreign_hash",
): (value: string) => KeyRecord | undefined {
  let statement: StatementSync | undefined;
  return (value) => {
    statement ??= database.prepare(keyQuery(db, "sqlite", column).compile().sql);
    return statement.get(value) as KeyRecord | undefined;
  };
}

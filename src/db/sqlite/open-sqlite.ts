import { closeSync, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { createBlobs } from "../blobs.ts";
import { StoreError } from "../errors.ts";
import type { LedgerWrite } from "../ledger-write.ts";
import { migrate } from "../migrate.ts";
import { type Database, isOpen } from "../schema.ts";
import { type AbandonedCall, readSetting, type Store, type Synchronous } from "../store.ts";
import { KyselyConnection, PlannedOnceDialect } from "./kysely-connection.ts";
import { type LedgerStatements, prepareLedgerStatements } from "./ledger-statements.ts";
import { prepareBalanceReader, prepareKeyReader } from "./readers.ts";
import { writeBatch } from "./write-batch.ts";

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

/** What a store is made of. */
interface Parts {
  readonly file: string;
  readonly database: DatabaseSync;
  readonly connection: KyselyConnection;
  readonly db: Kysely<Database>;
  readonly statements: LedgerStatements;
  readonly now: () => number;
}

/** Opens the embedded store and brings its schema up to date. */
export async function openSqlite({
  file,
  now,
  lockWaitMs = lockWaitMsDefault,
  synchronous = "full",
}: SqliteOptions): Promise<Store> {
  refuseJournal(file);
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
    const statements = prepareLedgerStatements(db, database);
    database.exec(`pragma busy_timeout = ${lockWaitMs}`);
    return createStore({ file, database, connection, db, statements, now });
  } catch (error) {
    connection.close();
    throw error instanceof StoreError ? error : cannotOpen(file, error);
  }
}

function createStore({ file, database, connection, db, statements, now }: Parts): Store {
  const dataVersion = database.prepare("pragma data_version");
  const readVersion = () => (dataVersion.get() as { data_version: number }).data_version;
  let version = readVersion();
  let revision = 0;
  let lock: { release(): void } | undefined;
  const bumpRevision = () => {
    revision += 1;
  };
  const keyListeners: ((keyId: string) => void)[] = [];
  return {
    db,
    shared: false,
    nodeId: null,
    blobs: createBlobs(db, now),
    get revision() {
      return revision;
    },
    async writeLedger(batch: readonly LedgerWrite[]) {
      // Between the end of one transaction of Kysely's and this turn the next may have begun.
      while (database.isOpen && database.isTransaction) await connection.free();
      writeBatch(database, statements, batch);
      return undefined;
    },
    abandonCalls: (at) => abandonAll(db, at),
    async change(work, keyId) {
      try {
        return await db.transaction().execute(work);
      } finally {
        // Also when it failed: an account that was read meanwhile shows what was rolled back.
        if (keyId === undefined) bumpRevision();
        else for (const listener of keyListeners) listener(keyId);
      }
    },
    onKeyChange: (listener) => void keyListeners.push(listener),
    async ask(query) {
      return (await db.executeQuery(query)).rows;
    },
    readBalance: prepareBalanceReader(database),
    readKey: prepareKeyReader(db, database),
    bumpRevision,
    pollExternalChange() {
      if (!database.isOpen) return false;
      const found = readVersion();
      if (found === version) return false;
      version = found;
      revision += 1;
      return true;
    },
    setting: (name, make) => readSetting(db, name, make),
    lockForServing() {
      // A database in memory ends with its process.
      if (file === ":memory:") return true;
      lock ??= takeServingLock(`${withoutExtension(file)}.lock`);
      return lock !== undefined;
    },
    async close() {
      await connection.free();
      connection.close();
      lock?.release();
      lock = undefined;
    },
  };
}

/** One process alone writes calls, so at its start every open one is a dead process's. */
function abandonAll(db: Kysely<Database>, now: number): Promise<AbandonedCall[]> {
  return db
    .updateTable("calls")
    .set({ state: "abandoned", settled_at: now })
    .where(isOpen)
    .returning(["id", "hold_nanodollars", "hold_tokens"])
    .execute();
}

/**
 * Up to version 0.1 calls went through a file of their own beside the database, and what a crash left in it is in no
 * table.
 *
 * @throws {StoreError} When there is such a file with something in it.
 */
export function refuseJournal(file: string): void {
  const journal = `${withoutExtension(file)}.journal`;
  const size = statSync(journal, { throwIfNoEntry: false })?.size;
  if (size === undefined || size === 0) return;
  throw new StoreError(
    `Cannot open the database ${file}: ${journal} holds calls of an older modelgate that are not in it; start and stop that modelgate once, which brings them in`,
  );
}

function withoutExtension(file: string): string {
  return file.replace(/\.db$/, "");
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
  const cure = /disk is full|disk I\/O|ENOSPC|EFBIG/.test(reason) ? "; see that its disk has room" : "";
  return new StoreError(`Cannot open the database ${file}: ${reason}${cure}`, error);
}

/**
 * Takes the lock of the process that serves from a database; it ends with that process, however that ends. It is an
 * exclusive transaction on an empty SQLite database beside the database: Node and Deno have no file locks of their own.
 *
 * @returns `undefined` when another process has it.
 */
function takeServingLock(file: string): { release(): void } | undefined {
  createPrivate(file);
  const database = new DatabaseSync(file);
  try {
    database.exec("pragma busy_timeout = 0; begin exclusive");
  } catch {
    database.close();
    return undefined;
  }
  return { release: () => database.close() };
}

/** Opens no file that exists: closing it would release a lock that this process has on it. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { StoreError } from "../errors.ts";
import { migrate } from "../migrate.ts";
import type { Database } from "../schema.ts";
import type { Store, Synchronous } from "../store.ts";
import { KyselyConnection, PlannedOnceDialect } from "./kysely-connection.ts";
import { LogFile } from "./log-file.ts";
import { createSqliteStore } from "./sqlite-store.ts";

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
    const takeLock = () => (file === ":memory:" ? { release() {} } : takeServingLock(`${withoutExtension(file)}.lock`));
    const log = synchronous === "full" && file !== ":memory:" ? new LogFile(database, `${file}-wal`) : undefined;
    return createSqliteStore({ database, connection, db, now, takeLock, log });
  } catch (error) {
    connection.close();
    throw error instanceof StoreError ? error : cannotOpen(file, error);
  }
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
  const advice = remedies.find(([pattern]) => pattern.test(reason))?.[1];
  const message = `Cannot open the database ${file}: ${reason}${advice === undefined ? "" : `; ${advice}`}`;
  return new StoreError(message, error);
}

const remedies = [
  [/disk is full|disk I\/O|ENOSPC|EFBIG/, "see that its disk has room"],
  [/EACCES|EPERM|EROFS|readonly/, "let the gateway's user write it and its folder"],
  [/not a database|malformed/, "restore a backup, or move the file away to begin with an empty database"],
] as const;

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

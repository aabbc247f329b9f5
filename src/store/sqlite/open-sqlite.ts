import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Kysely, SqliteDialect } from "kysely";
import { createBlobs } from "../blobs.ts";
import { prepareBookStatements } from "../book-statements.ts";
import type { BookWrite } from "../book-write.ts";
import { writeBatch } from "../book-writer.ts";
import type { Database } from "../database.ts";
import { prepareFunds } from "../funds.ts";
import { prepareKeyReader } from "../key-reader.ts";
import { migrate } from "../migrate.ts";
import { readSetting } from "../settings.ts";
import type { AbandonedCall, Store } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { KyselyConnection } from "./kysely-connection.ts";

/** A start may wait for another process's migration. */
const startWaitMs = 10_000;
/** Waiting stops the event loop, so in service it is as long as a call may hang for it. */
const lockWaitMs = 250;

/** Opens the embedded store and brings its schema up to date. */
export async function openSqlite(file: string, now: () => number): Promise<Store> {
  const database = openDatabase(file);
  const connection = new KyselyConnection(database);
  const db = new Kysely<Database>({ dialect: new SqliteDialect({ database: connection }) });
  try {
    database.exec(`
      pragma busy_timeout = ${startWaitMs};
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma foreign_keys = on;
      pragma cache_size = -16000;
      pragma journal_size_limit = 67108864;
    `);
    await migrate(db, "sqlite", now);
    database.exec(`pragma busy_timeout = ${lockWaitMs}`);
    return createStore(database, connection, db, now);
  } catch (error) {
    connection.close();
    throw error instanceof StoreError ? error : cannotOpen(file, error);
  }
}

function createStore(
  database: DatabaseSync,
  connection: KyselyConnection,
  db: Kysely<Database>,
  now: () => number,
): Store {
  const statements = prepareBookStatements(db, database);
  const dataVersion = database.prepare("pragma data_version");
  const readVersion = () => (dataVersion.get() as { data_version: number }).data_version;
  let version = readVersion();
  let revision = 0;
  const touch = () => {
    revision += 1;
  };
  return {
    db,
    shared: false,
    nodeId: null,
    blobs: createBlobs(db, now),
    get revision() {
      return revision;
    },
    async writeBooks(batch: readonly BookWrite[]) {
      if (database.isTransaction) await connection.free();
      writeBatch(database, statements, batch);
      return undefined;
    },
    abandonCalls: (at) => abandonAll(db, at),
    async change(work) {
      const result = await db.transaction().execute(work);
      touch();
      return result;
    },
    readFunds: prepareFunds(db, database),
    readKey: prepareKeyReader(db, database),
    touch,
    outsideChange() {
      if (!database.isOpen) return false;
      const found = readVersion();
      if (found === version) return false;
      version = found;
      revision += 1;
      return true;
    },
    setting: (name, make) => readSetting(db, name, make),
    async close() {
      await connection.free();
      connection.close();
    },
  };
}

/** One process alone writes calls, so at its start every open one is a dead process's. */
function abandonAll(db: Kysely<Database>, now: number): Promise<AbandonedCall[]> {
  return db
    .updateTable("calls")
    .set({ state: "abandoned", settled_at: now })
    .where("state", "=", "open")
    .returning(["id", "hold_nanodollars", "hold_tokens"])
    .execute();
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
  return new StoreError(`Cannot open the database ${file}: ${reason}`, error);
}

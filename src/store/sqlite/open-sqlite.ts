import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { createBlobs } from "../blobs.ts";
import { type BookStatements, prepareBookStatements } from "../book-statements.ts";
import type { BookWrite } from "../book-write.ts";
import { writeBatch } from "../book-writer.ts";
import type { Database } from "../database.ts";
import { prepareKeyReader } from "../key-reader.ts";
import { migrate } from "../migrate.ts";
import { readSetting } from "../settings.ts";
import type { AbandonedCall, Store } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { isOpen } from "../tables/calls.ts";
import { PlannedOnceDialect } from "./dialect.ts";
import { Journal } from "./journal/journal.ts";
import { type JournalBounds, journalBounds } from "./journal/journal-bounds.ts";
import { KyselyConnection } from "./kysely-connection.ts";

/** A start may wait for another process's migration. */
const startWaitMs = 10_000;
const lockWaitMsDefault = 250;

/** What {@link openSqlite} wants. */
interface SqliteOptions {
  file: string;
  now: () => number;
  lockWaitMs?: number | undefined;
  journal?: Partial<JournalBounds> | undefined;
}

/** What a store is made of. */
interface Parts {
  readonly database: DatabaseSync;
  readonly connection: KyselyConnection;
  readonly db: Kysely<Database>;
  readonly statements: BookStatements;
  readonly journal: Journal;
  readonly now: () => number;
}

/** Opens the embedded store, brings its schema up to date and applies what a crash left in its journal. */
export async function openSqlite({
  file,
  now,
  lockWaitMs = lockWaitMsDefault,
  journal: bounds,
}: SqliteOptions): Promise<Store> {
  const database = openDatabase(file);
  let journal: Journal | undefined;
  const connection = new KyselyConnection(database, (isShown) => journal?.beforeRead(isShown));
  const db = new Kysely<Database>({ dialect: new PlannedOnceDialect({ database: connection }) });
  try {
    database.exec(`
      pragma busy_timeout = ${startWaitMs};
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma foreign_keys = on;
      pragma cache_size = -2000;
      pragma journal_size_limit = 67108864;
    `);
    await migrate(db, "sqlite", now);
    const statements = prepareBookStatements(db, database);
    journal = new Journal({
      db,
      database,
      statements,
      file: journalOf(file),
      bounds: { ...journalBounds, ...bounds },
    });
    journal.drain();
    database.exec(`pragma busy_timeout = ${lockWaitMs}`);
    return createStore({ database, connection, db, statements, journal, now });
  } catch (error) {
    connection.close();
    throw error instanceof StoreError ? error : cannotOpen(file, error);
  }
}

function createStore({ database, connection, db, statements, journal, now }: Parts): Store {
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
      if (!journal.owned && database.isTransaction) await connection.free();
      if (journal.own()) journal.write(batch);
      else writeBatch(database, statements, batch);
      return undefined;
    },
    abandonCalls: (at) => abandonAll(db, at),
    async change(work) {
      const result = await db.transaction().execute(work);
      touch();
      return result;
    },
    async ask(query) {
      return (await db.executeQuery(query)).rows;
    },
    readFunds: (accountId, asked) => journal.readFunds(accountId, asked),
    readKey: prepareKeyReader(db, database),
    callsVersion(accountId) {
      const version = journal.versionOf(accountId);
      return version === undefined ? undefined : `${version}-${revision}`;
    },
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
    claim: () => journal.own(),
    trouble: () => journal.trouble(),
    async close() {
      await connection.free();
      journal.close();
      connection.close();
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

/** Beside the database, under its name. */
function journalOf(file: string): string {
  return `${file.replace(/\.db$/, "")}.journal`;
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

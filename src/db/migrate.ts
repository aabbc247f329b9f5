import { type Kysely, sql } from "kysely";
import { StoreError } from "./errors.ts";
import { migrations } from "./migrations/index.ts";
import type { Engine } from "./migrations/migration.ts";
import type { Database } from "./schema.ts";
import type { Store } from "./store.ts";

/**
 * Brings the schema to the newest version, forward only. Processes that start at once are safe: a transaction takes a
 * lock at its begin (SQLite's of the file, PostgreSQL's of this schema), and the version is read again inside it.
 *
 * @throws {StoreError} When the schema is newer than this program knows.
 */
export async function migrate(db: Kysely<Database>, engine: Engine, now: () => number): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = await readVersion(db, engine);
  if (found === newest) return;
  refuseNewer(found, newest);
  const numeric = engine === "sqlite" ? "integer" : "bigint";
  await db.transaction().execute(async (transaction) => {
    if (engine === "postgres") await lockSchema(transaction);
    await transaction.schema
      .createTable("schema_versions")
      .ifNotExists()
      .addColumn("version", numeric, (column) => column.primaryKey().notNull())
      .addColumn("applied_at", numeric, (column) => column.notNull())
      .execute();
    const locked = await readVersion(transaction, engine);
    refuseNewer(locked, newest);
    for (const migration of migrations) {
      if (migration.version <= locked) continue;
      await migration.up(transaction as unknown as Kysely<unknown>, engine);
      await transaction
        .insertInto("schema_versions")
        .values({ version: migration.version, applied_at: now() })
        .execute();
    }
  });
}

/**
 * Runs work in one process at a time. An embedded store needs no lock: only one process serves from it.
 */
export function oneNodeAtATime<T>({ db, shared }: Pick<Store, "db" | "shared">, work: () => Promise<T>): Promise<T> {
  if (!shared) return work();
  return db.transaction().execute(async (transaction) => {
    await lockSchema(transaction);
    return work();
  });
}

/** Held until the transaction ends. */
async function lockSchema(db: Kysely<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('modelgate ' || current_schema(), 0))`.execute(db);
}

async function readVersion(db: Kysely<Database>, engine: Engine): Promise<number> {
  const names = await tablesOf(db, engine);
  if (!names.includes("schema_versions")) {
    const [foreign] = names;
    if (foreign === undefined) return 0;
    const advice = engine === "sqlite" ? "name another file" : "name an empty one in DATABASE_URL";
    throw new StoreError(
      `The database is not one of modelgate's: it has a table ${foreign} and no schema_versions; ${advice}`,
    );
  }
  const row = await db
    .selectFrom("schema_versions")
    .select((select) => select.fn.max("version").as("version"))
    .executeTakeFirst();
  return row?.version ?? 0;
}

async function tablesOf(db: Kysely<Database>, engine: Engine): Promise<string[]> {
  const query =
    engine === "sqlite"
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_'`
      : sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`;
  const { rows } = await query.execute(db);
  return rows.map((row) => row.name);
}

function refuseNewer(found: number, newest: number): void {
  if (found <= newest) return;
  throw new StoreError(
    `The database has schema version ${found} and this modelgate knows up to ${newest}: start the newer modelgate that wrote it, or restore a backup from before its upgrade`,
  );
}

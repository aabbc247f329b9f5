import { type Kysely, sql } from "kysely";
import { StoreError } from "./errors.ts";
import { lockSchema } from "./locks.ts";
import { migrations } from "./migrations/index.ts";
import { type Engine, type Migration, migrationHash, statementsOf } from "./migrations/migration.ts";
import { type MissingPartsRow, missingPartsText, partsSql } from "./postgres/schema-parts.ts";
import type { Database } from "./schema.ts";

/**
 * Brings the schema to the newest version, forward only. Processes that start at once are safe: a transaction takes a
 * lock at its begin (SQLite's of the file, PostgreSQL's of this schema), and the versions are read again inside it.
 *
 * @throws {StoreError} When the schema is newer than this program knows, or was made by other migrations.
 */
export async function migrate(db: Kysely<Database>, engine: Engine, now: () => number): Promise<void> {
  if ((await missingFrom(db, engine)).length === 0) return;
  await db.transaction().execute(async (transaction) => {
    if (engine === "postgres") await lockSchema(transaction);
    const missing = await missingFrom(transaction, engine);
    if (missing[0]?.version === 1) await createVersions(transaction);
    for (const migration of missing) {
      for (const statement of statementsOf(migration, engine)) await sql.raw(statement).execute(transaction);
      await transaction
        .insertInto("schema_versions")
        .values({
          version: migration.version,
          hash: migrationHash(migration, engine),
          applied_at: now(),
          parts: engine === "postgres" ? sql<string>`${sql.raw(partsSql)}` : null,
        })
        .execute();
    }
  });
}

function createVersions(db: Kysely<Database>): Promise<void> {
  return db.schema
    .createTable("schema_versions")
    .addColumn("version", "bigint", (column) => column.primaryKey().notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .addColumn("applied_at", "bigint", (column) => column.notNull())
    .addColumn("parts", "text")
    .execute();
}

/** The migrations that are still to be run. */
async function missingFrom(db: Kysely<Database>, engine: Engine): Promise<readonly Migration[]> {
  const names = await tablesOf(db, engine);
  const [foreign] = names;
  if (foreign === undefined) return migrations;
  const advice = adviceOf[engine];
  if (!names.includes("schema_versions")) {
    throw new StoreError(
      `The database is not one of modelgate's: it has a table ${foreign} and no schema_versions; ${advice}`,
    );
  }
  // All columns: an unreleased build may have had others.
  const versions = await db.selectFrom("schema_versions").selectAll().orderBy("version").execute();
  expectUsable(versions, engine);
  if (versions.length === 0) throw new StoreError(`The database lacks its data: ${restoreAgain}`);
  if (engine === "postgres") await expectAllParts(db);
  return migrations.slice(versions.length);
}

const adviceOf: Readonly<Record<Engine, string>> = {
  sqlite: "name another file",
  postgres: "name an empty one in DATABASE_URL",
};

/** @throws {StoreError} When these versions of a schema are not those of this program, or newer. */
export function expectUsable(
  versions: readonly { readonly version: number; readonly hash: string }[],
  engine: Engine,
): void {
  const isOurs = versions.every(({ version, hash }, place) => {
    const migration = migrations[place];
    return migration === undefined || (migration.version === version && migrationHash(migration, engine) === hash);
  });
  if (!isOurs) {
    throw new StoreError(
      `The database was made by an unreleased build of modelgate, whose tables are not those of this one; ${adviceOf[engine]}`,
    );
  }
  refuseNewer(versions.at(-1)?.version ?? 0);
}

const restoreAgain =
  "a restore is under way, or ended before its time; restore the backup with pg_restore --single-transaction";

/** A restore that goes on after an error leaves a database without some of its constraints. */
async function expectAllParts(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql.raw<MissingPartsRow>(missingPartsText).execute(db);
  const missing = rows[0]?.missing ?? [];
  if (missing.length === 0) return;
  const shown =
    missing.length > 3 ? `${missing.slice(0, 3).join(", ")} and ${missing.length - 3} more` : missing.join(", ");
  throw new StoreError(`The database lacks ${shown}: ${restoreAgain}`);
}

async function tablesOf(db: Kysely<Database>, engine: Engine): Promise<string[]> {
  const query =
    engine === "sqlite"
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_'`
      : sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`;
  const { rows } = await query.execute(db);
  return rows.map((row) => row.name);
}

function refuseNewer(version: number): void {
  const newest = migrations.at(-1)?.version ?? 0;
  if (version <= newest) return;
  throw new StoreError(
    `The database has schema version ${version} and this modelgate knows up to ${newest}: start the newer modelgate that wrote it, or restore a backup from before its upgrade`,
  );
}

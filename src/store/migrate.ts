import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";
import { migrations } from "./migrations/index.ts";
import { StoreError } from "./store-error.ts";

/**
 * Brings the schema to the newest version, forward only. Two processes that start at once are safe: a transaction
 * takes the write lock at its begin, and the version is read again inside it.
 *
 * @throws {StoreError} When the schema is newer than this program knows.
 */
export async function migrate(db: Kysely<Database>, now: () => number): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = await versionOf(db);
  if (found === newest) return;
  refuseNewer(found, newest);
  await db.transaction().execute(async (transaction) => {
    await transaction.schema
      .createTable("schema_versions")
      .ifNotExists()
      .addColumn("version", "integer", (column) => column.primaryKey().notNull())
      .addColumn("applied_at", "integer", (column) => column.notNull())
      .execute();
    const locked = await versionOf(transaction);
    refuseNewer(locked, newest);
    for (const migration of migrations) {
      if (migration.version <= locked) continue;
      await migration.up(transaction as unknown as Kysely<unknown>);
      await transaction
        .insertInto("schema_versions")
        .values({ version: migration.version, applied_at: now() })
        .execute();
    }
  });
}

async function versionOf(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db);
  const names = rows.map((row) => row.name);
  if (!names.includes("schema_versions")) {
    const foreign = names.find((name) => !name.startsWith("sqlite_"));
    if (foreign === undefined) return 0;
    throw new StoreError(
      `The database is not one of modelgate's: it has a table ${foreign} and no schema_versions; name another file`,
    );
  }
  const row = await db
    .selectFrom("schema_versions")
    .select((select) => select.fn.max("version").as("version"))
    .executeTakeFirst();
  return row?.version ?? 0;
}

function refuseNewer(found: number, newest: number): void {
  if (found <= newest) return;
  throw new StoreError(
    `The database has schema version ${found} and this modelgate knows up to ${newest}: start the newer modelgate that wrote it, or restore a backup from before its upgrade`,
  );
}

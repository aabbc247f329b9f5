import { type Kysely, sql } from "kysely";
import type { Database } from "./schema.ts";

/**
 * Serializes the transactions that lock the same name, also across processes: each waits until the one before it ends.
 * A transaction of the embedded store is alone anyway.
 */
export async function lockName(db: Kysely<Database>, name: string, shared: boolean): Promise<void> {
  if (shared) await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}

/**
 * Runs work in one process at a time. An embedded store needs no lock: only one process serves from it.
 */
export function withMigrationLock<T>(
  { db, shared }: { db: Kysely<Database>; shared: boolean },
  work: () => Promise<T>,
): Promise<T> {
  if (!shared) return work();
  return db.transaction().execute(async (transaction) => {
    await lockSchema(transaction);
    return work();
  });
}

/** Lets one process at a time change the schema, until the transaction ends. */
export async function lockSchema(db: Kysely<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('modelgate ' || current_schema(), 0))`.execute(db);
}

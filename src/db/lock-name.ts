import { type Kysely, sql } from "kysely";
import type { Database } from "./schema.ts";

/**
 * Makes the transactions that ask for one name wait for each other until they end, also those of other processes. A
 * transaction of the embedded store is alone anyway.
 */
export async function lockName(db: Kysely<Database>, name: string, shared: boolean): Promise<void> {
  if (shared) await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}

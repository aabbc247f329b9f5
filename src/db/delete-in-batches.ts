import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./schema.ts";

/** Maximum number of rows deleted by one statement: no statement should hold the write lock for long. */
const rowsAtOnce = 100;

const keys = {
  blobs: "id",
  contents: "id",
  idempotency_keys: "id",
  key_callers: "key_id, day, network, program",
  refusals: "id",
  stored_responses: "account_id, id",
} as const;

/** Deletes the matching rows in small batches. Other work runs between the batches. Returns the number of rows. */
export async function deleteInBatches(
  db: Kysely<Database>,
  table: keyof typeof keys,
  condition: RawBuilder<SqlBool>,
): Promise<number> {
  const key = sql.raw(keys[table]);
  // Looked at again when its lock is had: another process may have made a row live longer.
  const statement = sql`delete from ${sql.table(table)} where ${condition} and (${key}) in (
    select ${key} from ${sql.table(table)} where ${condition} limit ${sql.lit(rowsAtOnce)})`;
  for (let deleted = 0; ; ) {
    const { numAffectedRows } = await statement.execute(db);
    deleted += Number(numAffectedRows);
    if (Number(numAffectedRows) < rowsAtOnce) return deleted;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

import { type Kysely, sql } from "kysely";
import type { Engine, Migration } from "./migration.ts";

/** What the end of a call writes beside what it did before; all text, null: unknown or nothing to tell. */
const columns = ["protocol", "client_request_id", "detail"];

/** Calls tell how they ended, and requests that were refused before they became calls have a table. */
export const requestLog: Migration = {
  version: 15,
  async up(db, engine) {
    if (engine === "postgres") await sql`lock table calls in access exclusive mode`.execute(db);
    for (const column of columns) await db.schema.alterTable("calls").addColumn(column, "text").execute();
    await createRefusals(db, engine);
    await createIndexes(db);
    if (engine === "postgres") await widenEndCalls(db);
  },
};

async function createRefusals(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("refusals")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("opened_at", "bigint", (column) => column.notNull())
    .addColumn("endpoint", "text", (column) => column.notNull())
    .addColumn("capability", "text")
    .addColumn("model", "text")
    .addColumn("protocol", "text")
    .addColumn("status", "bigint", (column) => column.notNull())
    .addColumn("error_code", "text", (column) => column.notNull())
    .addColumn("message", "text", (column) => column.notNull())
    .addColumn("session", "text")
    .addColumn("client_request_id", "text")
    .addColumn("duration_ms", "bigint", (column) => column.notNull())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``)
    .execute();
}

/** Those of `calls` have few rows: an index of all calls would cost each of them more than the rest of this log. */
async function createIndexes(db: Kysely<unknown>): Promise<void> {
  const indexes = [
    "calls_failed on calls (opened_at) where error_code is not null",
    "calls_failed_of_account on calls (account_id, opened_at) where error_code is not null",
    "calls_of_session on calls (session, opened_at) where session is not null",
    "calls_by_client_id on calls (client_request_id, opened_at) where client_request_id is not null",
    "refusals_by_time on refusals (opened_at)",
    "refusals_of_account on refusals (account_id, opened_at)",
  ];
  for (const index of indexes) await sql.raw(`create index ${index}`).execute(db);
}

/** The function that writes the ends of calls takes the new columns behind the error code; the rest of its text stays. */
async function widenEndCalls(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef(pg_proc.oid) as definition
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = current_schema() and proname = 'end_calls'`.execute(db);
  const typed = columns.map((column) => `, ${column} text`).join("");
  const assigned = columns.map((column) => `, ${column} = given.${column}`).join("");
  for (const { definition } of rows) {
    const widened = definition
      .replace("error_code text", `error_code text${typed}`)
      .replace("error_code = given.error_code", `error_code = given.error_code${assigned}`);
    await sql.raw(widened).execute(db);
  }
}

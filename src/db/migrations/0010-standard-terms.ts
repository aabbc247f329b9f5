import { type Kysely, sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Old and new name of each table. */
const renamedTables = { key_months: "key_budget_usage", quota_days: "daily_quota_usage", openings: "opening_balances" };

/** Old and new value of `calls.capability`. */
const renamedCapabilities = { embed: "embeddings", image: "images", transcribe: "transcription", speak: "speech" };

/**
 * Tables and capabilities get their standard names. On PostgreSQL views keep the old table names alive for gateways of
 * version 0.1 that still run.
 */
export const standardTerms: Migration = {
  version: 10,
  async up(db, engine) {
    if (engine === "postgres") {
      // Most rows are changed before writers are kept out; the update below finds what they wrote meanwhile.
      await renameCapabilities(db);
      await sql`lock table calls, quota_days, key_months, openings in access exclusive mode`.execute(db);
    }
    await renameCapabilities(db);
    for (const [from, to] of Object.entries(renamedTables)) await db.schema.alterTable(from).renameTo(to).execute();
    await db.schema.dropIndex("key_months_of_account").execute();
    await db.schema
      .createIndex("key_budget_usage_of_account")
      .on("key_budget_usage")
      .columns(["account_id", "month"])
      .execute();
    if (engine === "postgres") await keepVersion01(db);
  },
};

/** One pass over the table, and one write for each call that is not a chat call. */
async function renameCapabilities(db: Kysely<unknown>): Promise<void> {
  const cases = Object.entries(renamedCapabilities).map(([from, to]) => sql`when ${sql.lit(from)} then ${sql.lit(to)}`);
  const old = Object.keys(renamedCapabilities).map((name) => sql.lit(name));
  await sql`update calls set capability = case capability ${sql.join(cases, sql` `)} end
    where capability in (${sql.join(old)})`.execute(db);
}

async function keepVersion01(db: Kysely<unknown>): Promise<void> {
  for (const [from, to] of Object.entries(renamedTables)) {
    await db.schema
      .createView(from)
      .as(sql`select * from ${sql.table(to)}` as never)
      .execute();
  }
  // Functions name tables in their text, which a rename does not change.
  await sql`
    do $$
    declare
      definition text;
    begin
      for definition in
        select pg_get_functiondef(pg_proc.oid) from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
        where nspname = current_schema() and prosrc ~ 'quota_days|key_months'
      loop
        execute replace(replace(definition, 'quota_days', 'daily_quota_usage'), 'key_months', 'key_budget_usage');
      end loop;
    end $$`.execute(db);
  // A quote inside a JSON text is escaped, so these characters are always the field itself.
  const renamed = Object.entries(renamedCapabilities).reduce(
    (text, [from, to]) => `replace(${text}, '"capability":"${from}"', '"capability":"${to}"')`,
    "opens::text",
  );
  await sql
    .raw(`
    create or replace function open_calls(node text, opens json) returns text[] language plpgsql as $$
    begin
      if position('"guarded":true' in opens::text) > 0 then return open_guarded_calls(node, ${renamed}::json); end if;
      return array(select id from json_to_recordset(opens) as given (id text));
    end $$`)
    .execute(db);
}

import { type Kysely, sql } from "kysely";
import type { Engine, Migration } from "./migration.ts";

const names = ["account_id", "key_id", "model", "plugin"];
const sums = `requests failures refused failed input_tokens cache_read_tokens cache_write_tokens cache_write_1h_tokens
  output_tokens images audio_ms characters call_units cost_nanodollars charged_nanodollars quota_tokens`.split(/\s+/);
const buckets = Array.from({ length: 24 }, (_, bucket) => bucket);
const latencies = ["f", "d"].flatMap((measure) => buckets.map((bucket) => `${measure}${bucket}`));

/** Requests have tags, and are summed up by account, key, model, plugin, status, session and tag. */
export const statistics: Migration = {
  version: 20,
  async up(db, engine) {
    if (engine === "postgres") await sql`lock table calls in access exclusive mode`.execute(db);
    for (const table of ["calls", "refusals"]) await db.schema.alterTable(table).addColumn("tag", "text").execute();
    // Only calls with a tag pay for these.
    for (const index of [
      "calls_of_tag on calls (tag, opened_at)",
      "calls_of_tag_of_account on calls (account_id, tag, opened_at)",
    ])
      await sql.raw(`create index ${index} where tag is not null`).execute(db);
    await createStatistics(db, engine);
    await createGaps(db);
    if (engine === "postgres") await widenEndCalls(db);
  },
};

async function createStatistics(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const columns = [
    "hours bigint not null, kind text not null, hour bigint not null",
    ...names.map((name) => `${name} text not null`),
    "status bigint not null, name text not null",
    ...[...sums, ...latencies].map((name) => `${name} bigint not null`),
    `primary key (hours, kind, hour, ${names}, status, name)`,
  ];
  await sql.raw(`create table statistics (${columns}) ${engine === "sqlite" ? "without rowid" : ""}`).execute(db);
}

/** The calls that are there are counted later, in the background. */
async function createGaps(db: Kysely<unknown>): Promise<void> {
  await sql`create table statistics_gaps (id text not null primary key, node_id text, from_id text not null,
    until_id text, settled_from bigint not null, exceptions text not null, partial text)`.execute(db);
  await sql`insert into statistics_gaps (id, node_id, from_id, until_id, settled_from, exceptions)
    select 'earlier', null, '', max(id), 0, '[]' from calls having count(*) > 0`.execute(db);
}

/** The function that writes the ends of calls takes the tag behind the error code; the rest of its text stays. */
async function widenEndCalls(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef(pg_proc.oid) as definition
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = current_schema() and proname = 'end_calls'`.execute(db);
  for (const { definition } of rows) {
    const widened = definition
      .replace("error_code text", "error_code text, tag text")
      .replace("error_code = given.error_code", "error_code = given.error_code, tag = given.tag");
    await sql.raw(widened).execute(db);
  }
}

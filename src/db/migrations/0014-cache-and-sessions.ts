import { type Kysely, sql } from "kysely";
import type { Migration } from "./migration.ts";

const hourly = "cache_write_1h_tokens";
const summed = ["usage_hours", "usage_days", "opening_balances"];

/** The sums of `usage_hours`, with the new one. */
const sums =
  `requests failures input_tokens cache_read_tokens cache_write_tokens ${hourly} output_tokens images audio_ms
  characters call_units cost_nanodollars charged_nanodollars quota_tokens`.split(/\s+/);
const columns = ["account_id", "day", "model", ...sums].join(", ");
const each = (write: (sum: string) => string) => sums.map(write).join(", ");
const added = each((sum) => `${sum} = usage_days.${sum} + excluded.${sum}`);

/** Tokens that a provider caches for an hour are counted apart, and calls are recorded with their client's session. */
export const cacheAndSessions: Migration = {
  version: 14,
  async up(db, engine) {
    if (engine === "postgres")
      await sql`lock table calls, usage_hours, usage_days, opening_balances in access exclusive mode`.execute(db);
    await addColumns(db);
    if (engine === "sqlite") return keepDaysInSqlite(db);
    await keepDaysInPostgres(db);
    await widenFunctions(db);
  },
};

async function addColumns(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("calls").addColumn(hourly, "bigint").execute();
  await db.schema.alterTable("calls").addColumn("session", "text").execute();
  for (const table of summed) {
    await db.schema
      .alterTable(table)
      .addColumn(hourly, "bigint", (column) => column.notNull().defaultTo(0))
      .execute();
  }
}

async function keepDaysInSqlite(db: Kysely<unknown>): Promise<void> {
  const statements = [
    "drop trigger usage_days_of_new_hour",
    "drop trigger usage_days_of_hour",
    `create trigger usage_days_of_new_hour after insert on usage_hours begin
      insert into usage_days (${columns})
      values (new.account_id, new.hour / 24, new.model, ${each((sum) => `new.${sum}`)})
      on conflict (account_id, day, model) do update set ${added};
    end`,
    `create trigger usage_days_of_hour after update on usage_hours begin
      update usage_days set ${each((sum) => `${sum} = ${sum} + new.${sum} - old.${sum}`)}
      where account_id = new.account_id and day = new.hour / 24 and model = new.model;
    end`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

async function keepDaysInPostgres(db: Kysely<unknown>): Promise<void> {
  const before = `select account_id, hour, model, ${each((sum) => `-${sum} as ${sum}`)} from before_hours`;
  const sources = {
    count_new_hours: "after_hours",
    count_hours: `(select account_id, hour, model, ${sums.join(", ")} from after_hours union all ${before}) as changed`,
  };
  for (const [name, source] of Object.entries(sources)) {
    await sql
      .raw(`
      create or replace function ${name}() returns trigger language plpgsql as $$
      begin
        if not exists (select from after_hours) then return null; end if;
        insert into usage_days (${columns})
        select account_id, hour / 24, model, ${each((sum) => `sum(${sum})`)} from ${source}
        group by account_id, hour / 24, model order by account_id, hour / 24, model
        on conflict (account_id, day, model) do update set ${added};
        return null;
      end $$`)
      .execute(db);
  }
}

/** An item of a list in SQL that counts the tokens written to a cache. */
const writtenItem = /, *((?:coalesce\(sum\()?[^,()]*\bcache_write_tokens\b(?:\), 0\)|[^,()]*))/g;

/** The functions that write a batch take both, each beside what they have: the text of the rest stays as it is. */
async function widenFunctions(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select proname as name, pg_get_functiondef(pg_proc.oid) as definition
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = current_schema() and proname in ('end_calls', 'record_calls', 'decide_holds')`.execute(db);
  for (const { name, definition } of rows) {
    const widened =
      name === "end_calls"
        ? definition.replace(writtenItem, (item) => item + item.replaceAll("cache_write_tokens", hourly))
        : definition
            .replaceAll("price_version text,", "price_version text, session text,")
            .replaceAll("price_version, premium", "price_version, session, premium")
            .replaceAll("given.price_version,", "given.price_version, given.session,");
    await sql.raw(widened).execute(db);
  }
}

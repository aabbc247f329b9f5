import { type Kysely, sql } from "kysely";
import type { Migration } from "./migration.ts";

const added = ["audio_input_tokens", "audio_output_tokens", "image_output_tokens"];
const summed = ["usage_hours", "usage_days", "opening_balances", "statistics"];

/** The sums of `usage_hours`, with the new ones. */
const sums =
  `requests failures input_tokens cache_read_tokens cache_write_tokens cache_write_1h_tokens output_tokens images audio_ms
  characters call_units cost_nanodollars charged_nanodollars quota_tokens ${added.join(" ")}`.split(/\s+/);
const columns = ["account_id", "day", "model", ...sums].join(", ");
const each = (write: (sum: string) => string) => sums.map(write).join(", ");
const addEach = each((sum) => `${sum} = usage_days.${sum} + excluded.${sum}`);

/** Tokens of sound and of pictures are counted apart from those of text. */
export const mediaTokens: Migration = {
  version: 22,
  async up(db, engine) {
    if (engine === "postgres")
      await sql`lock table calls, usage_hours, usage_days, opening_balances in access exclusive mode`.execute(db);
    await addColumns(db);
    if (engine === "sqlite") return keepDaysInSqlite(db);
    await keepDaysInPostgres(db);
    await widenEndCalls(db);
  },
};

async function addColumns(db: Kysely<unknown>): Promise<void> {
  const tables = await db.introspection.getTables();
  const present = summed.filter((name) => tables.some((table) => table.name === name));
  for (const name of added) {
    await db.schema.alterTable("calls").addColumn(name, "bigint").execute();
    for (const table of present) {
      await db.schema
        .alterTable(table)
        .addColumn(name, "bigint", (column) => column.notNull().defaultTo(0))
        .execute();
    }
  }
}

async function keepDaysInSqlite(db: Kysely<unknown>): Promise<void> {
  const statements = [
    "drop trigger usage_days_of_new_hour",
    "drop trigger usage_days_of_hour",
    `create trigger usage_days_of_new_hour after insert on usage_hours begin
      insert into usage_days (${columns})
      values (new.account_id, new.hour / 24, new.model, ${each((sum) => `new.${sum}`)})
      on conflict (account_id, day, model) do update set ${addEach};
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
        on conflict (account_id, day, model) do update set ${addEach};
        return null;
      end $$`)
      .execute(db);
  }
}

/** An item of a list in SQL that counts the tokens of an answer. */
const outputItem = /, *((?:coalesce\(sum\()?[^,()]*\boutput_tokens\b(?:\), 0\)|[^,()]*))/g;

/** The function that writes the ends of calls takes the new columns beside those; the rest of its text stays. */
async function widenEndCalls(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef(pg_proc.oid) as definition
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = current_schema() and proname = 'end_calls'`.execute(db);
  for (const { definition } of rows) {
    const widened = definition.replace(outputItem, (item) =>
      [item, ...added.map((name) => item.replaceAll("output_tokens", name))].join(""),
    );
    await sql.raw(widened).execute(db);
  }
}

import { type CreateTableBuilder, type Kysely, type RawBuilder, sql } from "kysely";
import type { Engine, Migration } from "./migration.ts";

const sums = [
  "requests",
  "failures",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "images",
  "audio_ms",
  "characters",
  "call_units",
  "cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
];
const columns = sql.raw(["account_id", "day", "model", ...sums].join(", "));
const eachSum = (write: (sum: string) => string) => sql.raw(sums.map(write).join(", "));
const added = eachSum((sum) => `${sum} = usage_days.${sum} + excluded.${sum}`);

/**
 * Sums of days, so that a year is read without its hours. The database keeps them itself whenever sums of hours are
 * written: so does a gateway of an older version that still runs, and no batch that is on its way now is left out.
 */
export const usageDays: Migration = {
  version: 8,
  async up(db, engine) {
    await createTable(db, engine);
    // The triggers come first: on PostgreSQL they wait for whoever writes hours, and let nobody write until the end.
    if (engine === "sqlite") await keepInSqlite(db);
    else await keepInPostgres(db);
    await sql`insert into usage_days (${columns})
      select account_id, hour / 24, model, ${eachSum((sum) => `sum(${sum})`)} from usage_hours
      group by account_id, hour / 24, model`.execute(db);
  },
};

async function createTable(db: Kysely<unknown>, engine: Engine): Promise<void> {
  let table = db.schema
    .createTable("usage_days")
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("day", "bigint", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull()) as CreateTableBuilder<"usage_days", string>;
  for (const sum of sums) table = table.addColumn(sum, "bigint", (column) => column.notNull());
  await table
    .addPrimaryKeyConstraint("usage_days_key", ["account_id", "day", "model"])
    .modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``)
    .execute();
}

async function keepInSqlite(db: Kysely<unknown>): Promise<void> {
  await sql`create trigger usage_days_of_new_hour after insert on usage_hours begin
    insert into usage_days (${columns})
    values (new.account_id, new.hour / 24, new.model, ${eachSum((sum) => `new.${sum}`)})
    on conflict (account_id, day, model) do update set ${added};
    end`.execute(db);
  await sql`create trigger usage_days_of_hour after update on usage_hours begin
    update usage_days set ${eachSum((sum) => `${sum} = ${sum} + new.${sum} - old.${sum}`)}
    where account_id = new.account_id and day = new.hour / 24 and model = new.model;
    end`.execute(db);
}

/**
 * Once a statement, not once a row. One that inserts some rows and updates others wakes both triggers, also the one that
 * it has nothing for. Rows that two nodes touch are taken in the order of their keys.
 */
async function keepInPostgres(db: Kysely<unknown>): Promise<void> {
  const change = (of: RawBuilder<unknown>) => sql`
    if not exists (select from after_hours) then return null; end if;
    insert into usage_days (${columns})
    select account_id, hour / 24, model, ${eachSum((sum) => `sum(${sum})`)} from ${of}
    group by account_id, hour / 24, model order by account_id, hour / 24, model
    on conflict (account_id, day, model) do update set ${added};
    return null;`;
  const less = sql`(select * from after_hours union all
    select account_id, hour, model, ${eachSum((sum) => `-${sum}`)} from before_hours) as changed`;
  await sql`create function count_new_hours() returns trigger language plpgsql as $$
    begin ${change(sql`after_hours`)} end $$`.execute(db);
  await sql`create function count_hours() returns trigger language plpgsql as $$
    begin ${change(less)} end $$`.execute(db);
  await sql`create trigger usage_days_of_new_hours after insert on usage_hours
    referencing new table as after_hours for each statement execute function count_new_hours()`.execute(db);
  await sql`create trigger usage_days_of_hours after update on usage_hours
    referencing old table as before_hours new table as after_hours
    for each statement execute function count_hours()`.execute(db);
}

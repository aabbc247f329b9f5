import { type Kysely, sql } from "kysely";
import type { Migration } from "./migration.ts";

const meters =
  "input_tokens cache_read_tokens cache_write_tokens output_tokens images audio_ms characters call_units".split(" ");
const columnsOf = (names: readonly string[]) => sql.raw(names.join(", "));
const typed = (names: readonly string[]) => sql.raw(names.map((name) => `${name} bigint`).join(", "));

/** What the end of a call writes into its row, beside the meters. */
const endTexts = "state usage_source route error_code".split(" ");
const endNumbers =
  "settled_at cost_nanodollars charged_nanodollars quota_tokens status first_byte_ms duration_ms".split(" ");
const endColumns = [...endTexts, ...endNumbers, ...meters];
const usageSums = [...meters, "cost_nanodollars", "charged_nanodollars", "quota_tokens"];

/** What a hold writes. */
const openTexts = "id account_id key_id model capability price_version".split(" ");
const openNumbers = "premium opened_at quota_day hold_nanodollars hold_tokens budget_month partial".split(" ");

/**
 * The functions that write a batch keep their plans: one in plain SQL is planned anew each time, which took longer than
 * what it wrote. Holds that Redis has judged are only written.
 */
export const planBooks: Migration = {
  version: 7,
  async up(db, engine) {
    if (engine !== "postgres") return;
    await endCalls(db);
    await sql`alter function open_calls(text, json) rename to open_guarded_calls`.execute(db);
    await openCalls(db);
  },
};

/**
 * Rows that two nodes touch are taken in the order of their keys, so that no two wait for each other. The ids of the calls
 * are named twice, so that a plan that is kept looks for them in the index, whatever else was expected of the tables.
 */
async function endCalls(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function end_calls(ends json) returns void language plpgsql as $$
    begin
    with given as materialized (
      select * from json_to_recordset(ends) as given (
        id text, ${sql.raw(endTexts.map((name) => `${name} text`).join(", "))}, ${typed([...endNumbers, ...meters])})
    ), ended as (
      update calls set ${sql.raw(endColumns.map((name) => `${name} = given.${name}`).join(", "))}
      from given where calls.id = any (array(select id from given)) and calls.id = given.id and calls.state in ('open', 'abandoned')
      returning calls.*
    ), charges as (
      insert into entries (id, account_id, kind, amount_nanodollars, at)
      select id, account_id, 'charge', -charged_nanodollars, settled_at from ended where charged_nanodollars <> 0
    ), moves as (
      insert into wallets (account_id, balance_nanodollars)
      select account_id, -sum(charged_nanodollars) from ended where charged_nanodollars <> 0
      group by account_id order by account_id
      on conflict (account_id) do update
      set balance_nanodollars = wallets.balance_nanodollars + excluded.balance_nanodollars
    ), draws as (
      insert into quota_days (account_id, day, used_tokens)
      select account_id, quota_day, sum(quota_tokens) from ended where quota_day is not null and quota_tokens <> 0
      group by account_id, quota_day order by account_id, quota_day
      on conflict (account_id, day) do update set used_tokens = quota_days.used_tokens + excluded.used_tokens
    ), spends as (
      insert into key_months (account_id, key_id, month, spent_nanodollars)
      select account_id, key_id, budget_month, sum(charged_nanodollars) from ended
      where budget_month is not null and charged_nanodollars <> 0
      group by account_id, key_id, budget_month order by account_id, key_id, budget_month
      on conflict (account_id, key_id, month) do update
      set spent_nanodollars = key_months.spent_nanodollars + excluded.spent_nanodollars
    )
    insert into usage_hours (account_id, hour, model, requests, failures, ${columnsOf(usageSums)})
    select account_id, opened_at / 3600000, model,
      count(*) filter (where state = 'settled'), count(*) filter (where state = 'released'),
      ${sql.raw(usageSums.map((name) => `coalesce(sum(${name}), 0)`).join(", "))}
    from ended group by account_id, opened_at / 3600000, model
    order by account_id, opened_at / 3600000, model
    on conflict (account_id, hour, model) do update set
      ${sql.raw(["requests", "failures", ...usageSums].map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(", "))};
    end $$`.execute(db);
}

async function openCalls(db: Kysely<unknown>): Promise<void> {
  const columns = columnsOf([...openTexts, ...openNumbers]);
  await sql`
    create function open_calls(node text, opens json) returns text[] language plpgsql as $$
    begin
      -- No text can hold these characters: its quotes are written with a backslash.
      if position('"guarded":true' in opens::text) > 0 then return open_guarded_calls(node, opens); end if;
      insert into calls (state, node_id, ${columns})
      select 'open', node, ${columns} from json_to_recordset(opens) as given (
        ${sql.raw(openTexts.map((name) => `${name} text`).join(", "))}, ${typed(openNumbers)});
      return null;
    end $$`.execute(db);
}

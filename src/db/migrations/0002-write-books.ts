import { type Kysely, sql } from "kysely";

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
const openNumbers = "premium opened_at quota_day hold_nanodollars hold_tokens".split(" ");

/**
 * A batch in one round trip, with the plans of its statements kept by the server. Each statement of a function sees
 * what was committed before it began, which the guard relies upon: it judges after it has its locks.
 */
export async function writeBooksFunction(db: Kysely<unknown>): Promise<void> {
  await endCalls(db);
  await openCalls(db);
  // The ends come first, since they free what the holds may need. A call that begins and ends in one batch is late.
  await sql`
    create function write_books(node text, ends json, opens json, late json) returns text[] language plpgsql as $$
    declare
      refused text[];
    begin
      if ends is not null then perform end_calls(ends); end if;
      if opens is not null then refused := open_calls(node, opens); end if;
      if late is not null then perform end_calls(late); end if;
      return refused;
    end $$`.execute(db);
}

/** Rows that two nodes touch are taken in the order of their keys, so that no two wait for each other. */
async function endCalls(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function end_calls(ends json) returns void language sql as $$
    with given as materialized (
      select * from json_to_recordset(ends) as given (
        id text, ${sql.raw(endTexts.map((name) => `${name} text`).join(", "))}, ${typed([...endNumbers, ...meters])})
    ), ended as (
      update calls set ${sql.raw(endColumns.map((name) => `${name} = given.${name}`).join(", "))}
      from given where calls.id = given.id and calls.state in ('open', 'abandoned')
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
    )
    insert into usage_hours (account_id, hour, model, requests, failures, ${columnsOf(usageSums)})
    select account_id, opened_at / 3600000, model,
      count(*) filter (where state = 'settled'), count(*) filter (where state = 'released'),
      ${sql.raw(usageSums.map((name) => `coalesce(sum(${name}), 0)`).join(", "))}
    from ended group by account_id, opened_at / 3600000, model
    order by account_id, opened_at / 3600000, model
    on conflict (account_id, hour, model) do update set
      ${sql.raw(["requests", "failures", ...usageSums].map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(", "))}
    $$`.execute(db);
}

/**
 * Returns the ids of guarded holds that were not written, because the other nodes have left less than they take. Nodes
 * judge one after another: the lock of an account is held until the transaction ends. Later holds of a batch count
 * those before them also when these are refused, which errs on the careful side.
 */
async function openCalls(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function open_calls(node text, opens json) returns text[] language plpgsql as $$
    declare
      refused text[];
    begin
      perform pg_advisory_xact_lock(lock) from (
        select distinct hashtextextended(account_id, 0) as lock
        from json_to_recordset(opens) as given (account_id text, guarded boolean) where guarded order by lock
      ) as locks;
      with given as materialized (
        select * from rows from (json_to_recordset(opens) as (
          ${sql.raw(openTexts.map((name) => `${name} text`).join(", "))}, ${typed(openNumbers)},
          guarded boolean, quota_limit bigint)) with ordinality as given (
          ${columnsOf([...openTexts, ...openNumbers])}, guarded, quota_limit, place)
      ), money as (
        select account_id,
          coalesce((select balance_nanodollars from wallets where wallets.account_id = asked.account_id), 0)
          - coalesce((select sum(hold_nanodollars) from calls
            where calls.account_id = asked.account_id and state = 'open'), 0) as available
        from (select distinct account_id from given where guarded and premium = 1) as asked
      ), tokens as (
        select account_id, quota_day,
          coalesce((select used_tokens from quota_days
            where quota_days.account_id = asked.account_id and day = asked.quota_day), 0)
          + coalesce((select sum(hold_tokens) from calls where calls.account_id = asked.account_id
            and state = 'open' and calls.quota_day = asked.quota_day), 0) as taken
        from (select distinct account_id, quota_day from given where guarded and premium = 0) as asked
      ), judged as (
        select given.*, case
          when given.guarded is not true then true
          when premium = 1 then money.available - before_nanodollars > 0
            and money.available - before_nanodollars >= hold_nanodollars
          else quota_limit - tokens.taken - before_tokens > 0
            and quota_limit - tokens.taken - before_tokens >= hold_tokens
          end as let_in
        from (select *,
            sum(hold_nanodollars) over (partition by account_id order by place) - hold_nanodollars as before_nanodollars,
            sum(hold_tokens) over (partition by account_id order by place) - hold_tokens as before_tokens
          from given) as given
        left join money on money.account_id = given.account_id
        left join tokens on tokens.account_id = given.account_id and tokens.quota_day = given.quota_day
      ), written as (
        insert into calls (state, node_id, ${columnsOf([...openTexts, ...openNumbers])})
        select 'open', node, ${columnsOf([...openTexts, ...openNumbers])} from judged where let_in order by place
      )
      select array_agg(id) into refused from judged where not let_in;
      return refused;
    end $$`.execute(db);
}

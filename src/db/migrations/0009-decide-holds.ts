import { sql } from "kysely";
import type { Migration } from "./migration.ts";

const texts = "id account_id key_id model capability price_version".split(" ");
const numbers = "premium opened_at quota_day hold_nanodollars hold_tokens budget_month".split(" ");
const columns = [...texts, ...numbers].join(", ");
const typed = [...texts.map((name) => `${name} text`), ...numbers.map((name) => `${name} bigint`)].join(", ");

/**
 * PostgreSQL decides about holds on wallets, budgets and quotas itself: the statement that writes a hold returns how much
 * the call may hold, or what does not suffice.
 *
 * `write_books` stays for gateways of version 0.1 that still run: they can settle their calls and decide holds by SQL.
 * Holds decided in their Redis are refused (503), because that Redis no longer knows the wallets.
 */
export const decideHolds: Migration = {
  version: 9,
  async up(db, engine) {
    if (engine !== "postgres") return;
    await sql.raw(recordCalls).execute(db);
    await sql.raw(decideHoldsFunction).execute(db);
    await sql.raw(openCallsOfVersion01).execute(db);
  },
};

/** Writes a batch in one round trip and one transaction. Ends come first, because they free what the holds may need. */
const recordCalls = `
create function record_calls(node text, ends json, decided json, undecided json, late json) returns json
language plpgsql as $$
declare
  decisions json;
begin
  if ends is not null then perform end_calls(ends); end if;
  if decided is not null then
    insert into calls (state, node_id, ${columns})
    select 'open', node, ${columns} from json_to_recordset(decided) as given (${typed});
  end if;
  if undecided is not null then decisions := decide_holds(node, undecided); end if;
  if late is not null then perform end_calls(late); end if;
  return decisions;
end $$`;

/**
 * Nodes take turns per account: its lock is held until the transaction ends. Each statement of a function sees what was
 * committed before it began, so one statement reads both what was paid and what is held: a call that ends meanwhile is in
 * both or in neither. The holds of an account are decided in the order in which they arrived. A call holds what it wants
 * or all that is left, and is refused where that is less than its minimum. Day and month never go back behind one that was
 * drawn from, so a clock that steps back grants no extra quota.
 */
const decideHoldsFunction = `
create function decide_holds(node text, undecided json) returns json language plpgsql as $$
declare
  decisions json[] := '{}';
  given record;
  account text;
  wallet bigint;
  wallet_held numeric;
  quota_account text;
  of_day bigint;
  quota_used bigint;
  quota_held numeric;
  of_month bigint;
  budget_spent bigint;
  budget_held numeric;
  budget_left numeric;
  there bigint;
  held numeric;
  available numeric;
  hold numeric;
  refusal text;
begin
  perform pg_advisory_xact_lock(lock) from (
    select distinct hashtextextended(account_id, 0) as lock
    from json_to_recordset(undecided) as asked (account_id text) order by lock
  ) as locks;
  for given in
    select * from rows from (json_to_recordset(undecided) as (${typed}, quota_limit bigint, budget_limit bigint, min_hold bigint))
      with ordinality as asked (${columns}, quota_limit, budget_limit, min_hold, place) order by account_id, place
  loop
    refusal := null;
    of_month := null;
    budget_left := null;
    if given.premium = 1 then
      if account is distinct from given.account_id then
        account := given.account_id;
        select coalesce((select balance_nanodollars from wallets where account_id = account), 0),
          coalesce(sum(hold_nanodollars), 0)
          into wallet, wallet_held from calls where account_id = account and state = 'open';
      end if;
      available := wallet - wallet_held;
      if given.budget_limit is not null then
        of_month := greatest(given.budget_month,
          (select max(month) from key_months where account_id = account and key_id = given.key_id),
          (select max(budget_month) from calls where account_id = account and state = 'open' and key_id = given.key_id));
        select coalesce((select spent_nanodollars from key_months
            where account_id = account and key_id = given.key_id and month = of_month), 0),
          coalesce(sum(hold_nanodollars), 0)
          into budget_spent, budget_held from calls where account_id = account
          and state = 'open' and key_id = given.key_id and budget_month = of_month;
        budget_left := given.budget_limit - budget_spent - budget_held;
      end if;
      -- least() ignores nulls: without a budget the wallet alone decides.
      hold := least(available, budget_left, given.hold_nanodollars);
      if least(available, budget_left) <= 0 or hold < given.min_hold then
        refusal := case when budget_left <= 0 or budget_left < available then 'budget' else 'balance' end;
      end if;
      if refusal = 'budget' then
        there := budget_spent;
        held := budget_held;
      else
        there := wallet;
        held := wallet_held;
      end if;
    else
      if quota_account is distinct from given.account_id then
        quota_account := given.account_id;
        of_day := greatest(given.quota_day, (select max(day) from quota_days where account_id = quota_account),
          (select max(quota_day) from calls where account_id = quota_account and state = 'open'));
        select coalesce((select used_tokens from quota_days where account_id = quota_account and day = of_day), 0),
          coalesce(sum(hold_tokens), 0)
          into quota_used, quota_held
          from calls where account_id = quota_account and state = 'open' and quota_day = of_day;
      end if;
      available := given.quota_limit - quota_used - quota_held;
      hold := least(available, given.hold_tokens);
      if available <= 0 or hold < given.min_hold then refusal := 'quota'; end if;
      there := quota_used;
      held := quota_held;
    end if;
    if refusal is null then
      insert into calls (state, node_id, ${columns}) values ('open', node, given.id, given.account_id, given.key_id,
        given.model, given.capability, given.price_version, given.premium, given.opened_at,
        case when given.premium = 1 then null else of_day end,
        case when given.premium = 1 then hold else 0 end, case when given.premium = 1 then 0 else hold end,
        of_month);
      if given.premium = 1 then wallet_held := wallet_held + hold;
      else quota_held := quota_held + hold;
      end if;
    end if;
    decisions := array_append(decisions, json_build_object('id', given.id, 'refused', refusal, 'there', there,
      'held', held, 'hold', hold, 'day', of_day, 'month', of_month));
  end loop;
  return array_to_json(decisions);
end $$`;

/** Refuses the holds that version 0.1 decided in Redis. */
const openCallsOfVersion01 = `
create or replace function open_calls(node text, opens json) returns text[] language plpgsql as $$
begin
  if position('"guarded":true' in opens::text) > 0 then return open_guarded_calls(node, opens); end if;
  return array(select id from json_to_recordset(opens) as given (id text));
end $$`;

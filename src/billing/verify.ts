import { sql } from "kysely";
import { meterColumns, type Store } from "../db/index.ts";
import { compareSums, type SumsQuery } from "./compare-sums.ts";
import { openingComparisons } from "./verify-opening-balances.ts";

/** The result of {@link verifyLedger}. */
export interface Verification {
  /** Nothing differs. */
  ok: boolean;
  /** One sentence each, at most a thousand of each kind. */
  differences: string[];
  /** How much was read. `open` calls are running now, or their process died; `pruned` ones are sums only. */
  counts: { wallets: number; entries: number; calls: number; open: number; abandoned: number; pruned: number };
}

/**
 * Recomputes every balance from the entries, every charge from its call, and every quota day, budget of a key and
 * hourly sum from the calls, every daily sum from the hourly ones, and compares with what is written. Each comparison is
 * one statement and so sees one state of the ledger, also while a gateway is running. Of the days whose calls were pruned
 * the sums are compared, by account.
 */
export async function verifyLedger(store: Store): Promise<Verification> {
  const differences = [
    ...(await compareSums(store, { what: "Wallet of", found: "entries sum to" }, wallets, walletEntries)),
    ...(await compareSums(store, { what: "Call", found: "its entry says" }, charges, chargeEntries)),
    ...(await compareSums(store, { what: "Call", found: "its cost is" }, settled, costs)),
    ...(await compareSums(store, { what: "Quota of", found: "calls sum to" }, quotaDays, quotaCalls)),
    ...(await compareSums(store, { what: "Budget of", found: "calls sum to" }, budgetMonths, budgetCalls)),
    ...(await compareSums(store, { what: "Usage of", found: "calls sum to" }, usageHours, usageCalls)),
    ...(await compareSums(store, { what: "Usage of", found: "hours sum to" }, usageDays, hoursByDay)),
  ];
  for (const { labels, written, found } of openingComparisons) {
    differences.push(...(await compareSums(store, labels, written, found)));
  }
  return { ok: differences.length === 0, differences, counts: await count(store) };
}

const wallets: SumsQuery = {
  columns: ["balance_nanodollars"],
  from: sql`select account_id as subject, balance_nanodollars from wallets`,
};
const walletEntries: SumsQuery = {
  columns: ["balance_nanodollars"],
  from: sql`select account_id as subject, sum(amount_nanodollars) as balance_nanodollars from entries group by account_id`,
  calls: sql`select account_id as subject, id from entries where kind = 'charge'`,
};

/** Joins the opening of a row's account; what comes before its day is compared as sums. */
const opening = sql`left join opening_balances on opening_balances.account_id =`;
const dayMs = sql.lit(86_400_000);
const hoursOfDay = sql.lit(24);

const charges: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select id as subject, calls.charged_nanodollars from calls ${opening} calls.account_id
    where calls.charged_nanodollars <> 0 and (before_day is null or settled_at >= before_day * ${dayMs})`,
};
const chargeEntries: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select id as subject, -amount_nanodollars as charged_nanodollars from entries ${opening} entries.account_id
    where kind = 'charge' and (before_day is null or at >= before_day * ${dayMs})`,
};
const settled: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select id as subject, charged_nanodollars from calls`,
};

/** The billing rule, restated: only a settled premium call pays, its price or, if unknown, its hold. */
const costs: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select id as subject, coalesce(cost_nanodollars, hold_nanodollars) as charged_nanodollars
    from calls where state = 'settled' and premium = 1`,
};
const quotaDays: SumsQuery = {
  columns: ["used_tokens"],
  from: sql`select daily_quota_usage.account_id || ' on day ' || day as subject, used_tokens
    from daily_quota_usage ${opening} daily_quota_usage.account_id where before_day is null or day >= before_day`,
};
const quotaCalls: SumsQuery = {
  columns: ["used_tokens"],
  from: sql`select calls.account_id || ' on day ' || quota_day as subject, sum(calls.quota_tokens) as used_tokens
    from calls ${opening} calls.account_id
    where quota_day is not null and calls.quota_tokens <> 0 and (before_day is null or quota_day >= before_day)
    group by calls.account_id, quota_day`,
  calls: sql`select account_id || ' on day ' || quota_day as subject, id from calls where quota_tokens <> 0`,
};

const budgetMonths: SumsQuery = {
  columns: ["spent_nanodollars"],
  from: sql`select 'key ' || key_id || ' in the period from day ' || month as subject, spent_nanodollars
    from key_budget_usage ${opening} key_budget_usage.account_id where before_day is null or month >= before_day`,
};
const budgetCalls: SumsQuery = {
  columns: ["spent_nanodollars"],
  from: sql`select 'key ' || key_id || ' in the period from day ' || budget_month as subject,
    sum(calls.charged_nanodollars) as spent_nanodollars
    from calls ${opening} calls.account_id
    where budget_month is not null and calls.charged_nanodollars <> 0
      and (before_day is null or budget_month >= before_day)
    group by key_id, budget_month`,
  calls: sql`select 'key ' || key_id || ' in the period from day ' || budget_month as subject, id
    from calls where budget_month is not null and charged_nanodollars <> 0`,
};

/** Summed under the same name in the roll-up as it has in `calls`. */
const summed = [...Object.values(meterColumns), "cost_nanodollars", "charged_nanodollars", "quota_tokens"];
const usageColumns = ["requests", "failures", ...summed];
const usageHours: SumsQuery = {
  columns: usageColumns,
  from: sql`select usage_hours.account_id || ' in hour ' || hour || ' of ' || model as subject,
    ${sql.join(usageColumns.map((column) => sql.ref(`usage_hours.${column}`)))}
    from usage_hours ${opening} usage_hours.account_id
    where before_day is null or hour >= before_day * ${hoursOfDay}`,
};
const usageCalls: SumsQuery = {
  columns: usageColumns,
  from: sql`select calls.account_id || ' in hour ' || (opened_at / 3600000) || ' of ' || model as subject,
    sum(case when state = 'settled' then 1 else 0 end) as requests,
    sum(case when state = 'released' then 1 else 0 end) as failures,
    ${sql.join(summed.map((column) => sql`coalesce(sum(${sql.ref(`calls.${column}`)}), 0) as ${sql.ref(column)}`))}
    from calls ${opening} calls.account_id
    where state in ('settled', 'released') and (before_day is null or opened_at >= before_day * ${dayMs})
    group by calls.account_id, opened_at / 3600000, model`,
  calls: sql`select account_id || ' in hour ' || (opened_at / 3600000) || ' of ' || model as subject, id
    from calls where state in ('settled', 'released')`,
};

/** Hours are never pruned, so every day is compared, even if its calls are pruned. */
const usageDays: SumsQuery = {
  columns: usageColumns,
  from: sql`select account_id || ' on day ' || day || ' of ' || model as subject,
    ${sql.join(usageColumns.map((column) => sql.ref(column)))} from usage_days`,
};
const hoursByDay: SumsQuery = {
  columns: usageColumns,
  from: sql`select account_id || ' on day ' || (hour / 24) || ' of ' || model as subject,
    ${sql.join(usageColumns.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))}
    from usage_hours group by account_id, hour / 24, model`,
};

async function count({ db }: Store): Promise<Verification["counts"]> {
  const { rows } = await sql<Verification["counts"]>`select
    (select count(*) from wallets) as wallets,
    (select count(*) from entries) as entries,
    (select count(*) from calls) + (select count(*) from open_calls) as calls,
    (select count(*) from open_calls) as open,
    (select count(*) from calls where state = 'abandoned') as abandoned,
    (select coalesce(sum(calls), 0) from opening_balances) as pruned`.execute(db);
  const [counts] = rows;
  if (counts === undefined) throw new Error("Cannot count the ledger: the engine answered nothing");
  return { ...counts };
}

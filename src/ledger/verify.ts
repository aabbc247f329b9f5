import { sql } from "kysely";
import { meterColumns } from "../contract/index.ts";
import { isUncounted, type Store } from "../db/index.ts";
import { compareSums, type SumsQuery } from "./compare-sums.ts";
import { openingComparisons } from "./verify-opening-balances.ts";

/** The result of {@link verifyLedger}. */
export interface Verification {
  /** Nothing differs. */
  ok: boolean;
  /** One sentence each, at most a thousand of each kind. */
  differences: string[];
  /** How much was read. `open` calls are running now, or their process died; `pruned` ones are sums only. */
  counts: { wallets: number; transactions: number; calls: number; open: number; abandoned: number; pruned: number };
}

/**
 * Recomputes every balance from the transactions and the charges of calls, every charge from its call's cost, every quota
 * day, day of charges and budget of a key from the calls, and every sum of the roll-up from the calls that it has counted,
 * and compares with what is written. Each comparison is one statement and so sees one state of the ledger, also while a
 * gateway is running. Of the days whose calls were pruned the sums are compared, by account.
 */
export async function verifyLedger(store: Store): Promise<Verification> {
  const [sum, ofCalls] = ["transactions and charges sum to", "calls sum to"];
  const differences = [
    ...(await compareSums(store, { what: "Wallet of", found: sum }, wallets, movements)),
    ...(await compareSums(store, { what: "Call", found: "its cost is" }, settled, costs)),
    ...(await compareSums(store, { what: "Charges of", found: ofCalls }, chargedDays, chargedCalls)),
    ...(await compareSums(store, { what: "Quota of", found: ofCalls }, quotaDays, quotaCalls)),
    ...(await compareSums(store, { what: "Budget of", found: ofCalls }, periodStarts, budgetCalls)),
    ...(await compareSums(store, { what: "Usage of", found: ofCalls }, usageDays, usageCalls)),
    ...(await compareSums(store, { what: "Usage of", found: ofCalls }, usageHours, callsByHour)),
    ...(await compareSums(store, { what: "Usage of", found: "accounts sum to" }, usageOfAll, usageOfAccounts)),
    ...(await compareSums(store, { what: "Usage of", found: "its models sum to" }, usageOfKeys, usageOfModels)),
  ];
  for (const { labels, written, found } of openingComparisons) {
    differences.push(...(await compareSums(store, labels, written, found)));
  }
  return { ok: differences.length === 0, differences, counts: await count(store) };
}

/** Joins the opening of a row's account; what comes before its day is compared as sums. */
const opening = sql`left join opening_balances on opening_balances.account_id =`;
const dayMs = sql.lit(86_400_000);
const hourMs = sql.lit(3_600_000);
const hoursOfDay = sql.lit(24);

const wallets: SumsQuery = {
  columns: ["balance_nanodollars"],
  from: sql`select account_id as subject, balance_nanodollars from wallets`,
};
const movements: SumsQuery = {
  columns: ["balance_nanodollars"],
  from: sql`select account_id as subject, sum(moved) as balance_nanodollars from (
      select account_id, amount_nanodollars as moved from transactions
      union all select account_id, -charged_nanodollars from calls where charged_nanodollars <> 0
      union all select account_id, -charged_nanodollars from opening_balances
    ) as movements group by account_id`,
  calls: sql`select account_id as subject, id from calls where charged_nanodollars <> 0`,
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
const chargedDays: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select daily_charges.account_id || ' on day ' || day as subject, daily_charges.charged_nanodollars
    from daily_charges ${opening} daily_charges.account_id where before_day is null or day >= before_day`,
};
const chargedCalls: SumsQuery = {
  columns: ["charged_nanodollars"],
  from: sql`select calls.account_id || ' on day ' || (opened_at / ${dayMs}) as subject,
    sum(calls.charged_nanodollars) as charged_nanodollars from calls ${opening} calls.account_id
    where calls.charged_nanodollars <> 0 and (before_day is null or opened_at >= before_day * ${dayMs})
    group by calls.account_id, opened_at / ${dayMs}`,
  calls: sql`select account_id || ' on day ' || (opened_at / ${dayMs}) as subject, id from calls
    where charged_nanodollars <> 0`,
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

const periodStarts: SumsQuery = {
  columns: ["spent_nanodollars"],
  from: sql`select 'key ' || key_id || ' in the period from day ' || period_start as subject, spent_nanodollars
    from key_budget_usage ${opening} key_budget_usage.account_id where before_day is null or period_start >= before_day`,
};
const budgetCalls: SumsQuery = {
  columns: ["spent_nanodollars"],
  from: sql`select 'key ' || key_id || ' in the period from day ' || period_start as subject,
    sum(calls.charged_nanodollars) as spent_nanodollars
    from calls ${opening} calls.account_id
    where period_start is not null and calls.charged_nanodollars <> 0
      and (before_day is null or period_start >= before_day)
    group by key_id, period_start`,
  calls: sql`select 'key ' || key_id || ' in the period from day ' || period_start as subject, id
    from calls where period_start is not null and charged_nanodollars <> 0`,
};

/** Summed under the same name in the roll-up as it has in `calls`. */
const summed = [...meterColumns, "cost_nanodollars", "charged_nanodollars", "quota_tokens"];
const usageColumns = ["requests", "failures", ...summed];
const usageSum = sql.join(usageColumns.map((column) => sql`sum(${sql.ref(`usage.${column}`)}) as ${sql.ref(column)}`));
const callSum = sql.join([
  sql`sum(case when state = 'settled' then 1 else 0 end) as requests`,
  sql`sum(case when state = 'released' then 1 else 0 end) as failures`,
  ...summed.map((column) => sql`coalesce(sum(${sql.ref(`calls.${column}`)}), 0) as ${sql.ref(column)}`),
]);
/** Those that the roll-up has. */
const counted = sql`calls.state <> 'abandoned' and not (${isUncounted})`;
const onDay = sql`calls.account_id || ' on day ' || (opened_at / ${dayMs}) || ' of ' || calls.model`;
const inHour = sql`calls.account_id || ' in hour ' || (opened_at / ${hourMs}) || ' of ' || calls.model`;

const usageDays: SumsQuery = {
  columns: usageColumns,
  from: sql`select usage.account_id || ' on day ' || (hour / ${hoursOfDay}) || ' of ' || model as subject, ${usageSum}
    from usage ${opening} usage.account_id
    where hours = 24 and kind = 'call' and usage.account_id <> ''
      and (before_day is null or hour >= before_day * ${hoursOfDay})
    group by usage.account_id, hour, model`,
};
const usageCalls: SumsQuery = {
  columns: usageColumns,
  from: sql`select ${onDay} as subject, ${callSum}
    from calls ${opening} calls.account_id
    where ${counted} and (before_day is null or opened_at >= before_day * ${dayMs})
    group by calls.account_id, opened_at / ${dayMs}, calls.model`,
  calls: sql`select ${onDay} as subject, id from calls where ${counted}`,
};

/** Hours are deleted from the oldest on, all of one at once. */
const firstHour = sql`(select min(hour) from usage where hours = 1 and kind = 'call')`;
const usageHours: SumsQuery = {
  columns: usageColumns,
  from: sql`select usage.account_id || ' in hour ' || hour || ' of ' || model as subject, ${usageSum}
    from usage ${opening} usage.account_id
    where hours = 1 and kind = 'call' and usage.account_id <> ''
      and (before_day is null or hour >= before_day * ${hoursOfDay})
    group by usage.account_id, hour, model`,
};
const callsByHour: SumsQuery = {
  columns: usageColumns,
  from: sql`select ${inHour} as subject, ${callSum}
    from calls ${opening} calls.account_id
    where ${counted} and (before_day is null or opened_at >= before_day * ${dayMs})
      and opened_at >= ${firstHour} * ${hourMs}
    group by calls.account_id, opened_at / ${hourMs}, calls.model`,
  calls: sql`select ${inHour} as subject, id from calls where ${counted}`,
};

const usageOfAll: SumsQuery = {
  columns: usageColumns,
  from: sql`select 'all accounts on day ' || (hour / ${hoursOfDay}) || ' of ' || model as subject, ${usageSum} from usage
    where hours = 24 and kind = 'call' and account_id = '' group by hour, model`,
};
const usageOfAccounts: SumsQuery = {
  columns: usageColumns,
  from: sql`select 'all accounts on day ' || (hour / ${hoursOfDay}) || ' of ' || model as subject, ${usageSum} from usage
    where hours = 24 and kind = 'call' and account_id <> '' group by hour, model`,
};
const usageOfKeys: SumsQuery = {
  columns: usageColumns,
  from: sql`select 'key ' || key_id || ' on day ' || (hour / ${hoursOfDay}) as subject, ${usageSum} from usage
    where hours = 24 and kind = 'key' group by key_id, hour`,
};
const usageOfModels: SumsQuery = {
  columns: usageColumns,
  from: sql`select 'key ' || key_id || ' on day ' || (hour / ${hoursOfDay}) as subject, ${usageSum} from usage
    where hours = 24 and kind = 'call' and account_id <> '' group by key_id, hour`,
};

async function count({ db }: Store): Promise<Verification["counts"]> {
  const { rows } = await sql<Verification["counts"]>`select
    (select count(*) from wallets) as wallets,
    (select count(*) from transactions) as transactions,
    (select count(*) from calls) + (select count(*) from open_calls) as calls,
    (select count(*) from open_calls) as open,
    (select count(*) from calls where state = 'abandoned') as abandoned,
    (select coalesce(sum(calls), 0) from opening_balances) as pruned`.execute(db);
  const [counts] = rows;
  if (counts === undefined) throw new Error("Cannot count the ledger: the engine answered nothing");
  return { ...counts };
}

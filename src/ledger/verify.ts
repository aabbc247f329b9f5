import { type RawBuilder, sql } from "kysely";
import { meterColumns } from "../contract/index.ts";
import { isUncounted, type Store } from "../db/index.ts";
import { openingSums } from "./prune-calls.ts";

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
    ...(await compareSums(store, { what: "Budget", found: ofCalls }, spentBySubjects, callsOfSubjects(store.shared))),
    ...(await compareSums(store, { what: "Usage of", found: ofCalls }, usageDays, usageCalls)),
    ...(await compareSums(store, { what: "Usage of", found: ofCalls }, usageHours, callsByHour)),
    ...(await compareSums(store, { what: "Usage of", found: "accounts sum to" }, usageOfAll, usageOfAccounts)),
    ...(await compareSums(store, { what: "Usage of", found: "its models sum to" }, usageOfKeys, usageOfModels)),
  ];
  for (const { labels, written, found: actual } of openingComparisons) {
    differences.push(...(await compareSums(store, labels, written, actual)));
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

/** Those of periods that end are deleted with the calls; of one that does not, the part of pruned calls is kept. */
const keptPeriod = sql`(period_start = 0 or before_day is null or period_start >= before_day)`;
const spentBySubjects: SumsQuery = {
  columns: ["spent_nanodollars"],
  from: sql`select budget_id || ' of ' || budget_usage.name || ' from day ' || period_start as subject,
    spent_nanodollars - pruned_nanodollars as spent_nanodollars
    from budget_usage join budgets on budgets.id = budget_id ${opening} budgets.account_id where ${keptPeriod}`,
};
/** What calls drew on budgets that are still there. */
function callsOfSubjects(isPostgres: boolean): SumsQuery {
  const drawn = isPostgres
    ? sql`select calls.id, calls.account_id, calls.charged_nanodollars, draw ->> 0 as budget_id, draw ->> 1 as name,
        (draw ->> 2)::bigint as period_start from calls cross join lateral json_array_elements(calls.budgets::json) as draws (draw)
        where calls.budgets is not null`
    : sql`select calls.id, calls.account_id, calls.charged_nanodollars, value ->> 0 as budget_id, value ->> 1 as name,
        value ->> 2 as period_start from calls, json_each(calls.budgets) where calls.budgets is not null`;
  const subject = sql`budget_id || ' of ' || drawn.name || ' from day ' || period_start as subject`;
  const from = sql`from (${drawn}) as drawn join budgets on budgets.id = budget_id`;
  return {
    columns: ["spent_nanodollars"],
    from: sql`select ${subject}, sum(drawn.charged_nanodollars) as spent_nanodollars ${from}
      ${opening} drawn.account_id where drawn.charged_nanodollars <> 0 and ${keptPeriod}
      group by budget_id, drawn.name, period_start`,
    calls: sql`select ${subject}, drawn.id ${from} where drawn.charged_nanodollars <> 0`,
  };
}

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

interface Comparison {
  labels: ComparisonLabels;
  written: SumsQuery;
  found: SumsQuery;
}

const ofPruned = "calls and pruned calls sum to";
const subject = sql`opening_balances.account_id || ' before day ' || before_day as subject`;
const openingColumns = ["requests", "failures", ...openingSums];
const refsOf = (table: string) => openingColumns.map((column) => sql.ref(`${table}.${column}`));
const sumsOf = (table: string) =>
  sql.join(
    openingColumns.map((column) => sql`coalesce(sum(${sql.ref(`${table}.${column}`)}), 0) as ${sql.ref(column)}`),
  );

/** Calls that are left from before the opening's day, in the columns of the opening. */
const leftOver = sql.join([
  sql`case when state = 'settled' then 1 else 0 end`,
  sql`case when state = 'released' then 1 else 0 end`,
  ...openingSums.map((column) => sql`coalesce(calls.${sql.ref(column)}, 0)`),
]);

/** Usage, quota and charges of days, and budgets, from before an account's opening are compared with it, as sums. */
const openingComparisons: readonly Comparison[] = [
  {
    labels: { what: "Usage of", found: ofPruned },
    written: {
      columns: openingColumns,
      from: sql`select ${subject}, ${sumsOf("usage")} from usage
        join opening_balances on opening_balances.account_id = usage.account_id
        where hours = 24 and kind = 'call' and hour < before_day * ${hoursOfDay}
        group by opening_balances.account_id, before_day`,
    },
    found: {
      columns: openingColumns,
      from: sql`select ${subject}, ${sql.join(refsOf("opening_balances"))} from opening_balances
        union all select ${subject}, ${leftOver} from calls
        join opening_balances on opening_balances.account_id = calls.account_id
        where opened_at < before_day * ${dayMs} and state <> 'abandoned' and not (${isUncounted})`,
    },
  },
  {
    labels: { what: "Quota of", found: ofPruned },
    written: {
      columns: ["used_tokens"],
      from: sql`select ${subject}, used_tokens from daily_quota_usage
        join opening_balances on opening_balances.account_id = daily_quota_usage.account_id where day < before_day`,
    },
    found: {
      columns: ["used_tokens"],
      from: sql`select ${subject}, quota_tokens as used_tokens from opening_balances
        union all select ${subject}, coalesce(calls.quota_tokens, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where quota_day < before_day`,
    },
  },
  {
    labels: { what: "Budgets of the keys of", found: ofPruned },
    written: {
      columns: ["spent_nanodollars"],
      from: sql`select ${subject}, spent_nanodollars from key_budget_usage
        join opening_balances on opening_balances.account_id = key_budget_usage.account_id where period_start < before_day`,
    },
    found: {
      columns: ["spent_nanodollars"],
      from: sql`select ${subject}, opening_balances.budget_nanodollars as spent_nanodollars from opening_balances
        union all select ${subject}, coalesce(calls.charged_nanodollars, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where period_start < before_day`,
    },
  },
  {
    labels: { what: "Charges of", found: ofPruned },
    written: {
      columns: ["charged_nanodollars"],
      from: sql`select ${subject}, daily_charges.charged_nanodollars from daily_charges
        join opening_balances on opening_balances.account_id = daily_charges.account_id where day < before_day`,
    },
    found: {
      columns: ["charged_nanodollars"],
      from: sql`select ${subject}, opening_balances.charged_nanodollars from opening_balances
        union all select ${subject}, coalesce(calls.charged_nanodollars, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where opened_at < before_day * ${dayMs}`,
    },
  },
];

/** A query of a text column `subject` and the named columns of whole numbers. */
interface SumsQuery {
  columns: readonly string[];
  from: RawBuilder<unknown>;
  /** The calls that are summed up, as `subject` and `id`; absent where a subject is a call itself. */
  calls?: RawBuilder<unknown>;
}

/** The words of a difference: `Wallet of acc_1: balance_nanodollars is 88, entries sum to 87`. */
interface ComparisonLabels {
  what: string;
  found: string;
}

/** Bounds what a ruined database can print. */
const differencesMax = 1000;
/** Limit of the subjects whose calls are looked up, and of the calls that are named for each. */
const subjectsMax = 20;
const callsMax = 10;

/**
 * Compares two queries by subject; one that only one of them has counts as 0 in the other. One statement, without an
 * outer join, so that every engine runs it in one pass over each.
 */
async function compareSums(
  store: Store,
  labels: ComparisonLabels,
  written: SumsQuery,
  actual: SumsQuery,
): Promise<string[]> {
  const { columns } = written;
  const sums = columns.flatMap((column) => [`w_${column}`, `f_${column}`]);
  const zero = sql`0`;
  // A union matches columns by their place, so both sides list written before found.
  const side = (query: SumsQuery, isWritten: boolean) =>
    sql`select subject, ${sql.join(
      columns.flatMap((column) => [
        sql`${isWritten ? sql.ref(column) : zero} as ${sql.ref(`w_${column}`)}`,
        sql`${isWritten ? zero : sql.ref(column)} as ${sql.ref(`f_${column}`)}`,
      ]),
    )} from (${query.from}) as side`;
  const { rows } = await sql<Record<string, number | string>>`
    select subject, ${sql.join(sums.map((sum) => sql`sum(${sql.ref(sum)}) as ${sql.ref(sum)}`))}
    from (${side(written, true)} union all ${side(actual, false)}) as sides
    group by subject
    having ${sql.join(
      columns.map((column) => sql`sum(${sql.ref(`w_${column}`)}) <> sum(${sql.ref(`f_${column}`)})`),
      sql` or `,
    )}
    order by subject limit ${sql.lit(differencesMax)}`.execute(store.db);
  const named = await findCalls(store, actual, rows.slice(0, subjectsMax));
  return rows.flatMap((row) =>
    columns
      .filter((column) => row[`w_${column}`] !== row[`f_${column}`])
      .map((column) => {
        const sums = `${column} is ${row[`w_${column}`]}, ${labels.found} ${row[`f_${column}`]}`;
        return `${labels.what} ${row.subject}: ${sums}${named.get(row.subject) ?? ""}`;
      }),
  );
}

/** The newest calls of which the subjects are sums, in words: where to look first. */
async function findCalls(
  store: Store,
  { calls }: SumsQuery,
  rows: readonly Record<string, unknown>[],
): Promise<Map<unknown, string>> {
  const named = new Map<unknown, string>();
  if (calls === undefined) return named;
  for (const { subject } of rows) {
    const { rows: ids } = await sql<{ id: string }>`select id from (${calls}) as summed where subject = ${subject}
      order by id desc limit ${sql.lit(callsMax + 1)}`.execute(store.db);
    if (ids.length === 0) continue;
    const list = ids.slice(0, callsMax).map(({ id }) => id);
    named.set(subject, ` (calls ${list.join(", ")}${ids.length > callsMax ? " and more" : ""})`);
  }
  return named;
}

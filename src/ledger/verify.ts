import { type RawBuilder, sql } from "kysely";
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
  const comparisons = [
    wallets,
    charges,
    ...sumsOfDays.map(compareDays),
    compareSubjects(store.shared),
    compareUsage(24),
    compareUsage(1),
    usageOfAll,
    usageOfKeys,
    usageBefore,
    ...sumsOfDays.map(compareBefore),
  ];
  const differences: string[] = [];
  for (const comparison of comparisons) differences.push(...(await compare(store, comparison)));
  return { ok: differences.length === 0, differences, counts: await count(store) };
}

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

/** Two queries of a text column `subject` and the columns of whole numbers, which must be the same. */
interface Comparison {
  /** The words of a difference: `Wallet of acc_1: balance_nanodollars is 88, transactions and charges sum to 87`. */
  readonly what: string;
  readonly source: string;
  readonly columns: readonly string[];
  readonly written: RawBuilder<unknown>;
  readonly found: RawBuilder<unknown>;
  /** The calls that are summed up, as `subject` and `id`; absent where a subject is a call itself, or is of none. */
  readonly calls?: RawBuilder<unknown>;
}

const ofCalls = "calls sum to";
/** Joins the opening of a row's account; what comes before its day is compared as sums. */
const opening = sql`left join opening_balances on opening_balances.account_id =`;
const [dayMs, hourMs] = [sql.lit(86_400_000), sql.lit(3_600_000)];

const wallets: Comparison = {
  what: "Wallet of",
  source: "transactions and charges sum to",
  columns: ["balance_nanodollars"],
  written: sql`select account_id as subject, balance_nanodollars from wallets`,
  found: sql`select account_id as subject, sum(moved) as balance_nanodollars from (
      select account_id, amount_nanodollars as moved from transactions
      union all select account_id, -charged_nanodollars from calls where charged_nanodollars <> 0
      union all select account_id, -charged_nanodollars from opening_balances
    ) as movements group by account_id`,
  calls: sql`select account_id as subject, id from calls where charged_nanodollars <> 0`,
};

const charges: Comparison = {
  what: "Call",
  source: "its cost is",
  columns: ["charged_nanodollars"],
  written: sql`select id as subject, charged_nanodollars from calls`,
  /** The billing rule, restated: only a settled premium call pays, its price or, if unknown, its hold. */
  found: sql`select id as subject, coalesce(cost_nanodollars, hold_nanodollars) as charged_nanodollars
    from calls where state = 'settled' and premium = 1`,
};

/** A table of sums by day, which the end of a call adds to. */
interface SumsOfDays {
  readonly what: string;
  /** The same of the days before an opening, all together. */
  readonly whatBefore: string;
  readonly table: string;
  readonly column: string;
  readonly day: string;
  readonly amountOfCall: string;
  readonly dayOfCall: RawBuilder<unknown>;
  readonly ofOpening: string;
  readonly owner: "account_id" | "key_id";
  readonly words: readonly [string, string];
}

const ofAccount = { owner: "account_id", words: ["", " on day "], day: "day" } as const;
const sumsOfDays: readonly SumsOfDays[] = [
  {
    ...ofAccount,
    what: "Charges of",
    whatBefore: "Charges of",
    table: "daily_charges",
    column: "charged_nanodollars",
    amountOfCall: "charged_nanodollars",
    dayOfCall: sql`(opened_at / ${dayMs})`,
    ofOpening: "charged_nanodollars",
  },
  {
    ...ofAccount,
    what: "Quota of",
    whatBefore: "Quota of",
    table: "daily_quota_usage",
    column: "used_tokens",
    amountOfCall: "quota_tokens",
    dayOfCall: sql`quota_day`,
    ofOpening: "quota_tokens",
  },
  {
    owner: "key_id",
    words: ["key ", " in the period from day "],
    day: "period_start",
    what: "Budget of",
    whatBefore: "Budgets of the keys of",
    table: "key_budget_usage",
    column: "spent_nanodollars",
    amountOfCall: "charged_nanodollars",
    dayOfCall: sql`calls.period_start`,
    ofOpening: "budget_nanodollars",
  },
];

function compareDays(sums: SumsOfDays): Comparison {
  const { what, table, column, amountOfCall, dayOfCall, owner, words } = sums;
  const [before, between] = words.map((word) => sql.lit(word));
  const [day, ownerOfCall, amount] = [sql.ref(sums.day), sql.ref(`calls.${owner}`), sql.ref(`calls.${amountOfCall}`)];
  const subject = sql`${before} || ${ownerOfCall} || ${between} || ${dayOfCall} as subject`;
  return {
    what,
    source: ofCalls,
    columns: [column],
    written: sql`select ${before} || ${sql.ref(`${table}.${owner}`)} || ${between} || ${day} as subject,
      ${sql.ref(`${table}.${column}`)} from ${sql.table(table)} ${opening} ${sql.ref(`${table}.account_id`)}
      where before_day is null or ${day} >= before_day`,
    found: sql`select ${subject}, sum(${amount}) as ${sql.ref(column)} from calls ${opening} calls.account_id
      where ${dayOfCall} is not null and ${amount} <> 0 and (before_day is null or ${dayOfCall} >= before_day)
      group by ${ownerOfCall}, ${dayOfCall}`,
    calls: sql`select ${subject}, id from calls where ${amount} <> 0`,
  };
}

/** Budgets of subjects that are still there. */
function compareSubjects(isPostgres: boolean): Comparison {
  const drawn = isPostgres
    ? sql`select calls.id, calls.account_id, calls.charged_nanodollars, draw ->> 0 as budget_id, draw ->> 1 as name,
        (draw ->> 2)::bigint as period_start from calls cross join lateral json_array_elements(calls.budgets::json) as draws (draw)
        where calls.budgets is not null`
    : sql`select calls.id, calls.account_id, calls.charged_nanodollars, value ->> 0 as budget_id, value ->> 1 as name,
        value ->> 2 as period_start from calls, json_each(calls.budgets) where calls.budgets is not null`;
  const subjectOf = (table: string) =>
    sql`budget_id || ' of ' || ${sql.ref(`${table}.name`)} || ' from day ' || period_start as subject`;
  const from = sql`from (${drawn}) as drawn join budgets on budgets.id = budget_id`;
  // Those of periods that end are deleted with the calls; of one that does not, the part of pruned calls is kept.
  const isKept = sql`(period_start = 0 or before_day is null or period_start >= before_day)`;
  return {
    what: "Budget",
    source: ofCalls,
    columns: ["spent_nanodollars"],
    written: sql`select ${subjectOf("budget_usage")}, spent_nanodollars - pruned_nanodollars as spent_nanodollars
      from budget_usage join budgets on budgets.id = budget_id ${opening} budgets.account_id where ${isKept}`,
    found: sql`select ${subjectOf("drawn")}, sum(drawn.charged_nanodollars) as spent_nanodollars ${from}
      ${opening} drawn.account_id where drawn.charged_nanodollars <> 0 and ${isKept}
      group by budget_id, drawn.name, period_start`,
    calls: sql`select ${subjectOf("drawn")}, drawn.id ${from} where drawn.charged_nanodollars <> 0`,
  };
}

/** Summed under the same name in the roll-up and the openings as in `calls`. */
const usageColumns = ["requests", "failures", ...openingSums];
const sumsOf = (table: string) =>
  sql.join(usageColumns.map((column) => sql`coalesce(sum(${sql.ref(`${table}.${column}`)}), 0) as ${sql.ref(column)}`));
/** The same of one call, in the order of the columns. */
const ofCall = [
  sql`case when state = 'settled' then 1 else 0 end`,
  sql`case when state = 'released' then 1 else 0 end`,
  ...openingSums.map((column) => sql`coalesce(calls.${sql.ref(column)}, 0)`),
];
const sumsOfCalls = sql.join(
  ofCall.map((figure, place) => sql`sum(${figure}) as ${sql.ref(usageColumns[place] as string)}`),
);
/** Calls that the roll-up has. */
const isCounted = sql`calls.state <> 'abandoned' and not (${isUncounted})`;

function compareUsage(hours: 1 | 24): Comparison {
  const [word, ms] = hours === 1 ? [sql.lit(" in hour "), hourMs] : [sql.lit(" on day "), dayMs];
  const bucket = sql`(hour / ${sql.lit(hours)})`;
  const bucketOfCall = sql`(opened_at / ${ms})`;
  const subject = sql`calls.account_id || ${word} || ${bucketOfCall} || ' of ' || calls.model as subject`;
  // Hours are deleted from the oldest on, all of one at once.
  const isKept =
    hours === 24
      ? sql``
      : sql`and opened_at >= (select min(hour) from usage where hours = 1 and kind = 'call') * ${hourMs}`;
  return {
    what: "Usage of",
    source: ofCalls,
    columns: usageColumns,
    written: sql`select usage.account_id || ${word} || ${bucket} || ' of ' || model as subject, ${sumsOf("usage")}
      from usage ${opening} usage.account_id
      where hours = ${sql.lit(hours)} and kind = 'call' and usage.account_id <> ''
        and (before_day is null or hour >= before_day * 24)
      group by usage.account_id, hour, model`,
    found: sql`select ${subject}, ${sumsOfCalls} from calls ${opening} calls.account_id
      where ${isCounted} and (before_day is null or opened_at >= before_day * ${dayMs}) ${isKept}
      group by calls.account_id, ${bucketOfCall}, calls.model`,
    calls: sql`select ${subject}, id from calls where ${isCounted}`,
  };
}

function sumDays(subject: RawBuilder<unknown>, group: RawBuilder<unknown>, condition: RawBuilder<unknown>) {
  return sql`select ${subject} as subject, ${sumsOf("usage")} from usage where hours = 24 and ${condition} group by ${group}, hour`;
}

const [day, ofAccounts] = [sql`' on day ' || (hour / 24)`, sql`kind = 'call' and account_id <> ''`];
const [allOfDay, keyOfDay] = [sql`'all accounts' || ${day} || ' of ' || model`, sql`'key ' || key_id || ${day}`];

const usageOfAll: Comparison = {
  what: "Usage of",
  source: "accounts sum to",
  columns: usageColumns,
  written: sumDays(allOfDay, sql`model`, sql`kind = 'call' and account_id = ''`),
  found: sumDays(allOfDay, sql`model`, ofAccounts),
};
const usageOfKeys: Comparison = {
  what: "Usage of",
  source: "its models sum to",
  columns: usageColumns,
  written: sumDays(keyOfDay, sql`key_id`, sql`kind = 'key'`),
  found: sumDays(keyOfDay, sql`key_id`, ofAccounts),
};

const ofPruned = "calls and pruned calls sum to";
const before = sql`opening_balances.account_id || ' before day ' || before_day as subject`;
const joinOpening = (table: string) =>
  sql`join opening_balances on opening_balances.account_id = ${sql.ref(`${table}.account_id`)}`;

/** Usage from before an account's opening, which is compared with it as sums. */
const usageBefore: Comparison = {
  what: "Usage of",
  source: ofPruned,
  columns: usageColumns,
  written: sql`select ${before}, ${sumsOf("usage")} from usage ${joinOpening("usage")}
    where hours = 24 and kind = 'call' and hour < before_day * 24
    group by opening_balances.account_id, before_day`,
  found: sql`select ${before}, ${sql.join(usageColumns.map((column) => sql.ref(`opening_balances.${column}`)))}
    from opening_balances
    union all select ${before}, ${sql.join(ofCall)} from calls ${joinOpening("calls")}
    where opened_at < before_day * ${dayMs} and ${isCounted}`,
};

function compareBefore({ whatBefore, table, column, day, amountOfCall, dayOfCall, ofOpening }: SumsOfDays): Comparison {
  return {
    what: whatBefore,
    source: ofPruned,
    columns: [column],
    written: sql`select ${before}, ${sql.ref(`${table}.${column}`)} from ${sql.table(table)} ${joinOpening(table)}
      where ${sql.ref(day)} < before_day`,
    found: sql`select ${before}, ${sql.ref(`opening_balances.${ofOpening}`)} as ${sql.ref(column)} from opening_balances
      union all select ${before}, coalesce(${sql.ref(`calls.${amountOfCall}`)}, 0) from calls ${joinOpening("calls")}
      where ${dayOfCall} < before_day`,
  };
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
async function compare(store: Store, { what, source, columns, ...queries }: Comparison): Promise<string[]> {
  const { written, found: actual, calls } = queries;
  const sums = columns.flatMap((column) => [`w_${column}`, `f_${column}`]);
  const zero = sql`0`;
  // A union matches columns by their place, so both sides list written before found.
  const side = (query: RawBuilder<unknown>, isWritten: boolean) =>
    sql`select subject, ${sql.join(
      columns.flatMap((column) => [
        sql`${isWritten ? sql.ref(column) : zero} as ${sql.ref(`w_${column}`)}`,
        sql`${isWritten ? zero : sql.ref(column)} as ${sql.ref(`f_${column}`)}`,
      ]),
    )} from (${query}) as side`;
  const { rows } = await sql<Record<string, number | string>>`
    select subject, ${sql.join(sums.map((sum) => sql`sum(${sql.ref(sum)}) as ${sql.ref(sum)}`))}
    from (${side(written, true)} union all ${side(actual, false)}) as sides
    group by subject
    having ${sql.join(
      columns.map((column) => sql`sum(${sql.ref(`w_${column}`)}) <> sum(${sql.ref(`f_${column}`)})`),
      sql` or `,
    )}
    order by subject limit ${sql.lit(differencesMax)}`.execute(store.db);
  const named = calls === undefined ? new Map() : await findCalls(store, calls, rows.slice(0, subjectsMax));
  return rows.flatMap((row) =>
    columns
      .filter((column) => row[`w_${column}`] !== row[`f_${column}`])
      .map((column) => {
        const sums = `${column} is ${row[`w_${column}`]}, ${source} ${row[`f_${column}`]}`;
        return `${what} ${row.subject}: ${sums}${named.get(row.subject) ?? ""}`;
      }),
  );
}

/** The newest calls of which the subjects are sums, in words: where to look first. */
async function findCalls(
  store: Store,
  calls: RawBuilder<unknown>,
  rows: readonly Record<string, unknown>[],
): Promise<Map<unknown, string>> {
  const named = new Map<unknown, string>();
  for (const { subject } of rows) {
    const { rows: ids } = await sql<{ id: string }>`select id from (${calls}) as summed where subject = ${subject}
      order by id desc limit ${sql.lit(callsMax + 1)}`.execute(store.db);
    if (ids.length === 0) continue;
    const list = ids.slice(0, callsMax).map(({ id }) => id);
    named.set(subject, ` (calls ${list.join(", ")}${ids.length > callsMax ? " and more" : ""})`);
  }
  return named;
}

import { type RawBuilder, sql } from "kysely";
import { callSums, countedName, dayOf, isDamage, isUncounted, type Store, startOfDay } from "../db/index.ts";
import { findWrongReversals } from "./reversals.ts";

/** The result of {@link verifyLedger}. */
export interface Verification {
  /** Nothing differs. */
  ok: boolean;
  /** One sentence each, at most a thousand of each kind. */
  differences: string[];
  /** Figures as they were written, and yet wrong, by a clock that was ahead. One sentence each, likewise. */
  warnings: string[];
  /**
   * Number of rows read. `open` calls are running now, or their process died; `pruned` calls are sums only. Empty for a
   * damaged database, where nothing is compared.
   */
  counts: Partial<Counts>;
}

type Counts = Readonly<Record<"wallets" | "transactions" | "calls" | "open" | "abandoned" | "pruned", number>>;

/**
 * Recomputes every balance from the transactions and the charges of calls, every reversal from its credit, every charge from its call's cost, every quota
 * day, day of charges of an account and a key, and budget from the calls, and every sum of the roll-up from the calls that it has counted,
 * and compares with what is written. The account of every row has to exist, and its key to be a key of that account. Each
 * comparison is one statement and so sees one state of the ledger, also while a gateway is running. Of the days whose calls
 * were pruned the sums are compared, by account. Of an embedded database the structure of the file is checked first.
 *
 * @param now Milliseconds since 1970: days that are further ahead than one are of a clock that was wrong.
 */
export async function verifyLedger(store: Store, now: number = Date.now()): Promise<Verification> {
  const damage = await findDamage(store);
  if (damage.length > 0) return { ok: false, differences: damage, warnings: [], counts: {} };
  const comparisons: (Comparison | typeof findWrongCharges)[] = [
    wallets,
    findWrongCharges,
    (opened: Store) => findWrongReversals(opened, differencesMax),
    findStrayRows,
    findStraySums,
    ...sumsOfDays.map(compareDays),
    budgetsOfNames,
    compareUsage(24),
    compareUsage(1),
    usageOfAll,
    usageOfKeys,
    usageOfMisses,
    usageBefore,
    ...sumsOfDays.map(compareBefore),
  ];
  const differences: string[] = [];
  for (const each of comparisons)
    differences.push(...(await (typeof each === "function" ? each(store) : compare(store, each))));
  const warnings = await findDaysAhead(store, now);
  return { ok: differences.length === 0, differences, warnings, counts: await count(store) };
}

/** Free quota and charges of days that have not come. They count once, on the day that sees them first. */
async function findDaysAhead({ db }: Store, now: number): Promise<string[]> {
  const today = dayOf(now);
  const { rows } = await sql<{ what: string; day: number | string }>`select what, day from (
      select 'Quota of ' || account_id as what, max(day) as day
      from daily_quota_usage where day > ${today + 1} group by account_id
      union all
      select 'Spending of ' || account_id, max(day) from daily_charges where day > ${today + 1} group by account_id
    ) as ahead order by what limit ${sql.lit(differencesMax)}`.execute(db);
  return rows.map(({ what, day }) => {
    const date = new Date(startOfDay(Number(day))).toISOString().slice(0, 10);
    return `${what} is of ${date}, ${Number(day) - today} days ahead: a clock was wrong, and what it used counts once, and no more`;
  });
}

/** Sums whose subject is neither a key nor a budget of their account. */
async function findStraySums({ db }: Store): Promise<string[]> {
  const { rows } = await sql<{
    subject: number;
    account: string;
  }>`select distinct subject_id as subject, account.id as account
    from spending join payers as account on account.no = spending.account_id left join payers as payer on payer.no = subject_id
    where coalesce(payer.account_no, -1) <> spending.account_id and not exists (
      select 1 from budgets where no = subject_id and budgets.account_id in ('', account.id))
    order by account.id, subject_id limit ${sql.lit(differencesMax)}`.execute(db);
  return rows.map(
    ({ subject, account }) =>
      `Charges of the number ${subject}: it is neither account, key nor budget of account ${account}`,
  );
}

/** Pages of the file that cannot be right, as a disk that fails leaves them. PostgreSQL has its own tools for this. */
async function findDamage({ db, shared }: Store): Promise<string[]> {
  if (shared) return [];
  const describe = (problem: string) => `The database file is damaged, restore a backup: ${problem}`;
  try {
    const { rows } = await sql<{ quick_check: string }>`pragma quick_check(100)`.execute(db);
    return rows.flatMap(({ quick_check: problem }) => (problem === "ok" ? [] : [describe(problem)]));
  } catch (error) {
    // Some damage ends the check itself.
    if (isDamage(error)) return [describe(error.message)];
    throw error;
  }
}

async function count({ db }: Store): Promise<Counts> {
  const { rows } = await sql<Counts>`select
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

/** Two queries whose sums must be the same. */
interface Comparison {
  /** The text of a difference: `Wallet of acc_1: balance_nanodollars is 88, transactions and charges sum to 87`. */
  readonly what: string;
  readonly source: string;
  /** The columns that name the subject of a sum, and its words: `acc_1`. */
  readonly keys: readonly string[];
  readonly words: (row: Row) => string;
  /** Columns of whole numbers. */
  readonly columns: readonly string[];
  /** Rows of the keys and the columns, some or many of a subject: they are summed up here. */
  readonly written: RawBuilder<unknown>;
  readonly found: RawBuilder<unknown>;
  /** The calls that are summed up, as the keys and `id`; absent where a subject is of none. */
  readonly calls?: RawBuilder<unknown>;
}

type Row = Record<string, number | string>;

const ofCalls = "calls sum to";
/** Joins the opening of a row's account; days before it are compared as sums. */
const opening = sql`left join opening_balances on opening_balances.account_id =`;
const [dayMs, hourMs] = [sql.lit(86_400_000), sql.lit(3_600_000)];

const wallets: Comparison = {
  what: "Wallet of",
  source: "transactions and charges sum to",
  keys: ["account_id"],
  words: (row) => `${row.account_id}`,
  columns: ["balance_nanodollars"],
  written: sql`select account_id, balance_nanodollars from wallets`,
  found: sql`select account_id, amount_nanodollars as balance_nanodollars from transactions
    union all select account_id, -charged_nanodollars from calls where charged_nanodollars <> 0
    union all select account_id, -charged_nanodollars from opening_balances`,
  calls: sql`select account_id, id from calls where charged_nanodollars <> 0`,
};

/** The billing rule, restated: only a settled premium call pays, its price or, if unknown, nothing. */
async function findWrongCharges(store: Store): Promise<string[]> {
  return [...(await findUnpaid(store)), ...(await findWrongCosts(store))];
}

async function findUnpaid({ db }: Store): Promise<string[]> {
  const { rows } = await sql<{ id: string; charged: number | string; due: number | string }>`select id, charged, due
    from (select id, coalesce(charged_nanodollars, 0) as charged, case when state = 'settled' and premium = 1
      then coalesce(cost_nanodollars, 0) else 0 end as due from calls) as charges
    where charged <> due order by id limit ${sql.lit(differencesMax)}`.execute(db);
  return rows.map(({ id, charged, due }) => `Call ${id}: charged_nanodollars is ${charged}, its cost is ${due}`);
}

/**
 * What a call costs is what its provider is owed, raised by its markup and rounded up once. Of the two, only the rounded
 * amounts are there: one nanodollar of the provider's is a fraction more or less. Where the provider is owed by a price of its own,
 * one does not follow from the other.
 */
async function findWrongCosts({ db }: Store): Promise<string[]> {
  const factor = sql`(10000 + coalesce(markup_basis_points, 0)) / 10000.0`;
  const { rows } = await sql<{ id: string; cost: number | null; provider_cost: number | null }>`select id,
      cost_nanodollars as cost, provider_cost_nanodollars as provider_cost from calls
    where (cost_nanodollars is null) <> (provider_cost_nanodollars is null)
      or (provider_price_version is null and (
        (markup_basis_points is null and cost_nanodollars <> provider_cost_nanodollars)
        or (markup_basis_points is not null and (cost_nanodollars >= provider_cost_nanodollars * ${factor} + 1
          or cost_nanodollars < (provider_cost_nanodollars - 1) * ${factor}))))
    order by id limit ${sql.lit(differencesMax)}`.execute(db);
  return rows.map(
    ({ id, cost, provider_cost: ofProvider }) =>
      `Call ${id}: cost_nanodollars is ${cost}, which is not provider_cost_nanodollars ${ofProvider} with its markup`,
  );
}

/** A table whose rows belong to an account, or to an account and a key. */
interface OwnedRows {
  readonly what: string;
  readonly table: string;
  readonly hasKey?: true;
  /** Account and key are numbers of `payers`. */
  readonly hasNumbers?: true;
  readonly where?: RawBuilder<unknown>;
}

const ownedRows: readonly OwnedRows[] = [
  { what: "Calls", table: "call_rows", hasKey: true, hasNumbers: true },
  { what: "Running calls", table: "open_call_rows", hasKey: true, hasNumbers: true },
  { what: "Wallet", table: "wallet_rows", hasNumbers: true },
  { what: "Charges", table: "spending", hasNumbers: true },
  { what: "Transactions", table: "transactions" },
  { what: "Quota", table: "daily_quota_usage" },
  { what: "Sums of pruned calls", table: "opening_balances" },
  // Refused requests are no calls: a key that made nothing else is forgotten when it has ended.
  { what: "Usage", table: "usage", hasKey: true, where: sql`account_id <> '' and requests + failures > 0` },
];

interface StrayRow {
  account: string | null;
  account_no?: number;
  key?: string | null;
  key_no?: number;
  has_account: number | boolean;
}

/**
 * Rows whose account does not exist, or whose key is not a key of that account. Whose a deleted key was, `payers` tells.
 */
async function findStrayRows({ db }: Store): Promise<string[]> {
  const differences: string[] = [];
  for (const { what, table, ...rows } of ownedRows) {
    const { rows: strays } = await sql<StrayRow>`select owners.*, accounts.id is not null as has_account
      from (${selectOwners(table, rows)}) as owners left join accounts on accounts.id = owners.account
      ${rows.hasKey ? sql`left join payers as own on own.id = owners.account left join payers on payers.id = owners.key` : sql``}
      where accounts.id is null
        ${rows.hasKey ? sql`or (owners.has_key and coalesce(payers.account_no, -1) <> coalesce(own.no, -2))` : sql``}
      order by owners.account limit ${sql.lit(differencesMax)}`.execute(db);
    for (const [place, stray] of strays.entries()) {
      const account = stray.account ?? `with the number ${stray.account_no}`;
      const problem = stray.has_account
        ? `of key ${stray.key ?? `with the number ${stray.key_no}`}: it is not a key of account ${account}`
        : `of account ${account}: there is no such account`;
      const isOfCalls = table === "call_rows" && place < subjectsMax;
      differences.push(`${what} ${problem}${isOfCalls ? await nameStrayCalls(db, stray) : ""}`);
    }
  }
  return differences;
}

/** The accounts and keys that a table has rows of, each pair once. */
function selectOwners(table: string, { hasKey, hasNumbers, where }: Partial<OwnedRows>): RawBuilder<unknown> {
  const from = sql`from ${sql.table(table)} ${where === undefined ? sql`` : sql`where ${where}`}`;
  if (!hasNumbers) {
    return hasKey
      ? sql`select distinct account_id as account, key_id as key, key_id <> '' as has_key ${from}`
      : sql`select distinct account_id as account ${from}`;
  }
  const account = sql`left join payers as account on account.no = owner.account_no`;
  return hasKey
    ? sql`select owner.account_no, account.id as account, owner.key_no, key.id as key, owner.key_no is not null as has_key
        from (select distinct account_id as account_no, key_id as key_no ${from}) as owner
        ${account} left join payers as key on key.no = owner.key_no`
    : sql`select owner.account_no, account.id as account
        from (select distinct account_id as account_no ${from}) as owner ${account}`;
}

async function nameStrayCalls(db: Store["db"], { account_no, key_no }: StrayRow): Promise<string> {
  const { rows } = await sql<{ id: string }>`select id from calls
    where account_no = ${account_no} and key_no = ${key_no} order by id_bytes desc limit ${sql.lit(callsMax + 1)}`.execute(
    db,
  );
  return nameIds(rows);
}

/** A table of sums by day, which the end of a call adds to. */
interface SumsOfDays {
  readonly what: string;
  /** Description of the sum over all days before an opening; `what` describes the sum of a single day. */
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
    words: ["key ", " on day "],
    day: "day",
    what: "Charges of",
    whatBefore: "Charges of the keys of",
    table: "key_charges",
    column: "charged_nanodollars",
    amountOfCall: "charged_nanodollars",
    dayOfCall: sql`(opened_at / ${dayMs})`,
    ofOpening: "charged_nanodollars",
  },
];

function compareDays(sums: SumsOfDays): Comparison {
  const { what, table, column, amountOfCall, dayOfCall, owner, words } = sums;
  const [before, between] = words;
  const [day, ownerOfCall, amount] = [sql.ref(sums.day), sql.ref(`calls.${owner}`), sql.ref(`calls.${amountOfCall}`)];
  const keys = sql`${ownerOfCall} as owner, ${dayOfCall} as day`;
  return {
    what,
    source: ofCalls,
    keys: ["owner", "day"],
    words: (row) => `${before}${row.owner}${between}${row.day}`,
    columns: [column],
    written: sql`select ${sql.ref(`${table}.${owner}`)} as owner, ${day} as day,
      ${sql.ref(`${table}.${column}`)} from ${sql.table(table)} ${opening} ${sql.ref(`${table}.account_id`)}
      where before_day is null or ${day} >= before_day`,
    found: sql`select ${keys}, ${amount} as ${sql.ref(column)} from calls ${opening} calls.account_id
      where ${dayOfCall} is not null and ${amount} <> 0 and (before_day is null or ${dayOfCall} >= before_day)`,
    calls: sql`select ${keys}, id from calls where ${amount} <> 0`,
  };
}

/** Budgets that count calls by name, once all earlier calls are counted. */
const isCounting = sql`budgets.counted_to is null and budgets.subject not in ('account', 'team', 'key')`;
const dayOfCall = sql`(calls.opened_at / ${dayMs})`;
const countedCalls = sql`from calls join budgets on budgets.account_id in ('', calls.account_id)
    and coalesce(budgets.key_id, calls.key_id) = calls.key_id and coalesce(budgets.name, ${countedName}) = ${countedName}
    and budgets.counted_from <= ${dayOfCall}
  ${opening} calls.account_id
  where ${isCounting} and calls.charged_nanodollars <> 0 and (before_day is null or ${dayOfCall} >= before_day)`;
const keysOfNames = sql`budgets.id as budget_id, calls.account_id, ${countedName} as name, ${dayOfCall} as day`;

const budgetsOfNames: Comparison = {
  what: "Budget",
  source: ofCalls,
  keys: ["budget_id", "account_id", "name", "day"],
  words: (row) => `${row.budget_id} of ${row.name} of ${row.account_id} on day ${row.day}`,
  columns: ["spent_nanodollars"],
  written: sql`select budgets.id as budget_id, payers.id as account_id, spending.name, day, spent_nanodollars
    from spending join budgets on budgets.no = spending.subject_id join payers on payers.no = spending.account_id
    ${opening} payers.id where ${isCounting} and (before_day is null or day >= before_day)`,
  found: sql`select ${keysOfNames}, calls.charged_nanodollars as spent_nanodollars ${countedCalls}`,
  calls: sql`select ${keysOfNames}, calls.id ${countedCalls}`,
};

/** Summed under the same name in the roll-up and the openings as in `calls`. */
const usageColumns = ["requests", "failures", ...callSums];
const figuresOf = (table: string) =>
  sql.join(usageColumns.map((column) => sql`${sql.ref(`${table}.${column}`)} as ${sql.ref(column)}`));
/** The figures of one call, in the order of the columns. */
const ofCall = [
  sql`case when state = 'settled' then 1 else 0 end`,
  sql`case when state = 'released' then 1 else 0 end`,
  ...callSums.map((column) => sql`coalesce(calls.${sql.ref(column)}, 0)`),
];
const figuresOfCall = sql.join(
  ofCall.map((figure, place) => sql`${figure} as ${sql.ref(usageColumns[place] as string)}`),
);
/** Calls that the roll-up has. */
const isCounted = sql`calls.state <> 'abandoned' and not (${isUncounted})`;

function compareUsage(hours: 1 | 24): Comparison {
  const [word, ms] = hours === 1 ? ["in hour", hourMs] : ["on day", dayMs];
  const keys = sql`calls.account_id, (opened_at / ${ms}) as bucket, calls.model`;
  // Hours are deleted from the oldest on, all of one at once.
  const isKept =
    hours === 24
      ? sql``
      : sql`and opened_at >= (select min(hour) from usage where hours = 1 and kind = 'call') * ${hourMs}`;
  return {
    what: "Usage of",
    source: ofCalls,
    keys: ["account_id", "bucket", "model"],
    words: (row) => `${row.account_id} ${word} ${row.bucket} of ${row.model}`,
    columns: usageColumns,
    written: sql`select usage.account_id, (hour / ${sql.lit(hours)}) as bucket, usage.model, ${figuresOf("usage")}
      from usage ${opening} usage.account_id
      where hours = ${sql.lit(hours)} and kind = 'call' and usage.account_id <> ''
        and (before_day is null or hour >= before_day * 24)`,
    found: sql`select ${keys}, ${figuresOfCall} from calls ${opening} calls.account_id
      where ${isCounted} and (before_day is null or opened_at >= before_day * ${dayMs}) ${isKept}`,
    calls: sql`select ${keys}, id from calls where ${isCounted}`,
  };
}

function selectDays(owner: string, condition: RawBuilder<unknown>) {
  return sql`select ${sql.ref(owner)}, hour, ${figuresOf("usage")} from usage where hours = 24 and ${condition}`;
}

const ofAccounts = sql`kind = 'call' and account_id <> ''`;

const usageOfAll: Comparison = {
  what: "Usage of",
  source: "accounts sum to",
  keys: ["model", "hour"],
  words: (row) => `all accounts on day ${Number(row.hour) / 24} of ${row.model}`,
  columns: usageColumns,
  written: selectDays("model", sql`kind = 'call' and account_id = ''`),
  found: selectDays("model", ofAccounts),
};
/** Misses of caches are summed once more by their reason. */
const missColumns = ["cache_missed_tokens", "cache_lost_nanodollars"];
const missesOf = (
  kind: "miss" | "call",
) => sql`select account_id, hour, ${sql.join(missColumns.map((name) => sql.ref(name)))}
  from usage where hours = 24 and kind = ${sql.lit(kind)}`;
const usageOfMisses: Comparison = {
  what: "Misses of",
  source: "calls sum to",
  keys: ["account_id", "hour"],
  words: (row) => `${row.account_id || "all accounts"} on day ${Number(row.hour) / 24}`,
  columns: missColumns,
  written: missesOf("miss"),
  found: missesOf("call"),
};
const usageOfKeys: Comparison = {
  what: "Usage of",
  source: "its models sum to",
  keys: ["key_id", "hour"],
  words: (row) => `key ${row.key_id} on day ${Number(row.hour) / 24}`,
  columns: usageColumns,
  written: selectDays("key_id", sql`kind = 'key'`),
  found: selectDays("key_id", ofAccounts),
};

const before = {
  source: "calls and pruned calls sum to",
  keys: ["account_id", "before_day"],
  words: (row: Row) => `${row.account_id} before day ${row.before_day}`,
};
const keysBefore = sql`opening_balances.account_id, before_day`;
const joinOpening = (table: string) =>
  sql`join opening_balances on opening_balances.account_id = ${sql.ref(`${table}.account_id`)}`;

/** Usage from before an account's opening, which is compared with it as sums. */
const usageBefore: Comparison = {
  ...before,
  what: "Usage of",
  columns: usageColumns,
  written: sql`select ${keysBefore}, ${figuresOf("usage")} from usage ${joinOpening("usage")}
    where hours = 24 and kind = 'call' and hour < before_day * 24`,
  found: sql`select ${keysBefore}, ${sql.join(usageColumns.map((column) => sql.ref(`opening_balances.${column}`)))}
    from opening_balances
    union all select ${keysBefore}, ${sql.join(ofCall)} from calls ${joinOpening("calls")}
    where opened_at < before_day * ${dayMs} and ${isCounted}`,
};

function compareBefore({ whatBefore, table, column, day, amountOfCall, dayOfCall, ofOpening }: SumsOfDays): Comparison {
  return {
    ...before,
    what: whatBefore,
    columns: [column],
    written: sql`select ${keysBefore}, ${sql.ref(`${table}.${column}`)} from ${sql.table(table)} ${joinOpening(table)}
      where ${sql.ref(day)} < before_day`,
    found: sql`select ${keysBefore}, ${sql.ref(`opening_balances.${ofOpening}`)} as ${sql.ref(column)} from opening_balances
      union all select ${keysBefore}, coalesce(${sql.ref(`calls.${amountOfCall}`)}, 0) from calls ${joinOpening("calls")}
      where ${dayOfCall} < before_day`,
  };
}

/** Maximum number of differences printed for a ruined database. */
const differencesMax = 1000;
/** Limit of the subjects whose calls are looked up, and of the calls that are named for each. */
const subjectsMax = 20;
const callsMax = 10;

/**
 * Compares two queries by subject; a subject that only one of them has counts as 0 in the other. A statement sorts the
 * rows of both once, without a join, so every engine runs it in one pass over each query. The first statement finds
 * whether any subject differs, which needs one sum per column; only if one does, the second returns the sums of both.
 */
async function compare(store: Store, comparison: Comparison): Promise<string[]> {
  const { what, source, words, columns, written, found, calls } = comparison;
  const keys = sql.join(comparison.keys.map((key) => sql.ref(key)));
  const figures = columns.map((column) => sql.ref(column));
  const negated = columns.map((column) => sql`-${sql.ref(column)} as ${sql.ref(column)}`);
  const isAnyOther = sql.join(
    figures.map((figure) => sql`sum(${figure}) <> 0`),
    sql` or `,
  );
  const { rows: others } = await sql`select 1 as differs
    from (select ${keys}, ${sql.join(figures)} from (${written}) as written
      union all select ${keys}, ${sql.join(negated)} from (${found}) as found) as sides
    group by ${keys} having ${isAnyOther} limit 1`.execute(store.db);
  if (others.length === 0) return [];
  const sumOf = (side: "w" | "f", column: string) =>
    sql`sum(case when side = ${sql.lit(side)} then ${sql.ref(column)} else 0 end)`;
  const sums = columns.flatMap((column) =>
    (["w", "f"] as const).map((side) => sql`${sumOf(side, column)} as ${sql.ref(`${side}_${column}`)}`),
  );
  const differs = columns.map((column) => sql`${sumOf("w", column)} <> ${sumOf("f", column)}`);
  const { rows } = await sql<Row>`select ${keys}, ${sql.join(sums)}
    from (select ${keys}, 'w' as side, ${sql.join(figures)} from (${written}) as written
      union all select ${keys}, 'f', ${sql.join(figures)} from (${found}) as found) as sides
    group by ${keys} having ${sql.join(differs, sql` or `)}
    order by ${keys} limit ${sql.lit(differencesMax)}`.execute(store.db);
  const differences: string[] = [];
  for (const [place, row] of rows.entries()) {
    const named =
      calls === undefined || place >= subjectsMax ? "" : await nameCalls(store, { ...comparison, calls }, row);
    for (const column of columns) {
      const [is, due] = [row[`w_${column}`], row[`f_${column}`]];
      if (is !== due) differences.push(`${what} ${words(row)}: ${column} is ${is}, ${source} ${due}${named}`);
    }
  }
  return differences;
}

/** Names the newest calls in the sum of a subject, in words: where to look first. */
async function nameCalls(
  { db }: Store,
  { keys, calls }: Required<Pick<Comparison, "keys" | "calls">>,
  row: Row,
): Promise<string> {
  const isOfSubject = sql.join(
    keys.map((key) => sql`${sql.ref(key)} = ${row[key]}`),
    sql` and `,
  );
  const { rows: ids } = await sql<{ id: string }>`select id from (${calls}) as summed where ${isOfSubject}
    order by id desc limit ${sql.lit(callsMax + 1)}`.execute(db);
  return nameIds(ids);
}

function nameIds(ids: readonly { id: string }[]): string {
  if (ids.length === 0) return "";
  const list = ids.slice(0, callsMax).map(({ id }) => id);
  return ` (calls ${list.join(", ")}${ids.length > callsMax ? " and more" : ""})`;
}

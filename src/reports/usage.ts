import { type RawBuilder, sql } from "kysely";
import { formatUsd, usageColumns } from "../contract/index.ts";
import { endOfPeriod, isUncounted, type Store, sumsOf } from "../db/index.ts";
import { readFigures, readGroups, type StatisticsGroup } from "./statistics.ts";

/** Lengths of a bucket of usage. */
export const periods = ["hourly", "daily", "weekly", "monthly", "yearly"] as const;
export type UsageBucket = (typeof periods)[number];

/** Whole UTC days, both counted, as days since 1970. */
export interface DaySpan {
  readonly startDay: number;
  readonly endDay: number;
}

/** A stretch of UTC hours, as hours since 1970. */
interface Bucket {
  readonly startHour: number;
  /** Not counted any more. */
  readonly endHour: number;
}

/** Maximum number of days in one request: an answer then has at most about 750 buckets. */
export const spanDaysMax: Readonly<Record<UsageBucket, number>> = {
  hourly: 31,
  daily: 366,
  weekly: 1_830,
  monthly: 7_320,
  yearly: 36_600,
};

/** Figures of usage. */
export const usageFigures = [
  "requests",
  "failures",
  ...usageColumns,
  "cost_nanodollars",
  "provider_cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
] as const;
export type UsageFigures = Record<(typeof usageFigures)[number], number>;

/** The cost at providers, and the earnings: the charge without that cost. For operators alone. */
export function describeEarnings(figures: Pick<UsageFigures, "provider_cost_nanodollars" | "charged_nanodollars">): {
  provider_cost_usd: string;
  earned_usd: string;
} {
  const { provider_cost_nanodollars: cost, charged_nanodollars: charged } = figures;
  return { provider_cost_usd: formatUsd(cost), earned_usd: formatUsd(charged - cost) };
}

/** The figures of one model in one hour, or in the day that begins with it. */
export interface ModelUsage extends UsageFigures {
  /** Hours since 1970. */
  hour: number;
  model: string;
}

/** Figures, in total and for each model or other group by its name. */
export interface UsageByModel {
  readonly figures: UsageFigures;
  readonly byModel: ReadonlyMap<string, UsageFigures>;
}

/** Figures in buckets, and all of them together. */
export interface UsageSums {
  readonly totals: UsageByModel;
  readonly buckets: readonly (Bucket & UsageByModel)[];
}

const dayHours = 24;
const hourMs = 3_600_000;
/** Calls that are not in the sums yet and are looked at: more than a running gateway leaves there. */
const uncountedMax = 100_000;
/** Maximum number of groups listed separately. */
const groupsMax = 100;
/** Maximum number of rows read at once; a request that needs more is refused. */
const rowsMax = 50_000;

/**
 * An account's ended calls in buckets, to the last one that ended. Sums of hours are there for as long as calls are.
 */
export async function readUsageBuckets(
  store: Store,
  accountId: string,
  { period, ...span }: DaySpan & { readonly period: UsageBucket },
): Promise<UsageSums> {
  const hours = period === "hourly" ? 1 : dayHours;
  return sumUsage(createBuckets(period, span), await readRows(store, hours, span, { accountId }));
}

/** Usage of a model on a UTC day, counted from 1970. */
export interface RecordedUsage extends UsageFigures {
  day: number;
  model: string;
}

/** The usage of all accounts by day and model, to the last call that ended: of all providers together, or of one `plugin`. */
export async function recordedUsage(
  store: Store,
  { plugin, ...span }: DaySpan & { readonly plugin?: string | undefined },
): Promise<RecordedUsage[]> {
  const rows = await readRows(store, dayHours, span, { plugin });
  return sumUsage(createBuckets("daily", span), rows).buckets.flatMap(({ startHour, byModel }) =>
    [...byModel]
      .map(([model, figures]) => ({ day: startHour / dayHours, model, ...figures }))
      .filter(({ requests }) => requests > 0),
  );
}

/**
 * Usage by another group of statistics instead of by model, for the groups with the highest cost. Hourly sums of keys,
 * sessions and tags are kept for a month.
 */
export async function readUsageBy(
  store: Store,
  accountId: string,
  { period, group, startDay, endDay }: DaySpan & { readonly period: UsageBucket; readonly group: StatisticsGroup },
): Promise<UsageSums> {
  const hours = period === "hourly" ? 1 : dayHours;
  const buckets = ((endDay - startDay + 1) * dayHours) / hours;
  const starts = Array.from({ length: buckets }, (_, place) => startDay * dayHours + place * hours);
  const query = { filter: { accountId }, hours, starts } as const;
  const { groups } = await readGroups(store, query, { group, rank: "cost", limit: groupsMax, charted: groupsMax });
  const rows = groups.flatMap(({ value, byHour }) =>
    [...(byHour ?? [])].map(([hour, figures]) => ({ ...readFigures(figures), hour, model: value })),
  );
  return sumUsage(createBuckets(period, { startDay, endDay }), rows);
}

/** Filter of usage of the whole gateway; an absent list does not filter. */
interface UsageRowsQuery {
  /** Length of the buckets. */
  readonly hours: 1 | 24;
  /** The first hour of each bucket, counted from 1970. */
  readonly starts: readonly number[];
  /** Whether to split by account, and by API key; models are always split. */
  readonly byAccount: boolean;
  readonly byKey: boolean;
  readonly accountIds?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
}

/** Figures of one bucket. Names that are not split by are empty. */
export interface UsageOfBucket extends ModelUsage {
  readonly accountId: string;
  readonly keyId: string;
}

/**
 * Reads usage of all or some accounts, by bucket, model and the other requested splits, as far as it is in the sums.
 * Sums of hours are kept as long as calls are.
 *
 * @returns `undefined` when there are too many rows.
 */
export async function readUsageRows(
  { db }: Pick<Store, "db">,
  { hours, starts, byAccount, byKey, accountIds, keyIds, models }: UsageRowsQuery,
): Promise<UsageOfBucket[] | undefined> {
  if (starts.length === 0) return [];
  const isOf = (column: string, values: readonly string[] | undefined): RawBuilder<unknown>[] =>
    values === undefined ? [] : [sql`${sql.ref(column)} in (${values.length === 0 ? sql`null` : sql.join(values)})`];
  const isSplit = byAccount || byKey || accountIds !== undefined || keyIds !== undefined;
  // Each call is counted by account and key, and again in the rows of all accounts together.
  const owner = accountIds === undefined ? [isSplit ? sql`account_id > ''` : sql`account_id = ''`] : [];
  const conditions = [
    sql`hours = ${sql.lit(hours)} and kind = 'call'`,
    sql`hour in (${sql.join(starts.map((start) => sql.lit(start)))})`,
    ...owner,
    ...isOf("account_id", accountIds),
    ...isOf("key_id", keyIds),
    ...isOf("model", models),
    // Refused requests used nothing, and their model may not exist.
    sql`coalesce(requests, 0) + coalesce(failures, 0) > 0`,
  ];
  const [account, key] = [byAccount ? sql.ref("account_id") : sql`''`, byKey ? sql.ref("key_id") : sql`''`];
  const sums = sql.raw(sumsOf(usageFigures));
  const { rows } = await sql<UsageOfBucket>`select hour, model, ${account} as "accountId", ${key} as "keyId", ${sums}
    from usage_rows where ${sql.join(conditions, sql` and `)} group by 1, 2, 3, 4 limit ${sql.lit(rowsMax + 1)}`.execute(
    db,
  );
  return rows.length > rowsMax ? undefined : rows;
}

/** Calls whose usage is read; an absent field does not filter. */
interface UsageFilter {
  readonly accountId?: string | undefined;
  readonly plugin?: string | undefined;
}

/**
 * Reads the sums, of hours or of days, and the calls that are not summed yet. It is one statement, because calls move
 * from one to the other in between.
 */
async function readRows(
  store: Store,
  hours: 1 | typeof dayHours,
  span: DaySpan,
  { accountId, plugin }: UsageFilter,
): Promise<readonly ModelUsage[]> {
  const ofPlugin = plugin === undefined ? sql`` : sql`and plugin = ${plugin}`;
  const summed = sql`select hour, model, ${sql.join(usageFigures.map((name) => sql.ref(name)))} from usage
    where hours = ${sql.lit(hours)} and kind = 'call' and account_id = ${accountId ?? ""}
    and hour in (${sql.join(await readStarts(store, hours, span))}) and requests + failures > 0 ${ofPlugin}`;
  const figures = usageFigures.map((name) => {
    if (name === "requests") return sql`case when state = 'settled' then 1 else 0 end as requests`;
    if (name === "failures") return sql`case when state = 'released' then 1 else 0 end as failures`;
    return sql`coalesce(${sql.ref(name)}, 0) as ${sql.ref(name)}`;
  });
  // The limit keeps both engines from reading the account's calls by their time: there may be millions of them.
  const recent =
    accountId === undefined
      ? sql`calls where ${isUncounted}`
      : sql`(select * from calls where ${isUncounted} order by calls.seq limit ${sql.lit(uncountedMax)})
        as recent where account_id = ${accountId}`;
  const [from, until] = [span.startDay * dayHours * hourMs, (span.endDay + 1) * dayHours * hourMs];
  const { rows } = await sql<ModelUsage>`${summed} union all
    select (opened_at / ${sql.lit(hours * hourMs)}) * ${sql.lit(hours)} as hour, model, ${sql.join(figures)}
    from ${recent} and opened_at >= ${sql.lit(from)} and opened_at < ${sql.lit(until)} ${ofPlugin}
    order by model`.execute(store.db);
  return rows;
}

/** The first hour of each bucket in the span that may have sums; the primary key finds each. */
async function readStarts({ db }: Store, hours: number, { startDay, endDay }: DaySpan): Promise<RawBuilder<unknown>[]> {
  const edge = (name: "min" | "max") =>
    sql`(select ${sql.raw(name)}(hour) from usage where hours = ${sql.lit(hours)} and kind = 'call')`;
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select ${edge("min")} as first, ${edge("max")} as last`.execute(db);
  const [edges] = rows;
  if (edges === undefined || edges.first === null || edges.last === null) return [sql.lit(-1)];
  const first = Math.max(edges.first, startDay * dayHours);
  const last = Math.min(edges.last, (endDay + 1) * dayHours - 1);
  const starts: RawBuilder<unknown>[] = [];
  for (let start = first; start <= last; start += hours) starts.push(sql.lit(start));
  // A list must not be empty.
  return starts.length === 0 ? [sql.lit(-1)] : starts;
}

/** Sorts rows into buckets. A bucket without a row is all zeros; a row outside of all buckets is left out. */
export function sumUsage(buckets: readonly Bucket[], rows: Iterable<ModelUsage>): UsageSums {
  const totals = emptySum();
  const sums = buckets.map((bucket) => ({ ...bucket, ...emptySum() }));
  for (const row of rows) {
    const index = findBucketIndex(buckets, row.hour);
    if (index === undefined) continue;
    addTo(totals, row);
    addTo(sums[index] as MutableUsageSum, row);
  }
  return { totals, buckets: sums };
}

interface MutableUsageSum extends UsageByModel {
  readonly byModel: Map<string, UsageFigures>;
}

function addTo({ figures, byModel }: MutableUsageSum, row: ModelUsage): void {
  let modelFigures = byModel.get(row.model);
  if (modelFigures === undefined) {
    modelFigures = zeros();
    byModel.set(row.model, modelFigures);
  }
  for (const name of usageFigures) {
    figures[name] += row[name];
    modelFigures[name] += row[name];
  }
}

function emptySum(): MutableUsageSum {
  return { figures: zeros(), byModel: new Map() };
}

function zeros(): UsageFigures {
  return Object.fromEntries(usageFigures.map((name) => [name, 0])) as UsageFigures;
}

/** The buckets that a span is cut into, without gaps; the first and the last are as short as the span has them. */
export function createBuckets(period: UsageBucket, { startDay, endDay }: DaySpan): Bucket[] {
  const end = (endDay + 1) * dayHours;
  const buckets: Bucket[] = [];
  for (let start = startDay * dayHours; start < end; ) {
    const endHour = Math.min(nextBoundary(period, start), end);
    buckets.push({ startHour: start, endHour });
    start = endHour;
  }
  return buckets;
}

/** Finds the bucket of an hour among consecutive buckets; `undefined` outside of all. */
export function findBucketIndex(buckets: readonly Bucket[], hour: number): number | undefined {
  let [low, high] = [0, buckets.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { startHour, endHour } = buckets[middle] as Bucket;
    if (hour < startHour) high = middle - 1;
    else if (hour >= endHour) low = middle + 1;
    else return middle;
  }
  return undefined;
}

const calendar = { daily: "day", weekly: "week", monthly: "month" } as const;

function nextBoundary(period: UsageBucket, hour: number): number {
  if (period === "hourly") return hour + 1;
  if (period === "yearly") return Date.UTC(new Date(hour * hourMs).getUTCFullYear() + 1, 0, 1) / hourMs;
  return endOfPeriod(Math.floor(hour / dayHours), calendar[period]) / hourMs;
}

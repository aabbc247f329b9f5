import { type RawBuilder, sql } from "kysely";
import { isUncounted, type Store } from "../../db/index.ts";
import { readFigures } from "../statistics/figures.ts";
import { readGroups, type StatisticsGroup } from "../statistics/read-statistics.ts";
import { createBuckets, type DaySpan, type Period } from "./buckets.ts";
import { sumUsage, type UsageRow, type UsageSums, usageFigures } from "./sum-usage.ts";

const hoursOfDay = 24;
const hourMs = 3_600_000;
/** Calls that are not in the sums yet and are looked at: more than a running gateway leaves there. */
const uncountedMax = 100_000;

/**
 * An account's ended calls in buckets, to the last one that ended: the sums, of hours where the buckets are hours and else of
 * days, and the calls that are not in them yet, in one statement, because one becomes the other meanwhile. Sums of hours are
 * there for as long as calls are.
 */
export async function readUsage(
  store: Store,
  accountId: string,
  { period, ...span }: DaySpan & { readonly period: Period },
): Promise<UsageSums> {
  const buckets = createBuckets(period, span);
  const hours = period === "hourly" ? 1 : hoursOfDay;
  const summed = sql`select hour, model, ${sql.join(usageFigures.map((name) => sql.ref(name)))} from usage
    where hours = ${sql.lit(hours)} and kind = 'call' and account_id = ${accountId}
    and hour in (${sql.join(await readStarts(store, hours, span))}) and requests + failures > 0`;
  const { rows } = await sql<UsageRow>`${summed} union all ${uncounted(accountId, hours, span)} order by model`.execute(
    store.db,
  );
  return sumUsage(buckets, rows);
}

/** The first hour of each bucket of the span that may have sums, each of which the primary key leads to. */
async function readStarts({ db }: Store, hours: number, { startDay, endDay }: DaySpan): Promise<RawBuilder<unknown>[]> {
  const edge = (name: "min" | "max") =>
    sql`(select ${sql.raw(name)}(hour) from usage where hours = ${sql.lit(hours)} and kind = 'call')`;
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select ${edge("min")} as first, ${edge("max")} as last`.execute(db);
  const [edges] = rows;
  if (edges === undefined || edges.first === null || edges.last === null) return [sql.lit(-1)];
  const first = Math.max(edges.first, startDay * hoursOfDay);
  const last = Math.min(edges.last, (endDay + 1) * hoursOfDay - 1);
  const starts: RawBuilder<unknown>[] = [];
  for (let start = first; start <= last; start += hours) starts.push(sql.lit(start));
  // A list must not be empty.
  return starts.length === 0 ? [sql.lit(-1)] : starts;
}

/** The limit keeps both engines from reading the account's calls by their time: there may be millions of them. */
function uncounted(accountId: string, hours: number, { startDay, endDay }: DaySpan): RawBuilder<unknown> {
  const count = (state: string) => sql`case when state = ${sql.lit(state)} then 1 else 0 end as `;
  const figures = usageFigures.map((name) => {
    if (name === "requests") return sql`${count("settled")} requests`;
    if (name === "failures") return sql`${count("released")} failures`;
    return sql`coalesce(${sql.ref(name)}, 0) as ${sql.ref(name)}`;
  });
  const bucket = sql.lit(hours * hourMs);
  return sql`select (opened_at / ${bucket}) * ${sql.lit(hours)} as hour, model, ${sql.join(figures)}
    from (select * from calls where ${isUncounted} order by calls.seq limit ${sql.lit(uncountedMax)})
    as recent where account_id = ${accountId}
    and opened_at >= ${sql.lit(startDay * hoursOfDay * hourMs)} and opened_at < ${sql.lit((endDay + 1) * hoursOfDay * hourMs)}`;
}

/** Groups that are told apart. */
const groupsMax = 100;

/**
 * The same by what statistics tell apart instead of by model, of the groups that cost the most. Sums of hours are there
 * for as long as calls are, those of keys, sessions and tags for a month.
 */
export async function readUsageBy(
  store: Store,
  accountId: string,
  { period, group, startDay, endDay }: DaySpan & { readonly period: Period; readonly group: StatisticsGroup },
): Promise<UsageSums> {
  const hours = period === "hourly" ? 1 : hoursOfDay;
  const buckets = ((endDay - startDay + 1) * hoursOfDay) / hours;
  const starts = Array.from({ length: buckets }, (_, place) => startDay * hoursOfDay + place * hours);
  const query = { filter: { accountId }, hours, starts } as const;
  const { groups } = await readGroups(store, query, { group, rank: "cost", limit: groupsMax, charted: groupsMax });
  const rows = groups.flatMap(({ value, byHour }) =>
    [...(byHour ?? [])].map(([hour, figures]) => ({ ...readFigures(figures), hour, model: value })),
  );
  return sumUsage(createBuckets(period, { startDay, endDay }), rows);
}

import type { Store } from "../../db/index.ts";
import { readFigures } from "../statistics/figures.ts";
import { readGroups, type StatisticsGroup } from "../statistics/read-statistics.ts";
import { createBuckets, type DaySpan, type Period } from "./buckets.ts";
import { sumUsage, type UsageRow, type UsageSums, usageFigures } from "./sum-usage.ts";

const hoursOfDay = 24;

/**
 * An account's ended calls in buckets, by one look-up: in the sums of hours where the buckets are hours, else in those of
 * days, of which a year has so few that calls need not wait for it.
 */
export async function readUsage(
  store: Store,
  accountId: string,
  { period, ...span }: DaySpan & { readonly period: Period },
): Promise<UsageSums> {
  const rows = await (period === "hourly" ? readHours : readDays)(store, accountId, span);
  return sumUsage(createBuckets(period, span), rows);
}

/** Groups that are told apart. */
const groupsMax = 100;

/**
 * The same by what statistics tell apart instead of by model, of the groups that cost the most. Sums of hours are there
 * for as long as calls are.
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

function readHours({ db }: Store, accountId: string, { startDay, endDay }: DaySpan): Promise<UsageRow[]> {
  return db
    .selectFrom("usage_hours")
    .select(["hour", "model", ...usageFigures])
    .where("account_id", "=", accountId)
    .where("hour", ">=", startDay * hoursOfDay)
    .where("hour", "<", (endDay + 1) * hoursOfDay)
    .orderBy("model")
    .execute();
}

async function readDays({ db }: Store, accountId: string, { startDay, endDay }: DaySpan): Promise<UsageRow[]> {
  const rows = await db
    .selectFrom("usage_days")
    .select(["day", "model", ...usageFigures])
    .where("account_id", "=", accountId)
    .where("day", ">=", startDay)
    .where("day", "<=", endDay)
    .orderBy("model")
    .execute();
  return rows.map(({ day, ...row }) => ({ ...row, hour: day * hoursOfDay }));
}

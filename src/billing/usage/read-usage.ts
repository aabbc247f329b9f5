import type { Store } from "../../db/index.ts";
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

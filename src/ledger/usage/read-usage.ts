import { sql } from "kysely";
import type { Store } from "../../store/index.ts";
import { bucketsOf, type DaySpan, type Period } from "./buckets.ts";
import { sumUsage, type UsageRow, type UsageSums, usageFigures } from "./sum-usage.ts";

const hoursOfDay = 24;

/**
 * An account's ended calls in buckets, by one look-up in the hourly sums. Buckets of a day and more are made of days,
 * which the database sums up.
 */
export async function readUsage(
  { db }: Store,
  accountId: string,
  { period, ...span }: DaySpan & { readonly period: Period },
): Promise<UsageSums> {
  const hours = period === "hourly" ? 1 : hoursOfDay;
  const slot = sql<number>`hour / ${sql.lit(hours)}`;
  const rows = await db
    .selectFrom("usage_hours")
    .select((row) => [slot.as("slot"), "model", ...usageFigures.map((name) => row.fn.sum<number>(name).as(name))])
    .where("account_id", "=", accountId)
    .where("hour", ">=", span.startDay * hoursOfDay)
    .where("hour", "<", (span.endDay + 1) * hoursOfDay)
    .groupBy([slot, "model"])
    .orderBy("model")
    .execute();
  const timed = rows.map(({ slot, ...row }) => ({ ...row, hour: slot * hours }) as UsageRow);
  return sumUsage(bucketsOf(period, span), timed);
}

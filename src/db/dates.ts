import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Budget, type BudgetPeriod, budgetPeriods } from "../contract/index.ts";

const dayMs = 86_400_000;

/** The UTC day of a moment, days since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/** The first moment of a UTC day, milliseconds since 1970. */
export function startOfDay(day: number): number {
  return day * dayMs;
}

/** The UTC month of a moment, named by its first day, days since 1970. */
function monthOf(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / dayMs;
}

/** The first moment after the month that a day is in, milliseconds since 1970. */
function endOfMonth(month: number): number {
  const date = new Date(month * dayMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The first day of the UTC period of a moment, days since 1970; a lifetime began on day 0. */
export function startOfPeriod(time: number, period: BudgetPeriod | "lifetime" = "month"): number {
  if (period === "lifetime") return 0;
  const day = dayOf(time);
  if (period === "month") return monthOf(time);
  // 1970 began on a Thursday.
  return period === "day" ? day : day - ((day + 3) % 7);
}

/** The first moment after the period that a day is in, milliseconds since 1970. */
export function endOfPeriod(day: number, period: BudgetPeriod = "month"): number {
  if (period === "month") return endOfMonth(day);
  return startOfDay(startOfPeriod(startOfDay(day), period) + (period === "day" ? 1 : 7));
}

/** A day that no call reaches. */
const dayMax = 100_000_000;

/** The UTC days of a period, the first that counts and the first that does not, days since 1970. */
export function daysOfPeriod(
  time: number,
  period: Budget["period"],
): { readonly from: number; readonly until: number } {
  if (period === "lifetime" || period === "session") return { from: 0, until: dayMax };
  const from = startOfPeriod(time, period);
  return { from, until: dayOf(endOfPeriod(from, period)) };
}

/**
 * Whether a row of `spending` is of the running period of a row of `budgets`, or of the name that it has in a statement. The bounds are
 * plain, so an index finds the days. That of a session is not known by its day: see {@link isInRun}.
 */
export function isInPeriod(now: number, budgets = "budgets"): RawBuilder<SqlBool> {
  const bound = (side: "from" | "until") =>
    sql`case ${sql.ref(`${budgets}.budget_period`)} ${sql.join(
      budgetPeriods.map((period) => sql`when ${sql.lit(period)} then ${sql.lit(daysOfPeriod(now, period)[side])}`),
      sql` `,
    )} end`;
  return sql<SqlBool>`spending.day >= ${bound("from")} and spending.day < ${bound("until")}`;
}

/**
 * Whether a day is in the running period of a budget that counts names. For the budget of a session that is its run, which begins after
 * a day of silence.
 */
export function isInRun(now: number): RawBuilder<SqlBool> {
  const isSame = (other: string) =>
    sql.raw(`${other}.account_id = spending.account_id and ${other}.subject_id = spending.subject_id
      and ${other}.name = spending.name`);
  // As the view session_spending tells runs. An engine computes the view as a whole where it cannot pass on the name of a row.
  return sql<SqlBool>`${isInPeriod(now)} and (budgets.budget_period <> 'session' or spending.day >= (
    select max(begun.day) from spending as begun where ${isSame("begun")} and begun.last_at is not null
      and exists (select 1 from spending as latest where ${isSame("latest")} and latest.last_at >= ${sql.lit(now - dayMs)})
      and not exists (select 1 from spending as earlier where ${isSame("earlier")} and earlier.day < begun.day
        and earlier.last_at >= begun.first_at - ${sql.lit(dayMs)})))`;
}

/** The amount of a row of `budgets` with its raise, while that lasts. */
export function raisedBudget(now: number): RawBuilder<number> {
  return sql`(budgets.budget_nanodollars
    + case when budgets.raise_until > ${sql.lit(now)} then budgets.raise_nanodollars else 0 end)`;
}

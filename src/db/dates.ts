import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { BudgetPeriod } from "../contract/index.ts";

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

/** The first day of the running period of the budget in a table; a budget without a period is monthly, and one that never ends began on day 0. */
export function firstDayOfPeriod(table: "keys" | "accounts" | "budgets", now: number): RawBuilder<number> {
  const of = (period: "day" | "week" | "month") => sql.lit(startOfPeriod(now, period));
  return sql`case ${sql.ref(`${table}.budget_period`)} when 'day' then ${of("day")} when 'week' then ${of("week")}
    when 'lifetime' then 0 else ${of("month")} end`;
}

/** Whether a row of `key_budget_usage` is of the running period of its key; after a change of the period its latest one is. */
export function isOfRunningPeriod(now: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`key_budget_usage.period_start >= ${firstDayOfPeriod("keys", now)} and not exists (
    select 1 from key_budget_usage as later where later.account_id = keys.account_id and later.key_id = keys.id
      and later.period_start > key_budget_usage.period_start)`;
}

/** The amount of a row of `budgets` with its raise, while that lasts. */
export function raisedBudget(now: number): RawBuilder<number> {
  return sql`(budgets.budget_nanodollars
    + case when budgets.raise_until > ${sql.lit(now)} then budgets.raise_nanodollars else 0 end)`;
}

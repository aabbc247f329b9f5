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

/** The first day of the UTC period of a moment, days since 1970. */
export function startOfPeriod(time: number, period: BudgetPeriod = "month"): number {
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

import { GatewayError, quoteValue } from "../contract/index.ts";
import { type DaySpan, type Period, periods, spanDaysMax } from "../ledger/index.ts";

const dayMs = 86_400_000;
/** The span when nothing is said of its start: 30 days with that of its end. */
const daysDefault = 30;

/**
 * What is asked of GET /usage.
 *
 * @throws {GatewayError} `invalid_request` naming the parameter.
 */
export function readUsageQuery(query: URLSearchParams, now: number): DaySpan & { readonly period: Period } {
  const period = readPeriod(query.get("period"));
  const end = query.get("endDate");
  const start = query.get("startDate");
  const startGiven = start === null || start === "" ? undefined : readDay("startDate", start);
  const today = Math.floor(now / dayMs);
  const endDay = end === null || end === "" ? Math.max(today, startGiven ?? today) : readDay("endDate", end);
  const startDay = startGiven ?? Math.max(0, endDay - daysDefault + 1);
  if (endDay < startDay) throw wrong("endDate", `endDate ${end} is before startDate ${start}`);
  const days = endDay - startDay + 1;
  const max = spanDaysMax[period];
  if (days > max) {
    throw wrong(
      "startDate",
      `The span has ${days} days, at most ${max} are told ${period}; ask for less, or by a longer period`,
    );
  }
  return { period, startDay, endDay };
}

function readPeriod(text: string | null): Period {
  if (text === null || text === "") return "daily";
  const period = periods.find((known) => known === text);
  if (period !== undefined) return period;
  throw wrong("period", `period is ${quoteValue(text)}, expected one of ${periods.join(", ")}`);
}

/** A day as `2026-11-21`, or a moment of it with its zone as `2026-11-21T12:00:00Z`. */
function readDay(param: string, text: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = isDay || isMoment ? Date.parse(text) : Number.NaN;
  // A thirty-first of November would be the first of December.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (exists && at >= 0) return Math.floor(at / dayMs);
  throw wrong(param, `${param} is ${quoteValue(text)}, expected a date from 1970-01-01 such as 2026-11-21`);
}

function wrong(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

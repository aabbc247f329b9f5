import { type DaySpan, type Period, periods, spanDaysMax } from "../../billing/index.ts";
import { GatewayError, quoteValue } from "../../contract/index.ts";

const dayMs = 86_400_000;
/** The span when no start is given, counting the last day. */
const daysDefault = 30;

/**
 * Reads the query of GET /usage.
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
  if (endDay < startDay) throw invalidParameter("endDate", `endDate ${end} is before startDate ${start}`);
  const days = endDay - startDay + 1;
  const max = spanDaysMax[period];
  if (days > max) {
    throw invalidParameter(
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
  throw invalidParameter("period", `period is ${quoteValue(text)}, expected one of ${periods.join(", ")}`);
}

/** A day as `2026-11-21`, or a time with its zone as `2026-11-21T12:00:00Z`. */
function readDay(param: string, text: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = isDay || isMoment ? Date.parse(text) : Number.NaN;
  // Date.parse reads the 31st of November as the 1st of December.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (exists && at >= 0) return Math.floor(at / dayMs);
  throw invalidParameter(param, `${param} is ${quoteValue(text)}, expected a date from 1970-01-01 such as 2026-11-21`);
}

function invalidParameter(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

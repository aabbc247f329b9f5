import { parseUsd } from "../contract/index.ts";
import { UsageError } from "./command.ts";

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 } as const;

/** The last instant a `Date` can hold. */
const instantMax = 8_640_000_000_000_000;

/**
 * When something written as `30d`, `12h` or `2027-01-31` ends, in milliseconds since 1970. A day ends with its last
 * moment, UTC.
 *
 * @throws {UsageError} When it is neither, or already past.
 */
export function readExpiry(text: string, now: number): number {
  const span = /^(\d{1,6})([mhdwy])$/.exec(text);
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const at = span === null ? lastMomentOf(isDay ? text : "") : now + Number(span[1]) * unitMs[span[2] as "d"];
  if (!(at <= instantMax)) {
    throw new UsageError(
      `Cannot read --expires ${text}, expected a span such as 30d, 12h or 1y, or a day such as 2027-01-31`,
    );
  }
  if (at <= now) throw new UsageError(`Cannot use --expires ${text}: it is already past, expected a time to come`);
  return at;
}

/**
 * The first moment of a UTC day written as `2026-11-21`, in milliseconds since 1970.
 *
 * @throws {UsageError} When the text is none; `flag` is named.
 */
export function readDay(flag: string, text: string): number {
  const last = /^\d{4}-\d{2}-\d{2}$/.test(text) ? lastMomentOf(text) : Number.NaN;
  if (!Number.isNaN(last)) return last + 1 - unitMs.d;
  throw new UsageError(`Cannot read ${flag} ${text}, expected a day such as 2026-11-21`);
}

/**
 * Decimal US dollars from 0 as nanodollars.
 *
 * @throws {UsageError} When the text is none.
 */
export function readBudget(flag: string, text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars >= 0) return nanodollars;
  throw new UsageError(`Cannot read ${flag} ${text}, expected US dollars from 0 such as 5.00, at most nine decimals`);
}

/**
 * A limit, a whole number from 1.
 *
 * @throws {UsageError} When the text is none.
 */
export function readLimit(flag: string, text: string): number {
  const limit = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new UsageError(`Cannot read ${flag} ${text}, expected a whole number from 1`);
}

/**
 * Decimal US dollars above 0 as nanodollars.
 *
 * @throws {UsageError} When the text is none.
 */
export function readUsd(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars > 0) return nanodollars;
  throw new UsageError(`Cannot read --usd ${text}, expected US dollars above 0 such as 5.00, at most nine decimals`);
}

/**
 * A number of tokens from 0.
 *
 * @throws {UsageError} When the text is none.
 */
export function readTokens(text: string): number {
  const tokens = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(tokens)) return tokens;
  throw new UsageError(`Cannot read --tokens ${text}, expected a whole number from 0`);
}

function lastMomentOf(day: string): number {
  const start = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== day) return Number.NaN;
  return start + unitMs.d - 1;
}

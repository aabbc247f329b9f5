import type { Interval } from "./data/time-range.ts";
import { getZone } from "./data/time-zone.ts";

const locale = "en-US";
const whole = new Intl.NumberFormat(locale);
const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
/** As the command line has percentages. */
const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const day = { month: "short", day: "numeric" } as const;
const minute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const utc = { timeZone: "UTC" } as const;
const wholeDayInUtc = new Intl.DateTimeFormat(locale, { ...day, ...utc, year: "numeric" });
const dayInUtc = new Intl.DateTimeFormat(locale, { ...day, ...utc });
const monthInUtc = new Intl.DateTimeFormat(locale, { ...utc, month: "short", year: "numeric" });
const hourInUtc = new Intl.DateTimeFormat(locale, { ...minute, ...utc });
const toFormats = (options: Intl.DateTimeFormatOptions) => ({
  utc: new Intl.DateTimeFormat(locale, { ...options, ...utc }),
  local: new Intl.DateTimeFormat(locale, options),
});
const dateTime = toFormats({ ...day, ...minute, timeZoneName: "short" });
const toSecond = toFormats({ ...day, ...minute, year: "numeric", second: "2-digit", timeZoneName: "short" });
const dayOnly = toFormats({ ...day, year: "numeric" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

export function formatCount(value: number): string {
  return whole.format(value);
}

/** Large numbers in short form, such as `1.2M`. */
export function formatShort(value: number): string {
  return value < 10_000 ? whole.format(value) : short.format(value);
}

/** Rounds dollars to cents, with more digits for amounts below 10 cents. */
export function formatUsd(usd: string | number): string {
  const value = Number(usd);
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size === 0) return "$0.00";
  if (size >= 0.1)
    return `${sign}$${size.toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return `${sign}$${size.toLocaleString(locale, { minimumFractionDigits: 2, maximumSignificantDigits: 3, maximumFractionDigits: 9 })}`;
}

/** All decimals of an amount, of at least two: amounts that have to add up are not rounded. */
export function formatExactUsd(text: string): string {
  const [whole = "0", decimals = ""] = text.replace("-", "").split(".");
  return `${text.startsWith("-") ? "−" : ""}$${formatCount(Number(whole))}.${decimals.padEnd(2, "0")}`;
}

/**
 * Formats dollars with a fixed number of decimals, so amounts below each other align and add up. An amount that is too
 * small for the decimals is shown as `<$0.0001` instead of zero.
 */
export function formatUsdColumn(text: string, decimals = 4): string {
  const value = Number(text);
  const least = 10 ** -decimals;
  if (value > 0 && value < least / 2) return `<$${least.toFixed(decimals)}`;
  const size = Math.abs(value).toLocaleString(locale, {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return `${value < 0 ? "−" : ""}$${size}`;
}

/** How many decimals tell the parts of such a sum apart. */
export function toUsdDecimals(total: number): number {
  if (total >= 100) return 2;
  return total <= 0 ? 4 : Math.min(9, Math.max(4, 2 - Math.floor(Math.log10(total))));
}

export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** A length of time, such as `4.2 s`, `12 min 5 s` or `3 h 20 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${formatCount(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

/** Formats a change in percent, such as `+12.5 %`; undefined if the earlier value is zero and the new one is not. */
export function formatChange(now: number, before: number): string | undefined {
  if (before === 0) return now === 0 ? "±0 %" : undefined;
  const percent = toTenths(((now - before) / Math.abs(before)) * 100);
  if (percent === 0) return "±0 %";
  return `${percent > 0 ? "+" : "−"}${tenths.format(Math.abs(percent))} %`;
}

/** A share of 1 in percent; a dash for an unknown one. */
export function formatShare(share: number | null): string {
  if (share === null) return "–";
  const percent = toTenths(share * 100);
  return `${percent < 0 ? "−" : ""}${tenths.format(Math.abs(percent))} %`;
}

function toTenths(percent: number): number {
  return Math.round(percent * 10) / 10;
}

/** A percentage that somebody has set, with all of its digits, such as `−2.25 %`. */
export function formatExactPercent(percent: string): string {
  return `${percent.replace("-", "−")} %`;
}

/** A moment in the chosen time zone, which it names. */
export function formatMoment(text: string | null): string {
  return text === null ? "–" : dateTime[getZone()].format(new Date(text));
}

/** A moment with its year and second. */
export function formatSecond(text: string): string {
  return toSecond[getZone()].format(new Date(text));
}

export function formatDay(text: string | null): string {
  return text === null ? "–" : dayOnly[getZone()].format(new Date(text));
}

/** A UTC calendar day. */
export function formatUtcDay(text: string | null): string {
  return text === null ? "–" : wholeDayInUtc.format(new Date(text));
}

/** Relative time such as `3 min ago` or `in 2 hr.`; a date after a month. */
export function formatAge(text: string | null, now: number = Date.now()): string {
  if (text === null) return "–";
  const ms = Date.parse(text) - now;
  const size = Math.abs(ms);
  if (size < minuteMs) return ms <= 0 ? "just now" : "in a moment";
  if (size < hourMs) return relative.format(Math.round(ms / minuteMs), "minute");
  if (size < dayMs) return relative.format(Math.round(ms / hourMs), "hour");
  if (size < 30 * dayMs) return relative.format(Math.round(ms / dayMs), "day");
  return formatDay(text);
}

/** Formats the time that is left until a moment, such as `3 h 12 min`. */
export function formatUntil(text: string, now: number = Date.now()): string {
  const minutes = Math.max(0, Math.ceil((Date.parse(text) - now) / minuteMs));
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
}

/** The label of a usage bucket (UTC). */
export function formatBucket(start: string, interval: Interval): string {
  const at = new Date(start);
  if (interval === "hour") return `${dayInUtc.format(at)}, ${hourInUtc.format(at)}`;
  if (interval === "month") return monthInUtc.format(at);
  return dayInUtc.format(at);
}

/** The short label of a bucket on the axis. */
export function formatTick(start: string, interval: Interval): string {
  return interval === "hour" ? hourInUtc.format(new Date(start)) : formatBucket(start, interval);
}

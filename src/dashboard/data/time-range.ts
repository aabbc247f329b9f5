const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export const intervalNames = { hour: "Hourly", day: "Daily", week: "Weekly", month: "Monthly" } as const;
export type Interval = keyof typeof intervalNames;

/** Spans of time up to now, and the intervals that charts can show for each, best first. */
export const timeRanges = {
  hour: { name: "hour", ms: hourMs, intervals: [] },
  day: { name: "24 hours", ms: dayMs, intervals: ["hour"] },
  week: { name: "7 days", ms: 7 * dayMs, intervals: ["day", "hour"] },
  month: { name: "30 days", ms: 30 * dayMs, intervals: ["day", "week"] },
  quarter: { name: "90 days", ms: 90 * dayMs, intervals: ["day", "week", "month"] },
  year: { name: "12 months", ms: 365 * dayMs, intervals: ["month", "week", "day"] },
} as const satisfies Record<string, { name: string; ms: number; intervals: readonly Interval[] }>;

export type TimeRange = keyof typeof timeRanges;

/** Ranges that charts offer. */
export type ChartRange = Exclude<TimeRange, "hour"> | "this-month" | "last-month" | "custom";
export const chartRanges: readonly (readonly [ChartRange, string])[] = [
  ...(["day", "week", "month", "quarter", "year"] as const).map((range) => [range, timeRanges[range].name] as const),
  ["this-month", "This month"],
  ["last-month", "Last month"],
  ["custom", "Custom"],
];

/** Ranges that lists of events can be narrowed to. */
export const listRanges: readonly (readonly [string, string])[] = [
  ["", "Any time"],
  ...(["hour", "day", "week", "month"] as const).map((range) => [range, `Last ${timeRanges[range].name}`] as const),
];

/** Start of a span up to now, at a whole minute so an answer can be cached. Absent if the name is not a range. */
export function startOfRange(range: string, now: number): string | undefined {
  if (!Object.hasOwn(timeRanges, range)) return undefined;
  const start = Math.floor(now / minuteMs) * minuteMs - timeRanges[range as TimeRange].ms;
  return new Date(start).toISOString();
}

/** The span of a chart: UTC days, both counted, or moments for the last 24 hours. */
export interface ChartSpan {
  readonly range: ChartRange;
  readonly from: string;
  readonly to: string;
  /** The best one first. */
  readonly intervals: readonly Interval[];
}

/** The span of an address; 30 days where it names none, or a wrong one. */
export function readChartSpan(params: URLSearchParams, now: number): ChartSpan {
  const param = params.get("range") ?? "month";
  const custom = param === "custom" ? readDays(params.get("from") ?? "", params.get("to") ?? "") : undefined;
  if (custom !== undefined) return { range: "custom", ...custom, intervals: listIntervals(custom) };
  if (param === "this-month" || param === "last-month") {
    const days = toMonthDays(now, param === "this-month" ? 0 : 1);
    return { range: param, ...days, intervals: ["day", "week"] };
  }
  const range = Object.hasOwn(timeRanges, param) && param !== "hour" ? (param as Exclude<TimeRange, "hour">) : "month";
  const { ms, intervals } = timeRanges[range];
  if (range === "day") {
    const end = (Math.floor(now / hourMs) + 1) * hourMs;
    return { range, from: new Date(end - dayMs).toISOString(), to: new Date(end).toISOString(), intervals };
  }
  return { range, from: toDay(now - ms + dayMs), to: toDay(now), intervals };
}

/** The days of a UTC month, so many months ago, up to the present one. */
function toMonthDays(now: number, monthsAgo: number): { from: string; to: string } {
  const at = new Date(now);
  const toStart = (months: number) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - months);
  return { from: toDay(toStart(monthsAgo)), to: toDay(Math.min(now, toStart(monthsAgo - 1) - dayMs)) };
}

/** Days that somebody chose, in either order; undefined unless both are days. */
export function readDays(from: string, to: string): { from: string; to: string } | undefined {
  const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
  if (!isDay(from) || !isDay(to)) return undefined;
  return from <= to ? { from, to } : { from: to, to: from };
}

/** The intervals of days that somebody chose, the most readable one first. */
export function listIntervals({ from, to }: { from: string; to: string }): readonly Interval[] {
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days <= 2) return ["hour", "day"];
  if (days <= 8) return ["day", "hour"];
  return days <= 92 ? ["day", "week"] : ["week", "month", "day"];
}

function toDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

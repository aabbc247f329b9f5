import type { Period, Usage, UsageQuery, UsageTotals } from "../../data/usage.ts";

const dayMs = 86_400_000;

/** The time ranges, up to today, with the intervals each can be shown in. */
export const ranges = {
  day: { name: "24 hours", days: 2, periods: ["hourly"] },
  week: { name: "7 days", days: 7, periods: ["daily", "hourly"] },
  month: { name: "30 days", days: 30, periods: ["daily", "hourly", "weekly"] },
  quarter: { name: "90 days", days: 90, periods: ["daily", "weekly", "monthly"] },
  year: { name: "12 months", days: 365, periods: ["monthly", "weekly", "daily"] },
} as const satisfies Record<string, { name: string; days: number; periods: readonly [Period, ...Period[]] }>;

export type RangeName = keyof typeof ranges;

export const rangeNames = Object.keys(ranges) as RangeName[];

/** The UTC days of a range, both inclusive. */
export type Days = Pick<UsageQuery, "startDate" | "endDate">;

/** The last 24 hours start yesterday; `toLast24Hours` drops the older buckets. */
export function toDays(range: RangeName, now: number): Days {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return { startDate: day(now - (ranges[range].days - 1) * dayMs), endDate: day(now) };
}

/** Days that somebody chose, in either order; undefined unless both are days. */
export function readDays(from: string, to: string): Days | undefined {
  const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
  if (!isDay(from) || !isDay(to)) return undefined;
  return from <= to ? { startDate: from, endDate: to } : { startDate: to, endDate: from };
}

/** The intervals that the API offers for chosen days, the most readable one first. */
export function listPeriods({ startDate, endDate }: Days): readonly [Period, ...Period[]] {
  const days = (Date.parse(endDate) - Date.parse(startDate)) / dayMs + 1;
  if (days <= 2) return ["hourly", "daily"];
  if (days <= 31) return ["daily", "hourly", "weekly"];
  return days <= 366 ? ["daily", "weekly", "monthly"] : ["monthly", "weekly"];
}

/** Reduces usage of two whole days to the buckets of the last 24 hours, with new totals. */
export function toLast24Hours(usage: Usage, now: number): Usage {
  const data = usage.data.filter(({ start, end }) => Date.parse(end) > now - dayMs && Date.parse(start) <= now);
  const byModel = Map.groupBy(
    data.flatMap(({ by_model }) => by_model),
    ({ model }) => model,
  );
  const by_model = [...byModel].map(([model, rows]) => ({ model, ...sumUsage(rows) }));
  return { ...usage, data, totals: { ...sumUsage(data), by_model } };
}

function sumUsage(rows: readonly UsageTotals[]): UsageTotals {
  const sum = (value: (row: UsageTotals) => number) => rows.reduce((total, row) => total + value(row), 0);
  const usd = (value: (row: UsageTotals) => string) => sum((row) => Number(value(row))).toFixed(9);
  return {
    requests: sum((row) => row.requests),
    failures: sum((row) => row.failures),
    prompt_tokens: sum((row) => row.prompt_tokens),
    completion_tokens: sum((row) => row.completion_tokens),
    total_tokens: sum((row) => row.total_tokens),
    characters: sum((row) => row.characters),
    images: sum((row) => row.images),
    audio_seconds: sum((row) => row.audio_seconds),
    quota_tokens: sum((row) => row.quota_tokens),
    cost_usd: usd((row) => row.cost_usd),
    charged_usd: usd((row) => row.charged_usd),
  };
}

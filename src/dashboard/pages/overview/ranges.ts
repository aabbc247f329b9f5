import type { Figures, Period, Span, Usage } from "../../data/usage.ts";

const dayMs = 86_400_000;

/** What may be looked at: so many days until today, and the buckets that they may be told in. */
export const ranges = {
  day: { name: "24 hours", days: 2, periods: ["hourly"] },
  week: { name: "7 days", days: 7, periods: ["daily", "hourly"] },
  month: { name: "30 days", days: 30, periods: ["daily", "hourly", "weekly"] },
  quarter: { name: "90 days", days: 90, periods: ["daily", "weekly", "monthly"] },
  year: { name: "12 months", days: 365, periods: ["monthly", "weekly", "daily"] },
} as const satisfies Record<string, { name: string; days: number; periods: readonly [Period, ...Period[]] }>;

export type RangeName = keyof typeof ranges;

export const rangeNames = Object.keys(ranges) as RangeName[];

/** The last 24 hours begin yesterday; what of them is too old is left out when they are drawn. */
export function spanOf(range: RangeName, period: Period, now: number): Span {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return { startDate: day(now - (ranges[range].days - 1) * dayMs), endDate: day(now), period };
}

/** The buckets of the last 24 hours alone, with sums of their own: what was asked for begins with a day. */
export function lastDayOf(usage: Usage, now: number): Usage {
  const data = usage.data.filter(({ start, end }) => Date.parse(end) > now - dayMs && Date.parse(start) <= now);
  const byModel = Map.groupBy(
    data.flatMap(({ by_model }) => by_model),
    ({ model }) => model,
  );
  const by_model = [...byModel].map(([model, rows]) => ({ model, ...sumOf(rows) }));
  return { ...usage, data, totals: { ...sumOf(data), by_model } };
}

function sumOf(rows: readonly Figures[]): Figures {
  const sum = (value: (row: Figures) => number) => rows.reduce((total, row) => total + value(row), 0);
  const usd = (value: (row: Figures) => string) => sum((row) => Number(value(row))).toFixed(9);
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

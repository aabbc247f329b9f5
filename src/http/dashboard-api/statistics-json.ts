import {
  answerColumns,
  cacheReadColumns,
  formatUsd,
  nanodollarsPerUsd,
  promptColumns,
  sumColumns,
} from "../../contract/index.ts";
import { describeEarnings, type StatisticsFigures, type UsageFigures } from "../../reports/index.ts";

/** Metrics of a chart: shares are from 0 to 1, latencies are the 95th percentile in milliseconds. */
export const metrics = [
  "cost",
  "earned",
  "requests",
  "errors",
  "error_share",
  "tokens",
  "cache",
  "first_byte",
  "duration",
] as const;
export type Metric = (typeof metrics)[number];

/** `errors` are failed calls and refused requests; unknown figures are `null`. */
export function toFiguresJson(figures: StatisticsFigures) {
  return {
    requests: toRequests(figures),
    errors: toErrors(figures),
    refused: figures.refused,
    prompt_tokens: toPromptTokens(figures),
    cached_tokens: sumColumns(figures, cacheReadColumns),
    completion_tokens: toCompletionTokens(figures),
    total_tokens: toPromptTokens(figures) + toCompletionTokens(figures),
    cache_share: toCacheShare(figures),
    cost_usd: formatUsd(figures.cost_nanodollars),
    charged_usd: formatUsd(figures.charged_nanodollars),
    cache_saved_usd: formatUsd(figures.cache_saved_nanodollars),
    cache_lost_usd: formatUsd(figures.cache_lost_nanodollars),
    first_byte_ms: { p50: figures.firstByteMs.p50 ?? null, p95: figures.firstByteMs.p95 ?? null },
    duration_ms: { p50: figures.durationMs.p50 ?? null, p95: figures.durationMs.p95 ?? null },
  };
}

/** Earnings, and their part of the charge. For operators alone. */
export function toMarginJson(figures: UsageFigures) {
  const { provider_cost_nanodollars: cost, charged_nanodollars: charged } = figures;
  return { ...describeEarnings(figures), margin: charged === 0 ? null : (charged - cost) / charged };
}

/** For account holders. */
export const withoutMargin = { provider_cost_usd: null, earned_usd: null, margin: null };

export function toMetric(figures: StatisticsFigures, metric: Metric): number | null {
  switch (metric) {
    case "cost":
      return figures.cost_nanodollars / nanodollarsPerUsd;
    case "earned":
      return (figures.charged_nanodollars - figures.provider_cost_nanodollars) / nanodollarsPerUsd;
    case "requests":
      return toRequests(figures);
    case "errors":
      return toErrors(figures);
    case "error_share":
      return toRequests(figures) === 0 ? null : toErrors(figures) / toRequests(figures);
    case "tokens":
      return toPromptTokens(figures) + toCompletionTokens(figures);
    case "cache":
      return toCacheShare(figures);
    case "first_byte":
      return figures.firstByteMs.p95 ?? null;
    case "duration":
      return figures.durationMs.p95 ?? null;
  }
}

function toRequests({ requests, failures, refused }: StatisticsFigures): number {
  return requests + failures + refused;
}

function toErrors({ failed, refused }: StatisticsFigures): number {
  return failed + refused;
}

function toPromptTokens(figures: StatisticsFigures): number {
  return sumColumns(figures, promptColumns);
}

function toCompletionTokens(figures: StatisticsFigures): number {
  return sumColumns(figures, answerColumns);
}

/** Share of the prompt tokens that came from a provider's cache. */
function toCacheShare(figures: StatisticsFigures): number | null {
  const prompt = toPromptTokens(figures);
  return prompt === 0 ? null : sumColumns(figures, cacheReadColumns) / prompt;
}

/** The figures that are compared with the previous period. */
const compared = ["requests", "errors", "total_tokens", "cost_usd", "charged_usd"] as const;
type Compared = Pick<ReturnType<typeof toFiguresJson>, (typeof compared)[number]> & {
  readonly earned_usd: string | null;
};

/**
 * Figures of the previous period, and the change since then in percent.
 *
 * @returns `null` as the change of a figure that was 0 or less before, or that is not shown.
 */
export function toComparison(now: Compared, before: Compared) {
  const names = [...compared, "earned_usd"] as const;
  const changes = names.map((name) => {
    const [present, past] = [Number(now[name] ?? 0), Number(before[name] ?? 0)];
    return [name, past <= 0 ? null : Math.round(((present - past) / past) * 1000) / 10] as const;
  });
  const figures = Object.fromEntries(names.map((name) => [name, before[name]])) as Compared;
  const percent = Object.fromEntries(changes) as Record<(typeof names)[number], number | null>;
  return { ...figures, change_percent: percent };
}

import type { Bucket, Figures, OfModel } from "../../data/usage.ts";
import type { Series } from "../../ui/chart/stacked-bars.tsx";

export const metrics = ["requests", "tokens", "cost"] as const;
export type Metric = (typeof metrics)[number];

/** As many colours as the eye can tell apart; the rest is one. */
const shownMax = 5;

export function figureOf(figures: Figures, metric: Metric): number {
  if (metric === "requests") return figures.requests;
  return metric === "tokens" ? figures.total_tokens : Number(figures.cost_usd);
}

/** The models that make most of a figure, the greatest first. */
export function rankModels(models: readonly OfModel[], metric: Metric): readonly OfModel[] {
  return models.toSorted(
    (a, b) => figureOf(b, metric) - figureOf(a, metric) || b.requests - a.requests || a.model.localeCompare(b.model),
  );
}

/** One series for each of the greatest models, and one for all others. */
export function seriesOf(buckets: readonly Bucket[], ranked: readonly OfModel[], metric: Metric): Series[] {
  const shown = ranked.slice(0, ranked.length > shownMax + 1 ? shownMax : shownMax + 1).map(({ model }) => model);
  const perBucket = buckets.map(({ by_model }) => new Map(by_model.map((row) => [row.model, figureOf(row, metric)])));
  const series = shown.map((model) => ({ name: model, values: perBucket.map((row) => row.get(model) ?? 0) }));
  if (shown.length === ranked.length) return series;
  const others = buckets.map(({ by_model }) =>
    by_model.filter(({ model }) => !shown.includes(model)).reduce((sum, row) => sum + figureOf(row, metric), 0),
  );
  return [...series, { name: `${ranked.length - shown.length} others`, values: others }];
}

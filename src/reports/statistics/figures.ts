import { figureColumns, latencyBuckets, type UsageSum, usageSums } from "../../db/index.ts";
import { findPercentile } from "./latency.ts";

/** Sums of statistics, with percentiles in milliseconds; undefined: there was nothing to measure. */
export type StatisticsFigures = Readonly<Record<UsageSum, number>> & {
  readonly firstByteMs: Percentiles;
  readonly durationMs: Percentiles;
};

export interface Percentiles {
  readonly p50: number | undefined;
  readonly p95: number | undefined;
}

/** Adds up figures in the order of `figureColumns`. */
export function sumFigures(all: Iterable<readonly number[]>): number[] {
  const total = figureColumns.map(() => 0);
  for (const figures of all) {
    for (let place = 0; place < total.length; place++) total[place] = (total[place] as number) + (figures[place] ?? 0);
  }
  return total;
}

/** Reads figures that are in the order of `figureColumns`; absent: zeros. */
export function readFigures(figures: readonly number[] = []): StatisticsFigures {
  const sums = Object.fromEntries(usageSums.map((name, place) => [name, figures[place] ?? 0]));
  const first = usageSums.length;
  return {
    ...(sums as Record<UsageSum, number>),
    firstByteMs: toPercentiles(figures.slice(first, first + latencyBuckets)),
    durationMs: toPercentiles(figures.slice(first + latencyBuckets)),
  };
}

function toPercentiles(histogram: readonly number[]): Percentiles {
  return { p50: findPercentile(histogram, 0.5), p95: findPercentile(histogram, 0.95) };
}

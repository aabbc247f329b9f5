import { describe, expect, test } from "bun:test";
import { latencyBuckets } from "../../../src/db/index.ts";
import { findLatencyBucket, findPercentile } from "../../../src/reports/statistics.ts";
import { randomBelow } from "../../support/random.ts";

function histogramOf(durations: readonly number[]): number[] {
  const histogram = Array.from({ length: latencyBuckets }, () => 0);
  for (const ms of durations) histogram[findLatencyBucket(ms)] = (histogram[findLatencyBucket(ms)] ?? 0) + 1;
  return histogram;
}

describe("the percentile of a histogram", () => {
  test.each([3, 40, 700, 9000, 120_000])("is near the true one, around %d ms", (middle) => {
    const below = randomBelow(middle);
    const durations = Array.from(
      { length: 5000 },
      () => middle / 2 + (below(middle) + below(middle) + below(middle)) / 3,
    );
    const sorted = durations.toSorted((one, other) => one - other);
    for (const share of [0.5, 0.95]) {
      const truth = sorted[Math.ceil(durations.length * share) - 1] as number;
      const found = findPercentile(histogramOf(durations), share) as number;
      expect(Math.abs(found - truth)).toBeLessThanOrEqual(Math.max(7, truth * 0.35));
    }
  });

  test("of nothing is unknown, and beyond the last bound it is that bound", () => {
    expect(findPercentile(histogramOf([]), 0.5)).toBeUndefined();
    expect(findPercentile(histogramOf([4_000_000]), 0.5)).toBeWithin(300_000, 320_000);
  });

  test.each([0, 10, 10.01, 16, 309_000, 1e12])("has one bucket for %d ms", (ms) => {
    const bucket = findLatencyBucket(ms);
    expect(bucket).toBeWithin(0, latencyBuckets);
    expect(findLatencyBucket(ms + 1)).toBeGreaterThanOrEqual(bucket);
  });
});

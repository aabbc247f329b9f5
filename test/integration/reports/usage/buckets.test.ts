import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  createBuckets,
  type DaySpan,
  findBucketIndex,
  type ModelUsage,
  periods,
  spanDaysMax,
  sumUsage,
  type UsageBucket,
  type UsageFigures,
  usageFigures,
} from "../../../../src/reports/usage.ts";

const dayMs = 86_400_000;
const dayOf = (text: string) => Date.parse(`${text}T00:00:00Z`) / dayMs;
const spanOf = (start: string, end: string): DaySpan => ({ startDay: dayOf(start), endDay: dayOf(end) });
const textOf = (hour: number) => new Date(hour * 3_600_000).toISOString().slice(0, 13);

describe("buckets", () => {
  test.each<[UsageBucket, string, string, string[]]>([
    ["daily", "2026-11-20", "2026-11-21", ["2026-11-20T00 2026-11-21T00", "2026-11-21T00 2026-11-22T00"]],
    ["daily", "2024-02-28", "2024-02-29", ["2024-02-28T00 2024-02-29T00", "2024-02-29T00 2024-03-01T00"]],
    ["weekly", "2026-11-16", "2026-11-22", ["2026-11-16T00 2026-11-23T00"]],
    ["weekly", "2026-11-21", "2026-11-24", ["2026-11-21T00 2026-11-23T00", "2026-11-23T00 2026-11-25T00"]],
    ["weekly", "1970-01-01", "1970-01-05", ["1970-01-01T00 1970-01-05T00", "1970-01-05T00 1970-01-06T00"]],
    ["weekly", "2026-12-28", "2027-01-03", ["2026-12-28T00 2027-01-04T00"]],
    [
      "monthly",
      "2024-01-31",
      "2024-03-01",
      ["2024-01-31T00 2024-02-01T00", "2024-02-01T00 2024-03-01T00", "2024-03-01T00 2024-03-02T00"],
    ],
    ["yearly", "2025-12-31", "2026-01-01", ["2025-12-31T00 2026-01-01T00", "2026-01-01T00 2026-01-02T00"]],
  ])("of %s from %s to %s follow the UTC calendar", (period, start, end, expected) => {
    const found = createBuckets(period, spanOf(start, end));
    expect(found.map(({ startHour, endHour }) => `${textOf(startHour)} ${textOf(endHour)}`)).toEqual(expected);
  });

  test("of an hour are twenty-four to a day", () => {
    const found = createBuckets("hourly", spanOf("2026-11-21", "2026-11-21"));
    expect(found).toHaveLength(24);
    expect(textOf(found[23]!.startHour)).toBe("2026-11-21T23");
  });

  test.each([...periods])("of the longest %s span are no more than an answer takes", (period) => {
    const startDay = dayOf("1990-01-01");
    expect(createBuckets(period, { startDay, endDay: startDay + spanDaysMax[period] - 1 }).length).toBeLessThanOrEqual(
      750,
    );
  });

  test("cover their span without a gap, and each hour has its own", () => {
    fc.assert(
      fc.property(anyPeriod, anySpan, fc.nat(), (period, span, offset) => {
        const buckets = createBuckets(period, span);
        expect(buckets[0]?.startHour).toBe(span.startDay * 24);
        expect(buckets.at(-1)?.endHour).toBe((span.endDay + 1) * 24);
        for (const [index, bucket] of buckets.entries()) {
          expect(bucket.endHour).toBeGreaterThan(bucket.startHour);
          if (index > 0) expect(bucket.startHour).toBe(buckets[index - 1]!.endHour);
        }
        const hour = span.startDay * 24 + (offset % ((span.endDay - span.startDay + 1) * 24));
        const found = buckets[findBucketIndex(buckets, hour)!]!;
        expect(hour >= found.startHour && hour < found.endHour).toBe(true);
        expect(findBucketIndex(buckets, span.startDay * 24 - 1)).toBeUndefined();
        expect(findBucketIndex(buckets, (span.endDay + 1) * 24)).toBeUndefined();
      }),
    );
  });
});

const anyPeriod = fc.constantFrom(...periods);
const anySpan = fc
  .record({ startDay: fc.integer({ min: 0, max: 30_000 }), length: fc.integer({ min: 0, max: 60 }) })
  .map(({ startDay, length }) => ({ startDay, endDay: startDay + length }));
const anyFigures = fc.record(
  Object.fromEntries(usageFigures.map((name) => [name, fc.nat(1_000_000)])) as Record<
    keyof UsageFigures,
    fc.Arbitrary<number>
  >,
);

describe("sums", () => {
  test("of the buckets, of their models and of the rows are the same", () => {
    const anyRows = fc.array(
      fc.record({ offset: fc.nat(), model: fc.constantFrom("a", "b", "c"), figures: anyFigures }),
    );
    fc.assert(
      fc.property(anyPeriod, anySpan, anyRows, (period, span, drawn) => {
        const hours = (span.endDay - span.startDay + 1) * 24;
        const rows = drawn.map(
          ({ offset, model, figures }): ModelUsage => ({
            ...figures,
            model,
            hour: span.startDay * 24 + (offset % hours),
          }),
        );
        const { totals, buckets } = sumUsage(createBuckets(period, span), rows);
        for (const name of usageFigures) {
          const wanted = total(rows.map((row) => row[name]));
          expect(totals.figures[name]).toBe(wanted);
          expect(total(buckets.map(({ figures }) => figures[name]))).toBe(wanted);
          expect(
            total(buckets.flatMap(({ byModel }) => [...byModel.values()].map((keyLimits) => keyLimits[name]))),
          ).toBe(wanted);
        }
      }),
    );
  });

  test("are zeros where nothing happened, and leave out what is not asked for", () => {
    const span = spanOf("2026-11-20", "2026-11-21");
    const row = { ...(Object.fromEntries(usageFigures.map((name) => [name, 1])) as UsageFigures), model: "a" };
    const { totals, buckets } = sumUsage(createBuckets("daily", span), [{ ...row, hour: span.startDay * 24 - 1 }]);
    expect([totals.figures.requests, totals.byModel.size, buckets.length]).toEqual([0, 0, 2]);
  });
});

function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

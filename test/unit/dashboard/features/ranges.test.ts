import { describe, expect, test } from "bun:test";
import { listPeriods, readDays } from "../../../../src/dashboard/features/overview/ranges.ts";
import { spanDaysMax } from "../../../../src/reports/index.ts";

describe("chosen days", () => {
  test("are taken in either order, and only if both are days", () => {
    const days = { startDate: "2026-01-02", endDate: "2026-02-01" };
    expect(readDays("2026-01-02", "2026-02-01")).toEqual(days);
    expect(readDays("2026-02-01", "2026-01-02")).toEqual(days);
    for (const text of ["", "2026-13-01", "yesterday", "2026-1-2"])
      expect(readDays(text, "2026-02-01")).toBeUndefined();
  });

  test("are offered only in intervals that the API allows for so many", () => {
    for (const days of [1, 2, 3, 31, 32, 366, 367, 1830]) {
      const endDate = new Date(Date.UTC(2026, 0, 1) + (days - 1) * 86_400_000).toISOString().slice(0, 10);
      for (const period of listPeriods({ startDate: "2026-01-01", endDate })) {
        expect([period, days <= spanDaysMax[period]]).toEqual([period, true]);
      }
    }
  });
});

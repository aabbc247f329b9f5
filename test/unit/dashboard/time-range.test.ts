import { describe, expect, test } from "bun:test";
import { listIntervals, readChartSpan, readDays, startOfRange } from "../../../src/dashboard/data/time-range.ts";

const now = Date.parse("2026-11-26T14:20:30Z");

describe("chosen days", () => {
  test("are taken in either order, and only if both are days", () => {
    const days = { from: "2026-01-02", to: "2026-02-01" };
    expect(readDays("2026-01-02", "2026-02-01")).toEqual(days);
    expect(readDays("2026-02-01", "2026-01-02")).toEqual(days);
    for (const text of ["", "2026-13-01", "yesterday", "2026-1-2"])
      expect(readDays(text, "2026-02-01")).toBeUndefined();
  });

  test("are shown by hours only where the API allows so many", () => {
    for (const [days, first] of [
      [1, "hour"],
      [2, "hour"],
      [8, "day"],
      [9, "day"],
      [92, "day"],
      [93, "week"],
    ] as const) {
      const to = new Date(Date.UTC(2026, 0, 1) + (days - 1) * 86_400_000).toISOString().slice(0, 10);
      const intervals = listIntervals({ from: "2026-01-01", to });
      expect([days, intervals[0], intervals.includes("hour")]).toEqual([days, first, days <= 8]);
    }
  });
});

describe("the span of a chart", () => {
  test("ends today, and that of 24 hours with the running hour", () => {
    const spanOf = (query: string) => readChartSpan(new URLSearchParams(query), now);
    expect(spanOf("")).toMatchObject({ range: "month", from: "2026-10-28", to: "2026-11-26" });
    expect(spanOf("range=week")).toMatchObject({ range: "week", from: "2026-11-20", to: "2026-11-26" });
    expect(spanOf("range=day")).toMatchObject({ from: "2026-11-25T15:00:00.000Z", to: "2026-11-26T15:00:00.000Z" });
  });

  test("of this month ends today, and that of the last month with its last day", () => {
    const spanOf = (range: string, at = now) => readChartSpan(new URLSearchParams({ range }), at);
    expect(spanOf("this-month")).toMatchObject({ range: "this-month", from: "2026-11-01", to: "2026-11-26" });
    expect(spanOf("last-month")).toMatchObject({ range: "last-month", from: "2026-10-01", to: "2026-10-31" });
    const january = Date.parse("2027-01-01T00:00:00Z");
    expect(spanOf("this-month", january)).toMatchObject({ from: "2027-01-01", to: "2027-01-01" });
    expect(spanOf("last-month", january)).toMatchObject({ from: "2026-12-01", to: "2026-12-31" });
  });

  test("is 30 days for a name that is none, and for custom days that are none", () => {
    for (const query of ["range=hour", "range=constructor", "range=custom", "range=custom&from=2026-01-01"]) {
      expect([query, readChartSpan(new URLSearchParams(query), now).range]).toEqual([query, "month"]);
    }
  });
});

test("a list up to now begins at a whole minute, so that its answer can be cached", () => {
  expect(startOfRange("hour", now)).toBe("2026-11-26T13:20:00.000Z");
  expect(startOfRange("toString", now)).toBeUndefined();
});

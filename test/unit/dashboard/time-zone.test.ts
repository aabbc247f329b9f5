import { expect, test } from "bun:test";
import { toNextMoment } from "../../../src/dashboard/data/time-zone.ts";

const now = Date.parse("2026-11-30T14:20:30Z");
const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();

test("a time of day without a date is today's, or tomorrow's where it is later already", () => {
  expect(toIso(toNextMoment("", "18:00", now))).toBe("2026-11-30T18:00:00.000Z");
  expect(toIso(toNextMoment("", "14:20", now))).toBe("2026-12-01T14:20:00.000Z");
});

test("a time of day with a date is of that date, also one that is over, which the gateway refuses", () => {
  expect(toIso(toNextMoment("2027-01-31", "09:05", now))).toBe("2027-01-31T09:05:00.000Z");
  expect(toIso(toNextMoment("2026-11-30", "09:05", now))).toBe("2026-11-30T09:05:00.000Z");
});

import { expect, test } from "bun:test";
import { UsageError } from "../../../src/cli/command.ts";
import { parseAmount, parseExpiry, parseTokens } from "../../../src/cli/lib/parse.ts";

const now = Date.parse("2026-11-21T10:00:00Z");

test.each([
  ["30d", "2026-12-21T10:00:00.000Z"],
  ["12h", "2026-11-21T22:00:00.000Z"],
  ["90m", "2026-11-21T11:30:00.000Z"],
  ["2w", "2026-12-05T10:00:00.000Z"],
  ["1y", "2027-11-21T10:00:00.000Z"],
  ["2026-11-21", "2026-11-21T23:59:59.999Z"],
  ["2028-02-29", "2028-02-29T23:59:59.999Z"],
])("readExpiry takes %s as %s", (text, expected) => {
  expect(new Date(parseExpiry(text, now)).toISOString()).toBe(expected);
});

test.each(["", "30", "d", "30 d", "-1d", "1.5d", "soon", "2027-02-30", "2027-13-01", "21.11.2027", "0d", "2026-11-20"])(
  "readExpiry refuses %p",
  (text) => {
    expect(() => parseExpiry(text, now)).toThrow(UsageError);
    expect(() => parseExpiry(text, now)).toThrow("--expires");
  },
);

test("readExpiry takes the next time of a day here, and a date with a time", () => {
  const at = new Date(now);
  const minute = 60_000;
  const clock = (offset: number) => new Date(now + offset).toTimeString().slice(0, 5);
  at.setSeconds(0, 0);
  expect(parseExpiry(clock(2 * minute), now)).toBe(at.getTime() + 2 * minute);
  const before = new Date(parseExpiry(clock(-2 * minute), now));
  expect(before.getTime()).toBeGreaterThan(now);
  expect(before.toTimeString().slice(0, 5)).toBe(clock(-2 * minute));
  expect(parseExpiry("2099-01-31T18:00Z", now)).toBe(Date.UTC(2099, 0, 31, 18));
  expect(parseExpiry("2099-01-31T18:00:30+02:00", now)).toBe(Date.UTC(2099, 0, 31, 16, 0, 30));
  for (const text of ["24:00", "18:60", "2099-01-31T25:00Z"]) {
    expect(() => parseExpiry(text, now, "--until")).toThrow(`Cannot read --until ${text}, expected a duration`);
  }
});

test.each(["9999999y", "999999y"])("readExpiry refuses %p, which is beyond what a date can hold", (text) => {
  expect(() => parseExpiry(text, now)).toThrow(UsageError);
});

test.each([
  ["5.00", 5_000_000_000],
  ["0.000000001", 1],
  ["12", 12_000_000_000],
])("readUsd takes %s as %d nanodollars", (text, expected) => {
  expect(parseAmount(text)).toBe(expected);
});

test.each(["0", "0.00", "-0", "-0.5", "5,00", "$5", "1e3", "0.0000000001", "9999999999", ""])(
  "readUsd refuses %p",
  (text) => {
    expect(() => parseAmount(text)).toThrow(UsageError);
  },
);

test.each([
  ["0", 0],
  ["250000", 250_000],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
])("readTokens takes %s", (text, expected) => {
  expect(parseTokens(text)).toBe(expected);
});

test.each(["-1", "1.5", "1e6", "9007199254740992", "many", ""])("readTokens refuses %p", (text) => {
  expect(() => parseTokens(text)).toThrow(UsageError);
});

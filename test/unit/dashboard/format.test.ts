import { expect, test } from "bun:test";
import {
  formatChange,
  formatExactPercent,
  formatShare,
  formatUsdColumn,
  toUsdDecimals,
} from "../../../src/dashboard/format.ts";

test.each([
  ["0", 4, "$0.0000"],
  ["0.0000129", 4, "<$0.0001"],
  ["0.00005", 4, "$0.0001"],
  ["-1.5", 4, "−$1.5000"],
  ["0.004", 2, "<$0.01"],
  ["1234.5", 2, "$1,234.50"],
])("a column shows %s with %i decimals as %s, and no charge as nothing", (text, decimals, shown) => {
  expect(formatUsdColumn(text, decimals)).toBe(shown);
});

test.each([
  [0, 4],
  [0.0000242, 7],
  [0.005, 5],
  [3.2, 4],
  [99.9, 4],
  [100, 2],
  [1e-12, 9],
])("the parts of a sum of %d dollars are told apart by %i decimals", (total, decimals) => {
  expect(toUsdDecimals(total)).toBe(decimals);
});

test.each([
  [null, "–"],
  [-0.0262, "−2.6 %"],
  [-0.0004, "0.0 %"],
  [0.3333, "33.3 %"],
  [1, "100.0 %"],
])("the share %p has one decimal and a minus sign, as on the command line: %s", (share, shown) => {
  expect(formatShare(share)).toBe(shown);
});

test.each([
  [12, 9, "+33.3 %"],
  [1, 3, "−66.7 %"],
  [3, 3, "±0 %"],
  [1, 0, undefined],
])("a change to %d from %d has one decimal and a sign: %s", (now, before, shown) => {
  expect(formatChange(now, before)).toBe(shown as string);
});

test("a percentage that was set keeps its digits and has a minus sign", () => {
  expect([formatExactPercent("-2.25"), formatExactPercent("20")]).toEqual(["−2.25 %", "20 %"]);
});

import { expect, test } from "bun:test";
import { formatUsdColumn, toUsdDecimals } from "../../../src/dashboard/format.ts";

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

import { expect, test } from "bun:test";
import { decodePercent, mediaTypeOf, quoteValue } from "../../../src/contract/index.ts";

test.each([
  ["Text/HTML; charset=utf-8", "text/html"],
  [" application/json ;q=1", "application/json"],
  ["", ""],
  [null, undefined],
  [undefined, undefined],
])("the media type of %p is %p", (header, expected) => {
  expect(mediaTypeOf(header)).toBe(expected);
});

test("percent-encoded text is decoded, and malformed text is returned as it is", () => {
  expect(["a%20b", "100%", "%E0%A4%A"].map(decodePercent)).toEqual(["a b", "100%", "%E0%A4%A"]);
});

test("a value in an error message is JSON, shortened", () => {
  expect([1, Number.NaN, null, "a\nb", { a: [1] }, undefined].map((value) => quoteValue(value))).toEqual([
    "1",
    "NaN",
    "null",
    '"a\\nb"',
    '{"a":[1]}',
    "undefined",
  ]);
  expect(quoteValue("x".repeat(100), 3)).toBe('"xxx…"');
  expect(quoteValue([1, 2, 3], 3)).toBe("[1,…");
});

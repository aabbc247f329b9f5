import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findJsonError } from "../../../src/providers/read-files.ts";

describe("jsonFault", () => {
  test.each([
    ["", 1, 1, "the end of the file"],
    ["{", 1, 2, "the end of the file"],
    ['{"a" 1}', 1, 6, '"1"'],
    ['{"a": 1,}', 1, 9, '"}"'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, '"\\""'],
    ["[1, 2", 1, 6, "the end of the file"],
    ["[1,, 2]", 1, 4, '","'],
    ["{a: 1}", 1, 2, '"a"'],
    ["{'a': 1}", 1, 2, '"\'"'],
    ['{"a": 01}', 1, 8, '"1"'],
    ['{"a": // why\n1}', 1, 7, '"/"'],
    ["[1] 2", 1, 5, '"2"'],
    ['["a\n"]', 1, 2, '"\\""'],
  ])("finds the place in %j", (text, line, column, found) => {
    expect(findJsonError(text)).toEqual({ line, column, reason: `${found} was not expected` });
    expect(() => JSON.parse(text)).toThrow();
  });

  test("finds nothing in JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        expect(findJsonError(JSON.stringify(value, null, space))).toBeUndefined();
      }),
    );
  });

  test("stands the deepest nesting and a long text", () => {
    expect(findJsonError("[".repeat(100_000))?.column).toBe(100_001);
    expect(findJsonError(`["${"x".repeat(2_000_000)}\\n"`)?.reason).toContain("end of the file");
  });
});

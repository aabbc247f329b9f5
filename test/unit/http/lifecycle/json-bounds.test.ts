import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { toWellFormedJson } from "../../../../src/http/lifecycle/read-body.ts";
import {
  checkJsonBounds,
  escapesMax,
  fieldWeight,
  jsonBounds,
  otherCharsMax,
  stringWeight,
} from "../../../../src/lib/json.ts";
import { anyJson, runs } from "../../../support/hostile.ts";

const { depthMax: nestingMax, weightMax: valuesMax } = jsonBounds.body;
const [deep, wide] = ["nested deeper than 200 levels", "more than 500000 values"];
const [stringsMax, fieldsMax] = [Math.floor(valuesMax / stringWeight), Math.floor(valuesMax / fieldWeight)];
const list = (items: string, count: number) => `[${`${items},`.repeat(count - 1)}${items}]`;
const object = (fields: number) => `{${Array.from({ length: fields }, (_, index) => `"k${index}":0`).join(",")}}`;

describe("a JSON text", () => {
  test.each([
    ["of many brackets", "[".repeat(nestingMax + 1), deep],
    ["of many braces", '{"a":'.repeat(nestingMax + 1), deep],
    ["of many numbers", list("0", valuesMax + 1), wide],
    ["of many empty lists", list("[]", valuesMax / 2 + 1), wide],
    ["of many empty objects", list("{}", valuesMax / 2 + 1), wide],
    ["of many strings", list('""', stringsMax + 1), wide],
    ["of many names", object(fieldsMax + 1), wide],
    ["of many escapes", `"${'\\"'.repeat(escapesMax + 1)}"`, "more than 2500000 escapes"],
    ["of spaces", `${" ".repeat(otherCharsMax + 1)}0`, "more than 16000000 characters outside"],
    ["of spaces behind a string", `["a"${" ".repeat(otherCharsMax)}]`, "more than 16000000 characters outside"],
    ["of a long number", `[${"1".repeat(otherCharsMax + 1)}]`, "more than 16000000 characters outside"],
    ["behind a string that ends in a backslash", `["\\\\",${"[".repeat(nestingMax)}`, deep],
  ])("%s is refused", (_, text, sentence) => {
    expect(() => checkJsonBounds(text, "body")).toThrow(sentence);
  });

  test.each([
    ["as deep as may be", `${"[".repeat(nestingMax)}${"]".repeat(nestingMax)}`],
    ["as wide as may be", list("0", valuesMax)],
    ["with as many strings as may be", list('""', stringsMax)],
    ["with as many names as may be", object(fieldsMax)],
    ["with as many escapes as may be", `"${'\\"'.repeat(escapesMax)}"`],
    ["of a long string", `["${"a ".repeat(otherCharsMax)}"]`],
    ["with brackets in a string", JSON.stringify("[{,:".repeat(valuesMax))],
    ["with brackets behind an escaped quote", JSON.stringify(`"${"[{,:".repeat(valuesMax)}\\`)],
    ["with a string that does not end", `"\\${"[".repeat(valuesMax)}`],
  ])("%s passes", (_, text) => {
    checkJsonBounds(text, "body");
  });

  test("of any kind passes when it is short", () => {
    fc.assert(
      fc.property(anyJson(), (value) => {
        checkJsonBounds(JSON.stringify(value), "body");
      }),
      runs(200),
    );
  });
});

describe("halves of surrogate pairs in a JSON text", () => {
  test.each([
    ["a whole pair", '"\\ud83d\\ude00"', '"\\ud83d\\ude00"'],
    ["a first half", '"\\ud83d"', '"\\ufffd"'],
    ["a second half", '"\\uDE00 a"', '"\\ufffd a"'],
    ["halves in the wrong order", '"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
    ["a half before a pair", '"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ["a name", '{"\\ud800":1}', '{"\\ufffd":1}'],
    ["an escaped backslash before it", '"\\\\ud83d"', '"\\\\ud83d"'],
    ["an escaped backslash and a second half", '"\\\\ud83d\\ude00"', '"\\\\ud83d\\ufffd"'],
  ])("%s: %s is read as %s", (_, text, expected) => {
    expect(toWellFormedJson(text)).toBe(expected);
  });

  test("of an escape that is none are left for the parser to refuse", () => {
    for (const text of ['"\\ud8"', '"\\ud83"', '"\\ud83g"', '"\\ud8', '"\\uD'])
      expect(toWellFormedJson(text)).toBe(text);
  });

  test("call no function for each of them, of which a body may have millions", () => {
    const text = `["${"\\ud83d".repeat(1000)}"]`;
    const replace = spyOn(String.prototype, "replace");
    try {
      expect(toWellFormedJson(text)).toBe(`["${"\\ufffd".repeat(1000)}"]`);
      expect(replace).not.toHaveBeenCalled();
    } finally {
      replace.mockRestore();
    }
  });

  test("are replaced as UTF-8 replaces them, whatever else the text has", () => {
    const pieces = fc.constantFrom("\\", "\ud83d", "\ude00", "u", "d83d", "\n", '"', "a");
    const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
    const check = fc.property(texts, (text) => {
      expect(JSON.parse(toWellFormedJson(JSON.stringify({ [text]: text })))).toEqual({
        [text.toWellFormed()]: text.toWellFormed(),
      });
    });
    fc.assert(check, { numRuns: 500 });
  });
});

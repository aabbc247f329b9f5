import { expect, test } from "bun:test";
import fc from "fast-check";
import { splitText } from "../../../../src/kernel/capabilities/speech.ts";

test.each<[string, number, string[]]>([
  ["short", 5, ["short"]],
  ["One two. Three four! Five", 21, ["One two. Three four!", " Five"]],
  ["One two. Three four! Five", 11, ["One two.", " Three", " four! Five"]],
  ["no end in sight at all", 9, ["no end in", " sight at", " all"]],
  ["aaaaaaaaaa", 4, ["aaaa", "aaaa", "aa"]],
  ["1.5 and 2.5", 8, ["1.5 and", " 2.5"]],
  ["今日は。明日は。", 5, ["今日は。", "明日は。"]],
  ["यह है। वह है।", 8, ["यह है।", " वह है।"]],
  ["😀😀😀", 2, ["😀😀", "😀"]],
  ["a         b", 3, ["a", "b"]],
])("%p in parts of %d", (text, charactersMax, parts) => {
  const split = splitText(text, charactersMax);
  expect(split.map((part) => part.trim())).toEqual(parts.map((part) => part.trim()));
});

test("any text is split into parts that are not too long and lose nothing but spaces", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.integer({ min: 1, max: 30 }),
      (text, charactersMax) => {
        const parts = splitText(text, charactersMax);
        for (const part of parts) expect([...part].length).toBeLessThanOrEqual(charactersMax);
        expect(parts.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
      },
    ),
  );
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import { CustomInputDecoder } from "../../../../src/protocols/responses/client-stream.ts";
import { runs } from "../../../support/hostile.ts";

function decode(pieces: readonly string[]): string {
  const decoder = new CustomInputDecoder();
  return pieces.map((piece) => decoder.push(piece)).join("") + decoder.end();
}

/** A text in pieces of these sizes, again and again. */
function cut(whole: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    pieces.push(whole.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** JSON in which characters are escaped that need not be. */
function escapeAll(text: string): string {
  const escaped = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, "0"));
  return `{"input":"${escaped.map((code) => `\\u${code}`).join("")}"}`;
}

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 });

test("any input comes back, in whatever pieces and escapes", () => {
  const input = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(input, sizes, (text, size) => {
      expect(decode(cut(JSON.stringify({ input: text }), size))).toBe(text);
      expect(decode(cut(JSON.stringify({ input: text }, null, 2), size))).toBe(text);
      expect(decode(cut(escapeAll(text), size))).toBe(text);
    }),
    runs(500),
  );
});

test("any arguments at all come to the same text, in whatever pieces", () => {
  const start = fc.constantFrom("", '{"input":"', '{"input":"\\', '{"input":"\\ud83d', '{"input":');
  fc.assert(
    fc.property(start, fc.string(), sizes, (first, rest, size) => {
      expect(decode(cut(first + rest, size))).toBe(decode([first + rest]));
    }),
    runs(500),
  );
});

test.each([
  ["arguments that are cut are decoded as far as they go", '{"input":"a\\nb', "a\nb"],
  ["an escape that is cut is left out", '{"input":"a\\u00', "a"],
  ["line breaks that should be escaped are taken as they are", '{"input":"a\nb"}', "a\nb"],
  ["an unknown escape is its character", '{"input":"a\\qb"}', "aqb"],
  ["what follows the input is left out", '{"input":"a","b":"c"}', "a"],
  ["the input may come second", '{"b":1,"input":"a"}', "a"],
  ["a JSON text is its value", '"a\\nb"', "a\nb"],
  ["free text stays as it is", "*** Begin Patch", "*** Begin Patch"],
  ["another object stays as it is", '{"patch":"a"}', '{"patch":"a"}'],
])("%s", (_, text, input) => {
  expect(decode([text])).toBe(input);
  expect(decode([...text])).toBe(input);
});

test("the halves of a character are given out together", () => {
  const decoder = new CustomInputDecoder();
  const pieces = ['{"input":"\\ud83d', "\\ude", '00"}'].map((piece) => decoder.push(piece));
  expect(pieces).toEqual(["", "", "😀"]);
});

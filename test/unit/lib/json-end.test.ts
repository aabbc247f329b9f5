import { expect, test } from "bun:test";
import { endsAsJson, isLongJson } from "../../../src/lib/json-end.ts";

const long = `{"a":[${"{},".repeat(30_000)}{}]}`;

test("a long object or list is known by its first character, and its end by its last", () => {
  const texts = [
    long,
    ` \n${long}\n`,
    `[${long}]`,
    long.slice(0, -3),
    `${long.slice(0, -2)},`,
    '{"a":1}',
    "x".repeat(99_999),
  ];
  expect(texts.map((text) => [isLongJson(text), endsAsJson(text)])).toEqual([
    [true, true],
    [true, true],
    [true, true],
    [true, false],
    [true, false],
    [false, true],
    [false, false],
  ]);
});

import { expect, test } from "bun:test";
import { JsonProgress, WholeJson } from "../../../src/lib/json-progress.ts";

const long = `{"a":[${"{},".repeat(30_000)}{}]}`;

function progressOf(...pieces: string[]): JsonProgress {
  const progress = new JsonProgress();
  for (const piece of pieces) progress.add(piece);
  return progress;
}
const stateOf = ({ isOpen, isComplete }: JsonProgress) => (isOpen ? "open" : isComplete ? "complete" : "neither");

test("an object or a list is open until its last bracket, however it is cut, and whatever brackets its texts have", () => {
  const states: Record<string, string> = {
    "": "neither",
    " \n": "neither",
    "12": "neither",
    '"Oslo"': "neither",
    "{": "open",
    '{"a":"}': "open",
    '{"a":"\\"}': "open",
    '{"a":{"b":[1': "open",
    '{"a":"\\\\"}': "complete",
    '{"a":{"b":[1]}} ': "complete",
    "[]": "complete",
  };
  const found = (split: (text: string) => string[]) =>
    Object.fromEntries(Object.keys(states).map((text) => [text, stateOf(progressOf(...split(text)))]));
  expect(found((text) => [text])).toEqual(states);
  expect(found((text) => [...text])).toEqual(states);
});

test("a long object or list is known by its first character, and its end by the last of its pieces", () => {
  const texts = [[long], [` \n${long}\n`], [`[${long}]`], [long, "\n"], [long.slice(0, -3)], [long.slice(0, -2), "]}"]];
  expect(texts.map((pieces) => stateOf(progressOf(...pieces)))).toEqual([
    "complete",
    "complete",
    "complete",
    "complete",
    "open",
    "complete",
  ]);
  expect(stateOf(progressOf("x".repeat(99_999)))).toBe("neither");
});

test("a text is the same as its pieces, also where it is long", () => {
  expect(progressOf('{"a"', ":1}").isSame(new WholeJson('{"a":1}'))).toBe(true);
  expect(progressOf('{"a"', ":1}").isSame(new WholeJson('{"a":2}'))).toBe(false);
  const pieces = long.match(/.{1,1000}/gs) ?? [];
  expect([
    progressOf(...pieces).isSame(new WholeJson(long)),
    progressOf(long).isSame(new WholeJson(long)),
    progressOf(long).isSame(new WholeJson("{}")),
  ]).toEqual([true, true, false]);
});

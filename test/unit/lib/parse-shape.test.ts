import { expect, test } from "bun:test";
import { UpstreamError } from "../../../src/contract/index.ts";
import { parseShape } from "../../../src/lib/parse-shape.ts";

const shape = {
  text: "string",
  count: "number",
  said: { parts: [{ text: "string" }] },
  rest: "any",
  more: {},
} as const;

test("what is of another kind counts as absent, and what is not named stays", () => {
  const answer = {
    text: null,
    count: "many",
    said: { parts: [{ text: null, other: 2 }] },
    rest: null,
    more: [],
    own: 3,
  };
  expect(parseShape(answer, shape)).toBe(true);
  expect(answer as unknown).toEqual({ said: { parts: [{ other: 2 }] }, rest: null, own: 3 });
});

test("a number that is a text, and a text that is parts or a number, are what they are to be", () => {
  const answer = { text: [{ type: "text", text: "Hi" }, " you"], count: "1", said: { parts: [{ text: 1 }] } };
  expect(parseShape(answer, shape)).toBe(true);
  expect(answer as unknown).toEqual({ text: "Hi you", count: 1, said: { parts: [{ text: "1" }] } });
});

test("what is not an object is none", () => {
  for (const answer of [null, undefined, 1, "text", [], [{}]]) expect(parseShape(answer, shape)).toBe(false);
});

test("a list with something else in it is no part of an answer", () => {
  for (const member of [null, 0, [], "text"]) {
    expect(() => parseShape({ said: { parts: [{}, member] } }, shape)).toThrow(UpstreamError);
  }
});

test("what is not a list in the place of one counts as absent", () => {
  const answer = { said: { parts: null } };
  expect(parseShape(answer, shape)).toBe(true);
  expect(answer as unknown).toEqual({ said: {} });
});

import { expect, test } from "bun:test";
import { isOpenCall, StreamedCalls } from "../../../../src/kernel/normalize/tool-calls.ts";
import type { ToolCallDelta } from "../../../../src/provider/index.ts";

const piece = (fields: object) => fields as ToolCallDelta;

test("arguments that a server gives once more with its last chunk, without the name, arrive once", () => {
  const calls = new StreamedCalls();
  const pieces = [
    ...calls.take([piece({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1' } })], false),
    ...calls.take([piece({ index: 0, function: { arguments: "}" } })], false),
    ...calls.take([piece({ index: 0, id: null, function: { name: null, arguments: '{"x":1}' } })], true),
  ];
  expect(pieces.map((one) => one.function?.arguments ?? "").join("")).toBe('{"x":1}');
});

test("arguments that break off are told from those that are whole, empty or of a custom tool", () => {
  const isOpen = (text: string, kind: "function" | "custom" = "function") => {
    const calls = new StreamedCalls();
    const texts = kind === "function" ? { arguments: text } : { input: text };
    calls.take([piece({ index: 0, id: "a", [kind]: { name: "f", ...texts } })], false);
    return [calls.hasOpen, isOpenCall(piece({ [kind]: { name: "f", ...texts } }))];
  };
  const cut = ["{", '{"city":"Pa', '{"a":{"b":[1', '{"a":"}', '{"a":"\\"}', "["];
  const whole = ["", "{}", '{"a":"}"}', '{"a":"\\\\"}', "[]", "12", '"{"'];
  expect(cut.map((text) => isOpen(text))).toEqual(cut.map(() => [true, true]));
  expect(whole.map((text) => isOpen(text))).toEqual(whole.map(() => [false, false]));
  expect(isOpen("*** Begin {", "custom")).toEqual([false, false]);
});

test("two pieces of one call in one chunk leave as one, because clients put two together wrongly", () => {
  const pieces = new StreamedCalls().take(
    [
      piece({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
      piece({ index: 0, function: { arguments: '{"a"' } }),
    ],
    false,
  );
  expect(pieces).toMatchObject([{ index: 0, function: { name: "f", arguments: '{"a"' } }]);
});

test("arguments that a server encodes twice arrive as they were meant, however they were cut, and a text stays a text", () => {
  const inner = '{"city":"Oslo \\"N\\"","path":"C:\\\\","n":[1,2]}';
  const textOf = (text: string, cuts: number, kind: "function" | "custom" = "function", isCutOff = false) => {
    const calls = new StreamedCalls();
    const member = kind === "function" ? "arguments" : "input";
    const size = Math.ceil(text.length / cuts);
    const parts = Array.from({ length: cuts }, (_, at) => text.slice(at * size, (at + 1) * size));
    const pieces = parts.flatMap((part, at) =>
      calls.take(
        [piece({ index: 0, ...(at === 0 && { id: "a" }), [kind]: { ...(at === 0 && { name: "f" }), [member]: part } })],
        false,
      ),
    );
    if (calls.isHolding) pieces.push(...calls.take([], true));
    expect(calls.isHolding).toBe(false);
    expect(calls.hasOpen).toBe(isCutOff);
    return pieces.map((one) => one[kind]?.[member as never] ?? "").join("");
  };
  const encoded = JSON.stringify(inner);
  for (const cuts of [1, 2, 3, 7, encoded.length]) {
    expect(textOf(encoded, cuts)).toBe(inner);
    expect(textOf(` ${encoded}\n`, cuts).trim()).toBe(inner);
    expect(textOf(encoded, cuts, "custom")).toBe(encoded);
    for (const text of ['"Oslo"', '"[1]"', '"{"', '"12"', inner, `${encoded}x`]) expect(textOf(text, cuts)).toBe(text);
    const cut = encoded.slice(0, -5);
    expect(textOf(cut, cuts, "function", true)).toBe(cut);
  }
  expect(textOf(JSON.stringify(JSON.stringify({ a: "x".repeat(300_000) })), 3).startsWith('"{')).toBe(true);
});

test("what is held back of arguments is counted as it comes, and once", () => {
  let counted = "";
  const calls = new StreamedCalls((text) => {
    counted += text;
  });
  const encoded = JSON.stringify('{"city":"Oslo"}');
  calls.take([piece({ index: 0, id: "a", function: { name: "f", arguments: encoded.slice(0, 6) } })], false);
  expect(counted).toBe(`f${encoded.slice(0, 6)}`);
  calls.take([piece({ index: 0, function: { arguments: encoded.slice(6) } })], true);
  expect(counted).toBe(`f${encoded}`);
});

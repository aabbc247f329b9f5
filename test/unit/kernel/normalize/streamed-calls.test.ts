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

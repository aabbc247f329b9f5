import { expect, test } from "bun:test";
import type { ToolCallDelta } from "../../../../src/contract/index.ts";
import { StreamedCalls } from "../../../../src/kernel/normalize/tool-calls.ts";

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

import { describe, expect, test } from "bun:test";
import { getToolResults, readArguments } from "../../../src/protocols/tools.ts";
import type { Message } from "../../../src/provider/index.ts";

const call = (id: string, text = "{}") => ({ id, type: "function" as const, function: { name: "f", arguments: text } });
const result = (id: string): Message => ({ role: "tool", tool_call_id: id, content: id });
const calling = (...ids: string[]): Message => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => call(id)),
});

describe("toolResultsOf", () => {
  test("gives the results in the order of the calls, and where they stand", () => {
    const messages = [calling("a", "b"), result("b"), result("a"), calling("a"), result("a")];
    expect(getToolResults(messages, 0).map(({ index }) => index)).toEqual([2, 1]);
    expect(getToolResults(messages, 3)).toEqual([{ call: call("a"), message: messages[4] as Message, index: 4 }]);
  });

  test.each([
    ["a call without a result", [calling("a", "b"), result("a")], "messages[0].tool_calls[1]"],
    ["a result without a call", [calling("a"), result("a"), result("b")], "messages[2].tool_call_id"],
    ["two results of one call", [calling("a"), result("a"), result("a")], "messages[2].tool_call_id"],
    [
      "a result that comes later",
      [calling("a"), { role: "user", content: "x" }, result("a")],
      "messages[0].tool_calls[0]",
    ],
  ] as [string, Message[], string][])("refuses %s", (_, messages, param) => {
    expect(() => getToolResults(messages, 0)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });
});

describe("readArguments", () => {
  test.each([
    ["", {}],
    ["  ", {}],
    ["null", {}],
    [" [ ] ", {}],
    ['""', {}],
    ['{"a":1}', { a: 1 }],
    ['"{\\"a\\":1}"', { a: 1 }],
    ["[1]", { INVALID_JSON: "[1]" }],
    ["1", { INVALID_JSON: "1" }],
    ['{"a": "unter', { INVALID_JSON: '{"a": "unter' }],
    ["text", { INVALID_JSON: "text" }],
  ])("reads %j", (text, expected) => {
    expect(readArguments(call("a", text), "p")).toEqual(expected);
  });

  test("refuses what is nested too deep to be walked", () => {
    const text = `{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
    expect(() => readArguments(call("a", text), "p")).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "p.function.arguments" }),
    );
  });
});

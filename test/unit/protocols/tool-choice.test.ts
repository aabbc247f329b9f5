import { expect, test } from "bun:test";
import { readToolChoice } from "../../../src/protocols/tools.ts";
import type { ChatRequest } from "../../../src/provider/index.ts";

const tools = ["a", "b"].map((name) => ({ type: "function" as const, function: { name } }));
const read = (choice: unknown, known: ChatRequest["tools"] = tools) =>
  readToolChoice({ model: "m", messages: [], tools: known ?? null, tool_choice: (choice ?? null) as null });
const named = (name: string) => ({ type: "function", function: { name } });
const allowed = (mode: string, ...names: string[]) => ({
  type: "allowed_tools",
  allowed_tools: { mode, tools: names.map(named) },
});

test.each([
  [undefined, undefined],
  [null, undefined],
  ["none", { mode: "none" }],
  ["auto", { mode: "auto" }],
  ["required", { mode: "required" }],
  [named("b"), { mode: "required", names: new Set(["b"]) }],
  [allowed("auto", "a"), { mode: "auto", names: new Set(["a"]) }],
  [allowed("required", "a", "b"), { mode: "required", names: new Set(["a", "b"]) }],
])("tool_choice %j is %j", (choice, expected) => {
  expect(read(choice)).toEqual(expected as never);
});

test.each(["none", "auto"])("tool_choice %s means nothing without tools", (choice) => {
  expect(read(choice, null)).toBeUndefined();
  expect(read(choice, [])).toBeUndefined();
});

test.each([
  ["a demand without tools", "required", null, "tool_choice"],
  ["a name that is none of the tools", named("c"), tools, "tool_choice"],
  ["an allowed name that is none of the tools", allowed("auto", "a", "c"), tools, "tool_choice.allowed_tools.tools"],
  [
    "allowed tools without a list",
    { type: "allowed_tools", allowed_tools: {} },
    tools,
    "tool_choice.allowed_tools.tools",
  ],
  ["an empty list of allowed tools", allowed("auto"), tools, "tool_choice.allowed_tools.tools"],
] as [string, unknown, ChatRequest["tools"], string][])("%s is refused", (_, choice, known, param) => {
  expect(() => read(choice, known)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
});

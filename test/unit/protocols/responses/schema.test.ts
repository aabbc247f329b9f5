import { expect, test } from "bun:test";
import { toInvalidRequest } from "../../../../src/http/lifecycle/validate.ts";
import { isRequest, schemaError } from "./support.ts";

const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };

/** What the schema refuses, in its words. */
const malformed: [about: string, request: object, message: string][] = [
  ["a number as input", { input: 5 }, "input is 5, but a string or an array of at most 10000 items was expected"],
  [
    "a call without its id",
    { input: [{ ...call, call_id: undefined }] },
    "input[0].call_id is missing, but a string of at least 1 character was expected",
  ],
  [
    "a message without content",
    { input: [{ role: "user" }] },
    "input[0].content is missing, but a string or an array was expected",
  ],
  [
    "an unknown role",
    { input: [{ type: "message", role: "robot", content: "" }] },
    'input[0].role is "robot", but one of "user", "assistant", "system", "developer" was expected',
  ],
  [
    "a part without text",
    { input: [{ role: "user", content: [{ type: "input_text" }] }] },
    "input[0].content[0].text is missing, but a string was expected",
  ],
  [
    "a tool of the form of chat",
    { input: "Hi", tools: [{ type: "function", function: { name: "look" } }] },
    "tools[0].name is missing, but a string of 1 to 128 characters was expected",
  ],
  [
    "a name that is too long",
    { input: "Hi", tools: [{ type: "function", name: "x".repeat(129) }] },
    `tools[0].name is "${"x".repeat(60)}…", but a string of 1 to 128 characters was expected`,
  ],
  [
    "a format without a schema",
    { input: "Hi", text: { format: { type: "json_schema", name: "x" } } },
    "text.format.schema is missing, but an object was expected",
  ],
  [
    "an unknown effort",
    { input: "Hi", reasoning: { effort: "huge" } },
    'reasoning.effort is "huge", but one of "none", "minimal", "low", "medium", "high", "xhigh", "max" was expected',
  ],
];

test.each(malformed)("the schema refuses %s", (_, request, message) => {
  const body = { model: "m", ...request };
  expect(isRequest(body)).toBe(false);
  expect(toInvalidRequest(schemaError(body)).message).toBe(message);
});

test("items of other protocols and years pass the schema, for providers that know them", () => {
  const input = [
    { type: "of_next_year", id: "x" },
    { role: "user", content: [{ type: "new_part" }] },
  ];
  expect(isRequest({ model: "m", input, tools: [{ type: "web_search_2027" }], of_next_year: {} })).toBe(true);
});

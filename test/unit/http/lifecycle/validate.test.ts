import { describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { checkBody, formBody, type SchemaError, toInvalidRequest } from "../../../../src/http/lifecycle/validate.ts";
import {
  ChatRequest,
  EmbeddingsRequest,
  ImagesRequest,
  SpeechRequest,
  TranscriptionFields,
} from "../../../../src/provider/index.ts";

/** The error that a wrong value makes. */
function errorOf(schema: TSchema, value: unknown) {
  const [first] = Value.Errors(schema, value);
  if (first === undefined) throw new Error(`Expected ${JSON.stringify(value)} to be wrong`);
  return toInvalidRequest(first as unknown as SchemaError);
}

const user = { role: "user", content: "Hi" };
const chat = (changes: Record<string, unknown>) => ({ model: "m", messages: [user], ...changes });
const content = (...parts: unknown[]) => chat({ messages: [user, { role: "user", content: parts }] });
const roles = '"system", "developer", "user", "assistant", "tool", "function"';

describe("a fault is told by its deepest field", () => {
  test.each<[string, TSchema, unknown, string | undefined, string]>([
    ["no body", ChatRequest, undefined, undefined, "The body is missing, but an object was expected"],
    ["a list", ChatRequest, [], undefined, "The body is an empty array, but an object was expected"],
    [
      "no model",
      ChatRequest,
      { messages: [user] },
      "model",
      "model is missing, but a string of 1 to 200 characters was expected",
    ],
    [
      "no messages",
      ChatRequest,
      { model: "m" },
      "messages",
      "messages is missing, but an array of 1 to 10000 items was expected",
    ],
    [
      "an empty list",
      ChatRequest,
      chat({ messages: [] }),
      "messages",
      "messages is an empty array, but an array of 1 to 10000 items was expected",
    ],
    [
      "a wrong role",
      ChatRequest,
      chat({ messages: [{ role: "boss" }] }),
      "messages[0].role",
      `messages[0].role is "boss", but one of ${roles} was expected`,
    ],
    [
      "a number as content",
      ChatRequest,
      chat({ messages: [user, { role: "user", content: 5 }] }),
      "messages[1].content",
      "messages[1].content is 5, but a string or an array was expected",
    ],
    [
      "a temperature of 3",
      ChatRequest,
      chat({ temperature: 3 }),
      "temperature",
      "temperature is 3, but a number of 0 to 2 was expected",
    ],
    [
      "a temperature in words",
      ChatRequest,
      chat({ temperature: "hot" }),
      "temperature",
      'temperature is "hot", but a number of 0 to 2 was expected',
    ],
    ["n of 0", ChatRequest, chat({ n: 0 }), "n", "n is 0, but a whole number of 1 to 128 was expected"],
    [
      "half a token",
      ChatRequest,
      chat({ max_tokens: 0.5 }),
      "max_tokens",
      "max_tokens is 0.5, but a whole number of at least 1 was expected",
    ],
    [
      "five stops",
      ChatRequest,
      chat({ stop: ["a", "b", "c", "d", "e"] }),
      "stop",
      "stop is an array of 5, but a string or an array of at most 4 items was expected",
    ],
    ["a stop of numbers", ChatRequest, chat({ stop: ["a", 1] }), "stop[1]", "stop[1] is 1, but a string was expected"],
    [
      "an unknown part",
      ChatRequest,
      content({ type: "video" }),
      "messages[1].content[0].type",
      'messages[1].content[0].type is "video", but one of "text", "image_url", "input_audio", "refusal", "file" was expected',
    ],
    [
      "a text part without text",
      ChatRequest,
      content({ type: "text" }),
      "messages[1].content[0].text",
      "messages[1].content[0].text is missing, but a string was expected",
    ],
    [
      "a picture as text",
      ChatRequest,
      content({ type: "image_url", image_url: "https://x" }),
      "messages[1].content[0].image_url",
      'messages[1].content[0].image_url is "https://x", but an object was expected',
    ],
    [
      "a picture without address",
      ChatRequest,
      content({ type: "text", text: "a" }, { type: "image_url", image_url: {} }),
      "messages[1].content[1].image_url.url",
      "messages[1].content[1].image_url.url is missing, but a string of at least 1 character was expected",
    ],
    [
      "a tool without a name",
      ChatRequest,
      chat({ tools: [{ type: "function", function: {} }] }),
      "tools[0].function.name",
      "tools[0].function.name is missing, but a string of 1 to 128 characters was expected",
    ],
    ["a wrong tool choice", ChatRequest, chat({ tool_choice: "maybe" }), "tool_choice", 'tool_choice is "maybe"'],
    [
      "a wrong effort",
      ChatRequest,
      chat({ reasoning_effort: "huge" }),
      "reasoning_effort",
      'reasoning_effort is "huge", but one of "none"',
    ],
    [
      "a schema without a name",
      ChatRequest,
      chat({ response_format: { type: "json_schema", json_schema: {} } }),
      "response_format.json_schema.name",
      "response_format.json_schema.name is missing",
    ],
    [
      "an unknown format",
      ChatRequest,
      chat({ response_format: { type: "xml" } }),
      "response_format.type",
      'response_format.type is "xml", but one of "text", "json_object", "json_schema" was expected',
    ],
    [
      "an empty input",
      EmbeddingsRequest,
      { model: "m", input: "" },
      "input",
      'input is "", but a string of at least 1 character or an array of 1 to 2048 items was expected',
    ],
    [
      "one empty input",
      EmbeddingsRequest,
      { model: "m", input: ["a", ""] },
      "input[1]",
      'input[1] is "", but a string of at least 1 character was expected',
    ],
    [
      "tokens as input",
      EmbeddingsRequest,
      { model: "m", input: [1, 2] },
      "input[0]",
      "input[0] is 1, but a string of at least 1 character was expected",
    ],
    [
      "a wrong encoding",
      EmbeddingsRequest,
      { model: "m", input: "a", encoding_format: "hex" },
      "encoding_format",
      'encoding_format is "hex", but "float" or "base64" was expected',
    ],
    [
      "a wrong size",
      ImagesRequest,
      { model: "m", prompt: "a", size: "big" },
      "size",
      'size is "big", but a string of the form',
    ],
    [
      "eleven images",
      ImagesRequest,
      { model: "m", prompt: "a", n: 11 },
      "n",
      "n is 11, but a whole number of 1 to 10 was expected",
    ],
    [
      "another format of sound",
      SpeechRequest,
      { model: "m", input: "a", response_format: "ogg" },
      "response_format",
      'response_format is "ogg", but one of "wav", "pcm", "mp3", "opus", "aac", "flac" was expected',
    ],
    [
      "no number",
      TranscriptionFields,
      { model: "m", temperature: Number.NaN },
      "temperature",
      "temperature is NaN, but a number of 0 to 1 was expected",
    ],
  ])("%s", (...[, schema, value, param, says]) => {
    const error = errorOf(schema, value);
    expect(error.message).toStartWith(says);
    expect([error.code, error.param]).toEqual(["invalid_request", param]);
  });
});

test("a long value is shown in part, and an object not at all", () => {
  expect(errorOf(ChatRequest, chat({ model: "x".repeat(300) })).message).toContain(`"${"x".repeat(60)}…"`);
  expect(errorOf(ChatRequest, chat({ model: { secret: 1 } })).message).toStartWith("model is an object, but");
});

test("a field that a form of the dashboard does not have is named, as is one that is missing", () => {
  const form = formBody({ name: Type.String() });
  expect(checkBody(form, { name: "laptop" })).toEqual({ name: "laptop" });
  expect(() => checkBody(form, { name: "laptop", admin: true })).toThrow("Unknown field 'admin'; leave it out");
  expect(() => checkBody(form, {})).toThrow("name is missing, but a string was expected");
});

test.each<[string, Record<string, unknown>, string]>([
  [
    "a tool of another kind",
    { tools: [{ type: "web_search" }] },
    'tools[0].type is "web_search", but "function" or "custom" was expected',
  ],
  ["a tool without anything", { tools: [{}] }, 'tools[0].type is missing, but "function" or "custom" was expected'],
  [
    "Anthropic's tool choice",
    { tool_choice: "any" },
    'tool_choice is "any", but one of "auto", "none", "required", an object of type "function", an object of type "allowed_tools", an object of type "custom" was expected',
  ],
  [
    "a seed that JSON cannot carry",
    { seed: 2 ** 53 },
    "seed is 9007199254740992, but a whole number of -9007199254740991 to 9007199254740991 was expected",
  ],
  [
    "a format without its type",
    { response_format: "json" },
    'response_format is "json", but one of an object of type "text", an object of type "json_object", an object of type "json_schema" was expected',
  ],
])("%s is refused in words that name what is supported", (_, changes, sentence) => {
  expect(() => checkBody(ChatRequest, chat(changes))).toThrow(sentence);
});

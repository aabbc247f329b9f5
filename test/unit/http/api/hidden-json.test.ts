import { describe, expect, test } from "bun:test";
import { completionOf } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { helloPlugin, httpOf } from "../support.ts";

const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
const wide = (values: number) => `{"a":[${"{},".repeat(values)}1]}`;
const user = { role: "user", content: "Hello" };
const called = (args: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: args } }],
});
const result = { role: "tool", tool_call_id: "call_1", content: "1" };

const tooMuch: [string, string][] = [
  ["nested too deep", nested(60_000)],
  ["with too many values", wide(150_000)],
];

describe("arguments of a call in a request", () => {
  test.each(tooMuch)("are refused by their field when they are %s", async (_, text) => {
    const { post, ledger } = httpOf([helloPlugin]);
    const inputs = [
      ["chat/completions", { messages: [user, called(text), result] }, "messages[1].tool_calls[0].function.arguments"],
      [
        "chat/completions",
        {
          messages: [
            user,
            { role: "assistant", content: null, function_call: { name: "look", arguments: text } },
            { role: "function", name: "look", content: "1" },
          ],
        },
        "messages[1].function_call.arguments",
      ],
      [
        "responses",
        {
          input: [
            user,
            { type: "function_call", call_id: "call_1", name: "look", arguments: text },
            { type: "function_call_output", call_id: "call_1", output: "1" },
          ],
        },
        "input[1].arguments",
      ],
    ] as const;
    for (const [path, body, param] of inputs) {
      const response = await post(path, { model: "chat-1", ...body });
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      expect([path, response.status, error.param]).toEqual([path, 400, param]);
    }
    expect(ledger.settlements).toEqual([]);
  });

  test("are bounded together, however many calls there are", async () => {
    const { post } = httpOf([helloPlugin]);
    const calls = Array.from({ length: 200 }, (_, index) => ({
      id: `call_${index}`,
      type: "function",
      function: { name: "look", arguments: wide(600) },
    }));
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "1" }));
    const turn = (count: number) => ({
      model: "chat-1",
      messages: [
        user,
        { role: "assistant", content: null, tool_calls: calls.slice(0, count) },
        ...results.slice(0, count),
      ],
    });
    expect((await post("chat/completions", turn(100))).status).toBe(200);
    expect((await post("chat/completions", turn(200))).status).toBe(400);
  });

  test("within the bounds pass, and so does a result of a tool that is beyond them: it is a text", async () => {
    const { post } = httpOf([helloPlugin]);
    for (const [, text] of tooMuch) {
      const messages = [user, called(nested(150)), { ...result, content: text }];
      expect((await post("chat/completions", { model: "chat-1", messages })).status).toBe(200);
    }
  });
});

describe("arguments of a call that a model wrote", () => {
  test.each(tooMuch)("travel as a text in the object of a message when they are %s", async (_, text) => {
    const completion = completionOf("");
    Object.assign(completion.choices[0] as object, { message: called(text), finish_reason: "tool_calls" });
    const { post } = httpOf([createPlugin({ chat: async () => structuredClone(completion) })]);
    const response = await post("messages", { model: "chat-1", max_tokens: 9, messages: [user] });
    const block = { type: "tool_use", input: { INVALID_JSON: text } };
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ content: [expect.objectContaining(block)] }),
    ]);
    // Elsewhere they are a text.
    expect((await post("chat/completions", { model: "chat-1", messages: [user] })).status).toBe(200);
    expect((await post("responses", { model: "chat-1", input: "Hello" })).status).toBe(200);
  });
});

import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { toMessagesAnswer } from "../../../../src/protocols/messages/inbound.ts";
import { MessagesAnswer } from "../../../../src/protocols/messages/schema.ts";
import type { ChatCompletion } from "../../../../src/provider/index.ts";
import { envelope, planOf } from "./support.ts";

type Choice = ChatCompletion["choices"][number];

function completionOf(message: Record<string, unknown>, rest: Record<string, unknown> = {}): ChatCompletion {
  const choice = {
    index: 0,
    message: { role: "assistant", content: null, ...message },
    finish_reason: "stop",
    ...rest,
  };
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  const head = { id: "chatcmpl-abc", object: "chat.completion", created: 1, model: "gpt-x" } as const;
  return { ...head, choices: [choice as Choice], usage };
}

function answerOf(completion: ChatCompletion, fields: Record<string, unknown> = {}): MessagesAnswer {
  const answer = toMessagesAnswer(completion, planOf(fields));
  expect([...Value.Errors(MessagesAnswer, answer)]).toEqual([]);
  return answer;
}

const call = (args: string) => ({ id: "call_1", type: "function", function: { name: "look", arguments: args } });
const thinking = { thinking: { type: "adaptive" } };

describe("a message", () => {
  test("has every field of the protocol", () => {
    expect(answerOf(completionOf({ content: "Hi" }))).toEqual({
      id: "msg_abc",
      type: "message",
      role: "assistant",
      model: "gpt-x",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 5,
      },
    });
  });

  test("counts cached, written and thought tokens apart", () => {
    const completion = completionOf({ content: "Hi" });
    completion.usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30, cache_write_1h_tokens: 10 } as object,
      completion_tokens_details: { reasoning_tokens: 7 },
    };
    expect(answerOf(completion).usage).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 7 },
    });
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>, object]>([
    ["stop", { content: "A" }, {}, { stop_reason: "end_turn" }],
    ["length", { content: "A" }, { finish_reason: "length" }, { stop_reason: "max_tokens" }],
    ["content_filter", {}, { finish_reason: "content_filter" }, { stop_reason: "refusal" }],
    ["tool_calls", { tool_calls: [call("{}")] }, { finish_reason: "tool_calls" }, { stop_reason: "tool_use" }],
    [
      "a refusal",
      { refusal: "No" },
      {},
      {
        content: [{ type: "text", text: "No" }],
        stop_reason: "refusal",
        stop_details: { type: "refusal", category: null, explanation: "No" },
      },
    ],
    [
      "a stop sequence that the provider names",
      { content: "A" },
      { stop_sequence: "END" },
      { stop_reason: "stop_sequence", stop_sequence: "END" },
    ],
    [
      "the only stop sequence, which the provider does not name",
      { content: "A" },
      { stop_sequence: true },
      { stop_reason: "stop_sequence", stop_sequence: "END" },
    ],
    ["a stop at another text", { content: "A" }, { stop_sequence: "end" }, { stop_reason: "end_turn" }],
    ["a stop reason of another kind", { content: "A" }, { stop_sequence: 17 }, { stop_reason: "end_turn" }],
  ])("ends for its reason: %s", (_, message, rest, expected) => {
    const answer = answerOf(completionOf(message, rest), { stop_sequences: ["END"] });
    expect(answer).toMatchObject({ stop_sequence: null, ...expected });
  });

  test("has text, then calls with their input", () => {
    const answer = answerOf(completionOf({ content: "A", tool_calls: [call('{"at":"b"}'), call(" ")] }));
    expect(answer.content).toEqual([
      { type: "text", text: "A" },
      { type: "tool_use", id: "call_1", name: "look", input: { at: "b" } },
      { type: "tool_use", id: "call_1", name: "look", input: {} },
    ]);
  });

  test("restores a name that was too long for the provider", () => {
    const name = "b".repeat(100);
    const plan = planOf({ tools: [{ name, input_schema: { type: "object" } }] });
    const sent = plan.names.toSent(name, "");
    const tool_calls = [{ id: "1", type: "function", function: { name: sent, arguments: "{}" } }];
    expect(toMessagesAnswer(completionOf({ tool_calls }), plan).content[0]).toMatchObject({ name });
  });

  test.each(["[1]", "nothing", '{"a":'])("carries arguments that are not an object in one: %s", (text) => {
    expect(answerOf(completionOf({ tool_calls: [call(text)] })).content).toMatchObject([
      { type: "tool_use", input: { INVALID_JSON: text } },
    ]);
  });

  test("leaves out a call that the model had no tokens left for", () => {
    const completion = completionOf({ content: "A", tool_calls: [call('{"a":')] }, { finish_reason: "length" });
    expect(answerOf(completion)).toMatchObject({ content: [{ text: "A" }], stop_reason: "max_tokens" });
  });
});

describe("thoughts", () => {
  test("of Claude go out as they came", () => {
    const reasoning_details = [
      { type: "reasoning.text", text: "Hm", signature: "c2ln+/==", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.encrypted", data: "bG9j", format: "anthropic-claude-v1", index: 1 },
    ];
    const answer = answerOf(completionOf({ content: "A", reasoning_content: "Hm", reasoning_details }));
    expect(answer.content).toEqual([
      { type: "thinking", thinking: "Hm", signature: "c2ln+/==" },
      { type: "redacted_thinking", data: "bG9j" },
      { type: "text", text: "A" },
    ]);
  });

  test("of others get our signature", () => {
    const [thought] = answerOf(completionOf({ reasoning_content: "Hm" }), thinking).content;
    expect(thought).toEqual({ type: "thinking", thinking: "Hm", signature: expect.stringMatching(/^mg1\./) });
    expect(envelope.open(String(thought?.signature), "Hm")).toEqual({ origin: "own", reasoning: { model: "gpt-x" } });
  });

  test("travel in the signature where the client does not want to see them", () => {
    const fields = { thinking: { type: "adaptive", display: "omitted" } };
    const [thought] = answerOf(completionOf({ reasoning_content: "Hm é" }), fields).content;
    expect(thought).toMatchObject({ type: "thinking", thinking: "" });
    expect(envelope.open(String(thought?.signature))).toEqual({
      origin: "own",
      reasoning: { model: "gpt-x", text: "Hm é" },
    });
  });

  test("are left out for a client that did not ask for any", () => {
    expect(answerOf(completionOf({ content: "A", reasoning_content: "Hm" })).content).toEqual([
      { type: "text", text: "A" },
    ]);
  });
});

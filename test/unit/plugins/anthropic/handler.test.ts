import { expect, test } from "bun:test";
import type { Call, ChatCompletion, ChatRequest, ChatStream, ServerEvent } from "modelgate/plugin";
import anthropic from "../../../../plugins/anthropic/index.ts";
import type { MessageAnswer } from "../../../../src/protocols/messages/schema.ts";
import { streamOf } from "./stream-of.ts";
import { drain, eventsFrom, modelOf } from "./support.ts";

const answer = {
  id: "msg_1",
  content: [{ type: "text", text: "Hello" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

function callOf(request: ChatRequest, asked: unknown[], said: MessageAnswer = answer): Call<ChatRequest> {
  const upstream = {
    json: async (...parts: unknown[]) => {
      asked.push(parts);
      return said;
    },
    events: async (...parts: unknown[]): Promise<AsyncIterable<ServerEvent>> => {
      asked.push(parts);
      return eventsFrom(streamOf(said, 1));
    },
  } as unknown as Call<ChatRequest>["upstream"];
  const model = modelOf("famC-haiku-4-5");
  return { id: "c", request, model, signal: new AbortController().signal, upstream, warn: () => undefined };
}

test("asks the Messages API by its pinned version", async () => {
  const asked: unknown[] = [];
  const request: ChatRequest = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  const completion = (await anthropic.handlers.chat?.(callOf(request, asked))) as ChatCompletion;
  expect(completion.choices[0]?.message.content).toBe("Hello");
  expect(Math.abs(completion.created - Date.now() / 1000)).toBeLessThan(60);
  expect(asked).toMatchObject([["/messages", { stream: false }, { headers: { "anthropic-version": "2023-06-01" } }]]);
});

test("asks by the version that the row of the model names", async () => {
  const asked: unknown[] = [];
  const request: ChatRequest = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  const call = callOf(request, asked);
  const model = { ...call.model, options: { ...call.model.options, anthropicVersion: "2026-10-21" } };
  await anthropic.handlers.chat?.({ ...call, model });
  await anthropic.handlers.countChatTokens?.({ ...call, model });
  expect(asked).toMatchObject([
    ["/messages", {}, { headers: { "anthropic-version": "2026-10-21" } }],
    ["/messages/count_tokens", {}, { headers: { "anthropic-version": "2026-10-21" } }],
  ]);
});

test("files of text are documents of text, in a question and in the output of a tool", async () => {
  const asked: [string, { messages: { content: unknown[] }[] }][] = [];
  const file = { type: "file", file: { filename: "notes.md", file_data: "data:text/markdown;base64,IyBOb3Rlcw==" } };
  const tool = { id: "toolu_1", type: "function", function: { name: "read", arguments: "{}" } };
  const messages = [
    { role: "user", content: [file] },
    { role: "assistant", content: null, tool_calls: [tool] },
    { role: "tool", tool_call_id: "toolu_1", content: [file] },
  ];
  await anthropic.handlers.chat?.(callOf({ model: "m", messages } as ChatRequest, asked));
  const source = { type: "text", media_type: "text/plain", data: "# Notes" };
  const document = { type: "document", source, title: "notes.md" };
  const [question, , result] = asked[0]?.[1].messages ?? [];
  expect([question?.content, result?.content]).toMatchObject([[document], [{ content: [document] }]]);
  const archive = { type: "file", file: { file_data: `data:text/plain;base64,${btoa("PK\x03\x04\0")}` } };
  const refused = callOf({ model: "m", messages: [{ role: "user", content: [archive] }] } as ChatRequest, []);
  expect(await Promise.resolve(anthropic.handlers.chat?.(refused)).catch((error) => error.code)).toBe(
    "invalid_request",
  );
});

test("asks for a stream where the caller does", async () => {
  const asked: unknown[] = [];
  const request: ChatRequest = { model: "m", messages: [{ role: "user", content: "Hi" }], stream: true };
  const chunks = (await anthropic.handlers.chat?.(callOf(request, asked))) as ChatStream<ServerEvent>;
  expect((await drain(chunks)).error).toBeUndefined();
  expect(asked).toMatchObject([["/messages", { stream: true }, { headers: { "anthropic-version": "2023-06-01" } }]]);
});

test("stop sequences of white space, which the provider refuses, end the answer here", async () => {
  const said = { ...answer, content: [{ type: "text", text: "one\ntwo\nthree" }], stop_reason: "max_tokens" };
  const asked: unknown[] = [];
  const request: ChatRequest = { model: "m", messages: [{ role: "user", content: "Hi" }], stop: ["\n", "END"] };
  const whole = (await anthropic.handlers.chat?.(callOf(request, asked, said))) as ChatCompletion;
  expect(whole.choices[0]).toMatchObject({ message: { content: "one" }, finish_reason: "stop" });
  const call = callOf({ ...request, stop: "\n", stream: true }, asked, said);
  const { chunks } = await drain((await anthropic.handlers.chat?.(call)) as ChatStream<ServerEvent>);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  expect(choices.map(({ delta }) => delta.content ?? "").join("")).toBe("one");
  expect(choices.at(-1)?.finish_reason).toBe("stop");
  expect(chunks.at(-1)?.usage).toBeDefined();
  const sent = asked.map((parts) => (parts as [string, { stop_sequences?: string[] }])[1].stop_sequences);
  expect(sent).toEqual([["END"], undefined]);
});

test("takes functions as tools, and gives a function call back", async () => {
  const asked: unknown[] = [];
  const request: ChatRequest = {
    model: "m",
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, function_call: { name: "clock", arguments: "" } },
      { role: "function", name: "clock", content: "noon" },
    ],
    functions: [{ name: "clock" }],
    function_call: { name: "clock" },
  };
  const call = { type: "tool_use", id: "a", name: "clock", input: { zone: "utc" } };
  const said = { ...answer, content: [call], stop_reason: "tool_use" };
  const completion = (await anthropic.handlers.chat?.(callOf(request, asked, said))) as ChatCompletion;
  expect(completion.choices[0]).toMatchObject({
    message: { function_call: { name: "clock", arguments: '{"zone":"utc"}' } },
    finish_reason: "function_call",
  });
  const [id] = (JSON.stringify(asked).match(/(?<="tool_use","id":")[^"]+/) ?? []) as string[];
  expect(asked).toMatchObject([
    [
      "/messages",
      {
        tools: [{ name: "clock" }],
        tool_choice: { type: "tool", name: "clock", disable_parallel_tool_use: true },
        messages: [
          { role: "user" },
          { role: "assistant", content: [{ type: "tool_use", id, name: "clock", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id }] },
        ],
      },
      {},
    ],
  ]);
});

test("every row of the catalogue says what the translation wants to know", () => {
  expect(anthropic.models.length).toBeGreaterThan(0);
  for (const { id, outputTokensMax, options } of anthropic.models) {
    expect([id, typeof outputTokensMax]).toEqual([id, "number"]);
    expect([id, options]).toEqual([id, expect.objectContaining({ jsonSchema: expect.any(Boolean) })]);
    expect(["adaptive", "budget"]).toContain(options?.thinking as string);
    if (options?.thinking === "adaptive") expect(options.efforts).toBeArray();
  }
});

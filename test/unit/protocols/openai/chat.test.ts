import { describe, expect, test } from "bun:test";
import { OpenaiStream, toCompletion } from "../../../../src/protocols/openai/chat.ts";
import type { ChatRequest, ChatStream } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain, eventsOf, fakeCall, plainModel } from "../../sdk/fake-call.ts";

const request: ChatRequest = { model: "acme-1", messages: [{ role: "user", content: "Hi" }] };
const completion = () => ({
  choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
  service_tier: "on_demand",
  system_fingerprint: null,
});

describe("openai", () => {
  test("has a handler for each capability that is named, and no other", () => {
    expect(Object.keys(openai({ chat: {}, speech: {} }))).toEqual(["chat", "speech"]);
    expect(openai({})).toEqual({});
  });

  test("answers a chat with a completion, without what is not OpenAI's", async () => {
    const { call, asked } = fakeCall(request, { json: completion() });
    const answer = await openai({ chat: {} }).chat?.(call);
    expect(asked[0]).toMatchObject({ method: "json", path: "/chat/completions", body: { model: "acme-one" } });
    expect(answer).toEqual({ choices: completion().choices } as never);
  });

  test("answers a streamed chat with chunks", async () => {
    const events = eventsOf('data: {"choices":[{"index":0,"delta":{"content":"Yes"},"finish_reason":"stop"}]}\n\n');
    const { call, asked } = fakeCall({ ...request, stream: true }, { events });
    const { items } = await drain((await openai({ chat: {} }).chat?.(call)) as ChatStream);
    expect(asked[0]).toMatchObject({ method: "events", path: "/chat/completions", body: { stream: true } });
    expect(items).toHaveLength(1);
  });

  test.each([
    ["priority", {}, 1],
    ["performance", {}, 1],
    ["default", {}, 0],
    ["priority", { pass: ["service_tier"] }, 0],
  ])("warns once of an answer by the tier %s with %p", async (service_tier, chat, times) => {
    const whole = fakeCall(request, { json: { ...completion(), service_tier } });
    await openai({ chat }).chat?.(whole.call);
    const chunk = { service_tier, choices: [{ index: 0, delta: { content: "Yes" }, finish_reason: "stop" }] };
    const events = eventsOf(`data: ${JSON.stringify(chunk)}\n\n`.repeat(2));
    const streamed = fakeCall({ ...request, stream: true }, { events });
    await drain((await openai({ chat }).chat?.(streamed.call)) as ChatStream);
    const sentence = `The provider used the service tier ${service_tier}, which costs more than the price of this model covers`;
    for (const { notes } of [whole, streamed]) expect(notes).toEqual(Array(times).fill(sentence));
  });

  test("asks for a whole answer where the provider streams none that is held to a schema", async () => {
    const response_format = { type: "json_schema" as const, json_schema: { name: "answer", schema: {} } };
    const { call, asked } = fakeCall({ ...request, stream: true, response_format }, { json: completion() });
    expect(await openai({ chat: { streamsSchemas: false } }).chat?.(call)).toMatchObject({ choices: [{ index: 0 }] });
    expect(asked.map(({ method, body }) => [method, body.stream])).toEqual([["json", undefined]]);
  });

  test("lets a model row say that its content begins with thinking", async () => {
    const json = { choices: [{ index: 0, message: { content: "<think>Hm</think>Yes" }, finish_reason: "stop" }] };
    const { call } = fakeCall(request, { json }, { ...plainModel, options: { think: true } });
    const answer = await openai({ chat: {} }).chat?.(call);
    expect(answer).toMatchObject({ choices: [{ message: { content: "Yes", reasoning_content: "Hm" } }] });
  });

  test("joins a content that comes in parts, and takes its thinking for reasoning, whole and streamed", async () => {
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm" }] };
    const content = [thinking, { type: "text", text: "Yes" }];
    const json = { choices: [{ index: 0, message: { content }, finish_reason: "stop" }] };
    const whole = await openai({ chat: {} }).chat?.(fakeCall(request, { json }).call);
    expect(whole).toMatchObject({ choices: [{ message: { content: "Yes", reasoning_content: "Hm" } }] });
    const deltas = [{ content: [thinking] }, { content: "Yes" }].map((delta) => ({ choices: [{ index: 0, delta }] }));
    const events = eventsOf(`${deltas.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`);
    const { call } = fakeCall({ ...request, stream: true }, { events });
    const { items } = await drain((await openai({ chat: {} }).chat?.(call)) as ChatStream);
    expect(items.map(({ choices }) => choices[0]?.delta)).toEqual([
      { content: "", reasoning_content: "Hm" },
      { content: "Yes" },
    ]);
  });

  test.each([
    ["no choices", { id: "1" }],
    ["empty choices", { choices: [] }],
    ["a choice without a message", { choices: [{ index: 0 }] }],
    ["a text", "<html>"],
    ["an array", []],
  ])("is broken by an answer with %s", async (_, json) => {
    const { call } = fakeCall(request, { json });
    const refusal = expect.objectContaining({ name: "UpstreamError", kind: "bad_response" });
    expect(await errorOf(openai({ chat: {} }).chat?.(call))).toEqual(refusal);
  });

  test("takes the older form of a call for a call of a tool, unless the client sent no tools", async () => {
    const called = { name: "weather", arguments: '{"city":"Oslo"}' };
    const whole = () => ({
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, function_call: { ...called } },
          finish_reason: "function_call",
        },
      ],
    });
    expect(toCompletion(whole(), {}).choices[0]).toMatchObject({
      message: { tool_calls: [{ type: "function", function: called }] },
      finish_reason: "tool_calls",
    });
    expect(toCompletion(whole(), {}).choices[0]?.message).not.toHaveProperty("function_call");
    expect(toCompletion(whole(), {}).choices[0]?.message.tool_calls?.[0]).not.toHaveProperty("index");
    expect(toCompletion(whole(), {}, true).choices[0]).toMatchObject({
      message: { function_call: called },
      finish_reason: "function_call",
    });
    const events = [{ name: "weather", arguments: "" }, { arguments: '{"city":' }, { arguments: '"Oslo"}' }].map(
      (piece) => ({ choices: [{ index: 0, delta: { function_call: piece }, finish_reason: null as string | null }] }),
    );
    events.push({ choices: [{ index: 0, delta: {} as never, finish_reason: "function_call" }] });
    const deltas = (isLegacy: boolean) => {
      const stream = new OpenaiStream((async function* () {})() as never, {}, { isLegacy });
      return events
        .flatMap((event) => stream.push({ event: "message", data: JSON.stringify(event) }))
        .flatMap(({ choices }) => choices);
    };
    const pieces = deltas(false).flatMap(({ delta }) => delta.tool_calls ?? []);
    expect(pieces.map((piece) => piece.function?.arguments).join("")).toBe(called.arguments);
    expect(deltas(false).at(-1)?.finish_reason).toBe("tool_calls");
    expect(deltas(true).filter(({ delta }) => delta.function_call).length).toBe(3);
    expect(deltas(true).at(-1)?.finish_reason).toBe("function_call");
  });

  test("takes reasoning by each name that servers give it", () => {
    for (const name of ["reasoning_content", "reasoning", "reasoning_text"]) {
      const message = { role: "assistant", content: "Yes", [name]: "Hm" };
      const [choice] = toCompletion({ choices: [{ index: 0, message, finish_reason: "stop" }] }, {}).choices;
      expect(choice?.message as unknown).toEqual({ role: "assistant", content: "Yes", reasoning_content: "Hm" });
    }
  });

  test("takes an envelope that says a failure for one, also beside choices", async () => {
    const json = { ...completion(), base_resp: { status_code: 1008, status_msg: "insufficient balance" } };
    const { call } = fakeCall(request, { json });
    const error = await errorOf(openai({ chat: {} }).chat?.(call));
    expect(error).toEqual(expect.objectContaining({ kind: "insufficient_quota", code: "1008" }));
  });

  test("takes an error inside a 200 for what it says", async () => {
    const { call } = fakeCall(request, { json: { error: { message: "Slow down", code: "rate_limit_exceeded" } } });
    expect(await errorOf(openai({ chat: {} }).chat?.(call))).toEqual(expect.objectContaining({ kind: "rate_limited" }));
  });
});

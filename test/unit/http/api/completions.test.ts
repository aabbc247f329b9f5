import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import type { Call, ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { completionOf, FakeStream, finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const ask = { model: "chat-1", prompt: "Say hello" };

/** A gateway that remembers what its provider was asked, and answers in order. */
function gateway(...answers: unknown[]) {
  const asked: ChatRequest[] = [];
  const chat = async ({ request }: Call<ChatRequest>) => {
    asked.push(request);
    const answer = answers.length > 0 ? answers.shift() : completionOf("Hello");
    if (answer instanceof Error) throw answer;
    return answer as ReturnType<typeof completionOf>;
  };
  return { ...httpOf([createPlugin({ chat })]), asked };
}

describe("POST /completions", () => {
  test("asks a chat model, and answers in the legacy form", async () => {
    const { post, asked, ledger } = gateway();
    const response = await post("completions", { ...ask, stop: ["\n"], n: null });
    const { choices: [choice] = [] } = completionOf("Hello");
    expect(await response.json()).toEqual({
      id: `cmpl-${response.headers.get("x-request-id")?.slice(4)}`,
      object: "text_completion",
      created: expect.any(Number),
      model: "chat-1",
      choices: [{ index: 0, text: choice?.message.content, logprobs: null, finish_reason: "stop" }],
      usage: expect.objectContaining({ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }),
    });
    // OpenAI's default of max_tokens, and no temperature of our own.
    expect(asked).toEqual([
      { model: "chat-1", messages: [{ role: "user", content: "Say hello" }], max_tokens: 16, stop: ["\n"], n: null },
    ]);
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["settled"]);
  });

  test("asks once for each prompt, and each is charged as a call of its own", async () => {
    const { post, asked, ledger, log } = gateway();
    const response = await post("completions", { ...ask, prompt: ["one", "two", "three"], max_tokens: 50 });
    const { choices, usage } = await response.json();
    expect(choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2]);
    expect(asked.map(({ messages, max_tokens }) => [messages[0]?.content, max_tokens])).toEqual([
      ["one", 50],
      ["two", 50],
      ["three", 50],
    ]);
    expect([usage.total_tokens, response.headers.get("x-modelgate-cost-usd")]).toEqual([360, "0.00042"]);
    expect(new Set(ledger.settlements.map(({ callId }) => callId)).size).toBe(3);
    const lines = log.lines.filter(({ event }) => event === "call");
    expect(lines.map(({ fields }) => fields?.protocol)).toEqual(Array(3).fill("completions"));
  });

  test("fails with the first prompt that fails, and asks no more", async () => {
    const refusal = new UpstreamError("bad_request", "No");
    const { post, asked, ledger } = gateway(completionOf("Hello"), refusal);
    await expectError(await post("completions", { ...ask, prompt: ["one", "two", "three"] }), { status: 400 });
    expect(asked.length).toBe(2);
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["settled", "released"]);
  });

  test.each([true, false])("streams text_completion objects (usage: %p)", async (include_usage) => {
    const chunks = [textChunk("Hel"), textChunk("lo"), finishChunk(), usageChunk()];
    const { post } = gateway(new FakeStream<ChatChunk>(...chunks));
    const response = await post("completions", { ...ask, stream: true, stream_options: { include_usage } });
    const events = (await response.text()).trim().split("\n\n");
    expect(events.pop()).toBe("data: [DONE]");
    const pieces = events.map((event) => JSON.parse(event.slice("data: ".length)));
    const usage = include_usage ? pieces.pop() : undefined;
    expect([usage?.choices, usage?.usage.total_tokens]).toEqual(include_usage ? [[], 120] : [undefined, undefined]);
    expect(pieces.map(({ choices }) => choices)).toEqual([
      [{ index: 0, text: "Hel", logprobs: null, finish_reason: null }],
      [{ index: 0, text: "lo", logprobs: null, finish_reason: null }],
      [{ index: 0, text: "", logprobs: null, finish_reason: "stop" }],
    ]);
    expect(new Set(pieces.map(({ object, id }) => `${object} ${id.slice(0, 5)}`))).toEqual(
      new Set(["text_completion cmpl-"]),
    );
  });

  test.each([
    ["prompt", { prompt: undefined }],
    ["prompt", { prompt: "" }],
    ["prompt[0]", { prompt: [1, 2] }],
    ["prompt", { prompt: Array(21).fill("a") }],
    ["prompt", { prompt: ["a", "b"], stream: true }],
    ["suffix", { suffix: "end" }],
    ["echo", { echo: true }],
    ["logprobs", { logprobs: 0 }],
    ["best_of", { best_of: 2 }],
    ["max_tokens", { max_tokens: 0 }],
    ["model", { model: "nobody" }],
  ])("refuses a %s that a chat model cannot serve: %p", async (param, change) => {
    const { post, ledger } = gateway();
    await expectError(await post("completions", { ...ask, ...change }), { status: 400, param });
    expect(ledger.claims).toEqual([]);
  });

  test("takes what comes to nothing", async () => {
    const change = { suffix: null, echo: false, logprobs: null, best_of: 1 };
    const { post, asked } = gateway();
    expect((await post("completions", { ...ask, ...change })).status).toBe(200);
    expect(Object.keys(asked[0] ?? {}).sort()).toEqual(["max_tokens", "messages", "model"]);
  });
});

import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { chunkTokensMax } from "../../../src/kernel/admission.ts";
import type { ChatChunk, ChatRequest, Model } from "../../../src/provider/index.ts";
import { FakeStream, finishChunk, Sink, textChunk, textOf, usageChunk } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const row: Model = { ...chatModel, contextTokens: 200_000, outputTokensMax: 128_000 };
const promptTokens = 15;
const priceOf = (outputTokens: number) => promptTokens * 1000 + outputTokens * 2000;

function bench(model: Partial<Model> = {}, ...steps: (ChatChunk | Error | "hang")[]) {
  const source = new FakeStream<ChatChunk>(...steps);
  const signals: AbortSignal[] = [];
  const sent: ChatRequest[] = [];
  const plugin = createPlugin(
    {
      async chat({ request, signal }) {
        signals.push(signal);
        sent.push(request);
        return source;
      },
    },
    { models: [{ ...row, ...model }] },
  );
  const sink = new Sink<ChatChunk>();
  const call = (request: Record<string, unknown> = {}) => chatCall({ stream: true, ...request }, { sink });
  return { ...createBench([plugin]), source, signals, sent, sink, call };
}

const shortAnswer = [textChunk("Hello"), finishChunk(), usageChunk()];

describe("what a chat call holds at first", () => {
  test.each([
    ["a stream: the prompt and a first part", {}, {}, 4096],
    ["a stream of four choices", {}, { n: 4 }, 4 * 4096],
    ["a stream with a smaller limit", {}, { max_tokens: 100 }, 100],
    ["a stream that is told not to reason", {}, { reasoning_effort: "none" }, 4096],
    ["a stream of a model that reasons: all of it, because its thoughts are hidden", { reasoning: true }, {}, 128_000],
    ["a stream of a model that nobody knows: likewise", { reasoning: undefined as never }, {}, 128_000],
    ["a stream that is told to reason: likewise", {}, { reasoning_effort: "high" }, 128_000],
  ])("%s", async (_, model, request, outputTokens) => {
    const { kernel, ledger, call, sent } = bench(model, ...shortAnswer);
    const run = call({ max_tokens: 128_000, ...request });
    await runCall(kernel, run);
    expect(ledger.claims).toMatchObject([
      {
        holdNanodollars: priceOf(outputTokens),
        // What is hidden is claimed in part, and the rest of it counts at the end.
        limitTokens: promptTokens + Math.min(outputTokens, 16_384),
        minNanodollars: priceOf(Math.min(256, outputTokens)),
      },
    ]);
    expect(ledger.extensions).toEqual([]);
    // The provider is told what the client said.
    expect(sent[0]?.max_tokens).toBe((request as ChatRequest).max_tokens ?? 128_000);
    expect(run.run?.lowered).toBeUndefined();
  });

  test.each([
    ["that may tell a server to reason and not to show it", { reasoning: { exclude: true } }, 128_000],
    ["that nobody knows", { enable_thinking: true }, 128_000],
    ["of sampling", { top_k: 40, thinking: null }, 4096],
  ])("a stream with a field %s: as much as it may write out of sight", async (_, request, outputTokens) => {
    const { kernel, ledger, call } = bench({}, ...shortAnswer);
    await runCall(kernel, call({ max_tokens: 128_000, ...request }));
    const { holdNanodollars } = ledger.claims[0] as { holdNanodollars: number };
    expect(holdNanodollars).toBeGreaterThanOrEqual(priceOf(outputTokens));
    expect(holdNanodollars).toBeLessThan(priceOf(outputTokens + 100));
  });

  test("a whole answer: all", async () => {
    const { kernel, ledger } = bench({}, ...shortAnswer);
    const call = chatCall({ max_tokens: 128_000 });
    await runCall(kernel, call).catch(() => undefined);
    expect(ledger.claims).toMatchObject([{ holdNanodollars: priceOf(128_000) }]);
  });

  test("the provider is not sent a limit above that of the model, which is all that is held", async () => {
    for (const param of ["max_tokens", "max_completion_tokens"]) {
      const { kernel, ledger, sent } = bench({}, ...shortAnswer);
      await runCall(kernel, chatCall({ [param]: 150_000 })).catch(() => undefined);
      expect(sent).toMatchObject([{ [param]: 128_000 }]);
      expect(ledger.claims).toMatchObject([{ holdNanodollars: priceOf(128_000) }]);
    }
  });

  test("the limit that the provider is sent is lowered to all that is left, not to what is held", async () => {
    const { kernel, ledger, call, sent } = bench({}, ...shortAnswer);
    ledger.granted = { availableNanodollars: priceOf(9000) };
    await runCall(kernel, call({ max_tokens: 128_000 }));
    expect(sent).toMatchObject([{ max_tokens: 9000 }]);
  });
});

describe("while a stream comes", () => {
  test("its hold is extended a few times, not with each chunk", async () => {
    const chunks = Array.from({ length: 3000 }, () => textChunk("0123456789"));
    const { kernel, ledger, call, sink } = bench({}, ...chunks, finishChunk(), usageChunk());
    await runCall(kernel, call());
    expect(textOf(sink.pieces).length).toBe(30_000);
    expect(ledger.extensions.length).toBeLessThanOrEqual(15);
    expect(ledger.extensions.at(-1)?.holdNanodollars).toBeGreaterThanOrEqual(priceOf(30_000));
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", status: 200 });
  });

  test("a refused extension ends it: the rest is neither sent nor charged, and the provider is told", async () => {
    const { kernel, ledger, call, sink, source, signals } = bench(
      {},
      textChunk("a".repeat(4000)),
      textChunk("b".repeat(90)),
      textChunk("c".repeat(100)),
      "hang",
    );
    ledger.extensionRefusal = new GatewayError("insufficient_balance", "Nothing is left");
    const error = await rejectionOf(runCall(kernel, call()));
    expect([error.code, error.status]).toEqual(["insufficient_balance", 403]);
    expect(textOf(sink.pieces)).toBe("a".repeat(4000) + "b".repeat(90));
    expect(source.returned).toBe(1);
    expect(signals[0]?.aborted).toBe(true);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "estimated", status: 403 });
    expect(ledger.settlement.costNanodollars).toBeLessThanOrEqual(priceOf(4096));
    expect(ledger.settlement.errorCode).toBe("insufficient_balance");
  });

  test("a chunk larger than the hold is held for before it is sent", async () => {
    const { kernel, ledger, call, sink } = bench({}, textChunk("a".repeat(50_000)), finishChunk(), usageChunk());
    const sent: number[] = [];
    ledger.onStep = (step) => sent.push(step === "settle" ? sink.pieces.length : 0);
    await runCall(kernel, call());
    expect(ledger.extensions).toMatchObject([{ minNanodollars: priceOf(50_000) }]);
    expect(textOf(sink.pieces).length).toBe(50_000);
  });
});

test.each([
  ["text", { content: "äb" }, 3],
  ["what it thinks", { reasoning_content: "hm" }, 2],
  ["a refusal", { refusal: "no" }, 2],
  ["a tool call", { tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: "{}" } }] }, 9],
  ["the call of a custom tool", { tool_calls: [{ index: 0, custom: { name: "f", input: "abc" } }] }, 4],
  ["a field that nobody knows", { thoughts: [{ text: "hm" }] }, 2],
  ["a function call", { function_call: { name: "f", arguments: "{}" } }, 3],
  ["arguments that are an object, by their text", { tool_calls: [{ function: { arguments: { a: 1 } } }] }, 7],
  ["content that is a number, by its text", { content: 5 }, 1],
  ["what is not text", { audio: 5, tool_calls: [null] }, 0],
])("the bound of a chunk counts %s", (_, delta, tokens) => {
  expect(chunkTokensMax({ choices: [{ index: 0, delta }] } as unknown as ChatChunk)).toBe(tokens);
});

test("the bound of a chunk counts text that a choice has beside its delta, and not its figures and marks", () => {
  const choice = { index: 0, delta: {}, logprobs: { content: [] }, stop_reason: "x", text: "äb", seen: [{ of: "me" }] };
  expect(chunkTokensMax({ choices: [choice] } as unknown as ChatChunk)).toBe(5);
});

test("the bound of a malformed chunk is 0: it is refused elsewhere", () => {
  for (const chunk of [null, {}, { choices: 1 }, { choices: [null] }, { choices: [{}] }]) {
    expect(chunkTokensMax(chunk as unknown as ChatChunk)).toBe(0);
  }
});

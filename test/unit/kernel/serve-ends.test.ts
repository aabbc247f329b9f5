import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../src/contract/index.ts";
import { SentRequest } from "../../../src/kernel/upstream/upstream.ts";
import { type ChatChunk, type ChatCompletion, fromIterable } from "../../../src/provider/index.ts";
import { fetchOf, liveBody, settled } from "./fake-fetch.ts";
import { completionOf, FakeStream, finishChunk, Sink, textChunk, textOf, usageChunk } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const broken = new UpstreamError("bad_response", "The line is dead");

/** Serves one streamed call whose provider does these steps, and says how it ended. */
async function stream(...steps: (ChatChunk | Error | "hang")[]) {
  const source = new FakeStream<ChatChunk>(...steps);
  const bench = createBench([createPlugin({ chat: async () => source })]);
  const sink = new Sink<ChatChunk>();
  const call = chatCall({ stream: true }, { sink });
  return { ...bench, source, sink, call, done: runCall(bench.kernel, call) };
}

/** Resolves when the outlet has as many pieces. */
async function untilPieces(sink: Sink<ChatChunk>, count: number): Promise<void> {
  while (sink.pieces.length < count) await Promise.resolve();
}

describe("a stream that goes on behind the reason to finish", () => {
  /** A call for so many choices of a provider that never closes its stream, which has pings in it. */
  async function serve(n: number, ...chunks: ChatChunk[]) {
    let live: ReturnType<typeof liveBody> | undefined;
    const fetch = fetchOf(({ init }) => {
      live = liveBody(init);
      return new Response(live.body, { headers: { "content-type": "text/event-stream" } });
    });
    const plugin = createPlugin({
      chat: async (call) => ({
        events: await call.upstream.events("/chat", {}),
        isComplete: false,
        push: ({ data }) => (data === "ping" ? [] : [JSON.parse(data)]),
        end: () => [],
      }),
    });
    const bench = createBench([plugin], { fetch, credentials: { acme: { keys: ["k"] } } });
    let hasEnded = false;
    const sink = new Sink<ChatChunk>();
    const done = runCall(bench.kernel, chatCall({ stream: true, n }, { sink })).finally(() => {
      hasEnded = true;
    });
    await settled();
    for (const chunk of chunks) live?.push(`data: ${JSON.stringify(chunk)}\n\n`);
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1000) {
        await settled();
        bench.clock.pass(1000);
        await settled();
        if (!hasEnded) live?.push("data: ping\n\n");
      }
      return hasEnded;
    };
    return { ...bench, sink, done, pass };
  }
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

  test("ends after ten seconds, and is charged by its report", async () => {
    const { pass, done, ledger, sink } = await serve(
      1,
      textChunk("Hello"),
      finishChunk(),
      usageChunk(usage) as ChatChunk,
    );
    expect(await pass(9000)).toBe(false);
    expect(await pass(2000)).toBe(true);
    await done;
    expect(textOf(sink.pieces)).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "reported", status: 200 });
  });

  test("is read on while another choice has not finished", async () => {
    const { pass } = await serve(2, textChunk("Hello"), finishChunk());
    expect(await pass(30_000)).toBe(false);
  });
});

describe("whatever happens, a call is settled once", () => {
  test.each([
    ["the plugin throws", new TypeError("x is undefined"), "internal_error", 500],
    ["the plugin refuses", new GatewayError("invalid_request", "No such picture"), "invalid_request", 400],
    ["the provider refuses the request", new UpstreamError("bad_request", "Bad"), "invalid_request", 400],
    ["the prompt is too long", new UpstreamError("context_length", "Long"), "context_length_exceeded", 400],
    ["the model is gone", new UpstreamError("model_not_found", "Retired"), "model_not_found", 400],
    ["our key is refused", new UpstreamError("auth", "sk-123 is wrong"), "upstream_error", 500],
    ["our account is used up", new UpstreamError("insufficient_quota", "Pay"), "upstream_error", 500],
    ["the provider limits us", new UpstreamError("rate_limited", "Slow"), "rate_limit_exceeded", 429],
    ["the request is too large", new UpstreamError("request_too_large", "Less"), "request_too_large", 400],
    ["the provider is overloaded", new UpstreamError("overloaded", "Busy"), "upstream_error", 500],
    ["the provider takes too long", new UpstreamError("timeout", "Late"), "upstream_timeout", 500],
  ])("when %s before the first piece", async (_, failure, code, status) => {
    const { done, ledger, sink } = await stream(failure);
    const error = await rejectionOf(done);
    expect([error.code, error.status]).toEqual([code as GatewayError["code"], status]);
    expect(sink.opened).toBe(0);
    expect(ledger.settlement).toMatchObject({ outcome: "released", usageSource: "none", status, meters: {} });
    expect(ledger.settlement.errorCode).toBe(code);
  });

  test.each([
    ["the line breaks", broken, "upstream_error"],
    ["the plugin throws", new TypeError("x is undefined"), "internal_error"],
    ["a piece has no choices", {} as ChatChunk, "upstream_error"],
    ["a piece is null", null as unknown as ChatChunk, "upstream_error"],
  ])("when %s after the first piece", async (_, failure, code) => {
    const { done, ledger, sink, source } = await stream(textChunk("Hello"), textChunk(" world"), failure);
    expect((await rejectionOf(done)).code).toBe(code as GatewayError["code"]);
    expect(textOf(sink.pieces)).toBe("Hello world");
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "estimated", status: 500 });
    expect(ledger.settlement.meters.outputToken).toBe(2);
    expect(ledger.settlement.costNanodollars).toBeGreaterThan(0);
    expect(source.returned).toBeLessThanOrEqual(2);
  });

  test.each([
    [
      "prompt is too long: 9100 tokens > 8000 maximum",
      "This model's maximum context length is 8000 tokens. However, your messages resulted in 9100 tokens. prompt is too long: 9100 tokens > 8000 maximum",
    ],
    ["Send less", "This model's maximum context length is 8000 tokens. Send less"],
    ["This model's maximum context length is 7000 tokens.", "This model's maximum context length is 7000 tokens."],
  ])("when the prompt is too long, in the words that clients look for: %s", async (theirs, ours) => {
    const { done } = await stream(new UpstreamError("context_length", theirs));
    expect((await rejectionOf(done)).message).toBe(ours);
  });

  test("when the stream ends without a finish", async () => {
    const { done, ledger } = await stream(textChunk("Hello"));
    expect((await rejectionOf(done)).message).toContain("before the answer was complete");
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "estimated" });
  });

  test("when the outlet fails, and the provider's stream is let go", async () => {
    const source = new FakeStream<ChatChunk>(textChunk("Hello"), finishChunk());
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => source })]);
    const sink = new Sink<ChatChunk>();
    sink.reader = () => {
      throw new Error("Socket closed");
    };
    expect((await rejectionOf(runCall(kernel, chatCall({ stream: true }, { sink })))).code).toBe("internal_error");
    expect(ledger.settlements).toHaveLength(1);
    expect(source.returned).toBe(1);
  });

  test("when an unforeseen failure is told and logged without its words, which are in the request log", async () => {
    const failure = new TypeError("secret detail");
    const { done, log, call, ledger } = await stream(textChunk("Hello"), failure);
    expect((await rejectionOf(done)).message).not.toContain("secret");
    const line = log.lines.find(({ event }) => event === "call_failed");
    expect(line?.fields).toMatchObject({ call: call.id, error: { name: "TypeError", stack: expect.any(String) } });
    expect(JSON.stringify(line)).not.toContain("secret");
    expect(ledger.settlement.detail).toContain("TypeError: secret detail");
  });
});

describe("a call that is cut", () => {
  test("by its client settles for what was said until then, though the plugin hangs", async () => {
    const { done, ledger, sink, call } = await stream(textChunk("Hello"), "hang");
    await untilPieces(sink, 1);
    call.cancel("client_disconnected");
    await rejectionOf(done);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499, errorCode: "client_disconnected" });
    expect(ledger.settlement.meters.outputToken).toBe(1);
  });

  test("before its first piece is released, though the handler ignores its signal", async () => {
    const bench = createBench([createPlugin({ chat: () => new Promise(() => undefined) })]);
    const call = chatCall();
    const done = runCall(bench.kernel, call);
    while (call.attempts === 0) await Promise.resolve();
    call.cancel("client_disconnected");
    await rejectionOf(done);
    expect(bench.ledger.settlement).toMatchObject({ outcome: "released", status: 499 });
    expect(call.signal.aborted).toBe(true);
  });

  test("while it is admitted asks nobody", async () => {
    let asked = 0;
    const chat = async (): Promise<ChatCompletion> => {
      asked++;
      return completionOf("Hello");
    };
    const { kernel, ledger } = createBench([createPlugin({ chat })]);
    const call = chatCall();
    ledger.onStep = (step) => step === "admit" && call.cancel("client_disconnected");
    await rejectionOf(runCall(kernel, call));
    expect(asked).toBe(0);
    expect(ledger.settlement.outcome).toBe("released");
  });

  test("while its reader is behind settles at once", async () => {
    const source = new FakeStream<ChatChunk>(textChunk("Hello"), textChunk(" world"), finishChunk());
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => source })]);
    const sink = new Sink<ChatChunk>();
    sink.reader = () => new Promise(() => undefined);
    const call = chatCall({ stream: true }, { sink });
    const done = runCall(kernel, call);
    await untilPieces(sink, 1);
    call.cancel("client_disconnected");
    await rejectionOf(done);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499, meters: { outputToken: 1 } });
  });

  test.each([
    ["timeout", "upstream_timeout", 500],
    ["draining", "unavailable", 503],
  ] as const)("by %s says so", async (reason, code, status) => {
    const { done, ledger, sink, call } = await stream(textChunk("Hello"), "hang");
    await untilPieces(sink, 1);
    call.cancel(reason);
    const error = await rejectionOf(done);
    expect([error.code, error.status]).toEqual([code, status]);
    expect(ledger.settlement).toMatchObject({ status, errorCode: code, usageSource: "estimated" });
  });

  test("counts and sends nothing that comes after", async () => {
    const late = Promise.withResolvers<ChatChunk>();
    async function* chunks() {
      yield textChunk("Hello");
      yield await late.promise;
      yield usageChunk();
    }
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => fromIterable(chunks()) })]);
    const sink = new Sink<ChatChunk>();
    const call = chatCall({ stream: true }, { sink });
    const done = runCall(kernel, call);
    await untilPieces(sink, 1);
    call.cancel("timeout");
    await rejectionOf(done);
    late.resolve(textChunk(" and much more that nobody may see"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(textOf(sink.pieces)).toBe("Hello");
    expect(ledger.settlement.meters.outputToken).toBe(1);
  });

  test.each(["while it runs", "after its end"])("by its client, of a model that reasons, %s", async (when) => {
    const answer = Promise.withResolvers<ChatCompletion>();
    const plugin = createPlugin({ chat: () => answer.promise }, { models: [{ ...chatModel, reasoning: true }] });
    const { kernel, ledger } = createBench([plugin]);
    const call = chatCall();
    const done = runCall(kernel, call);
    while (call.attempts === 0) await Promise.resolve();
    call.run?.attempt?.onSent(new SentRequest(plugin.readUsage), 0);
    if (when === "while it runs") {
      call.cancel("client_disconnected");
      // Only the report of the provider tells what its hidden part costs.
      expect([call.clientLeft, call.cancelReason]).toEqual([true, undefined]);
    }
    answer.resolve(completionOf("Hello"));
    await done;
    if (when === "after its end") {
      call.cancel("client_disconnected");
      // Nothing is waited for, and no timer holds the call.
      expect([call.clientLeft, call.cancelReason]).toEqual([false, "client_disconnected"]);
    }
    expect(ledger.settlement).toMatchObject({ outcome: "settled" });
  });

  test("after its last piece was sent is done all the same", async () => {
    const { done, ledger, call } = await stream(textChunk("Hello"), finishChunk(), usageChunk());
    await done;
    call.cancel("client_disconnected");
    expect(ledger.settlement).toMatchObject({ status: 200, usageSource: "reported" });
  });
});

test("a slow reader holds the provider back", async () => {
  const source = new FakeStream<ChatChunk>(textChunk("a"), textChunk("b"), textChunk("c"), finishChunk());
  const { kernel } = createBench([createPlugin({ chat: async () => source })]);
  const sink = new Sink<ChatChunk>();
  const waiting: (() => void)[] = [];
  sink.reader = () => new Promise((resolve) => waiting.push(resolve));
  const done = runCall(kernel, chatCall({ stream: true }, { sink }));
  for (let taken = 1; taken <= 4; taken++) {
    await untilPieces(sink, taken + 1);
    await new Promise((resolve) => setImmediate(resolve));
    // The role is a piece of its own before the first.
    expect([sink.pieces.length, source.asked]).toEqual([taken + 1, taken]);
    for (const goOn of waiting.splice(0)) goOn();
  }
  await done;
});

import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../src/contract/index.ts";
import { type ChatRequest, fromIterable } from "../../../src/provider/index.ts";
import { completionOf, finishChunk, Sink, textChunk, textOf, usageChunk } from "./streams.ts";
import { caller, chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

/** A bench whose steps are written down in order. */
function tracedBench(failure?: Error) {
  const steps: string[] = [];
  const plugin = createPlugin({
    async chat(call) {
      steps.push("ask");
      if (failure !== undefined) throw failure;
      if (call.request.stream !== true) return completionOf("Hello");
      return fromIterable(
        (async function* () {
          yield textChunk("Hello");
          yield finishChunk();
          yield usageChunk();
          steps.push("provider done");
        })(),
      );
    },
  });
  const bench = createBench([plugin]);
  bench.ledger.onStep = (step) => steps.push(step);
  return { ...bench, steps };
}

describe("runCall", () => {
  test("holds before it asks, and settles before it returns", async () => {
    const { kernel, ledger, steps } = tracedBench();
    const reply = await runCall(kernel, chatCall());
    steps.push("returned");
    expect(steps).toEqual(["admit", "ask", "settle", "returned"]);
    expect(reply?.choices[0]?.message.content).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "reported", status: 200 });
  });

  test("settles a stream after its last piece and before it returns", async () => {
    const { kernel, ledger, steps } = tracedBench();
    const sink = new Sink<never>();
    const reply = await runCall(kernel, chatCall({ stream: true }, { sink }));
    steps.push("returned");
    expect(steps).toEqual(["admit", "ask", "provider done", "settle", "returned"]);
    expect(reply).toBeUndefined();
    expect(textOf(sink.pieces)).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ meters: { inputToken: 100, outputToken: 20 }, usageSource: "reported" });
  });

  test.each([
    ["an unknown model", { model: "nobody" }, "model_not_found", 400],
    ["more output than the context", { max_tokens: 8001 }, "invalid_request", 400],
  ])("holds nothing and asks nobody for %s", async (_, request, code, status) => {
    const { kernel, ledger, steps } = tracedBench();
    const error = await rejectionOf(runCall(kernel, chatCall(request)));
    expect([error.code, error.status]).toEqual([code as GatewayError["code"], status]);
    expect(steps).toEqual([]);
    expect(ledger.settlements).toEqual([]);
  });

  test("holds nothing for a model that the key may not use", async () => {
    const { kernel, steps } = tracedBench();
    const narrow = { ...caller, allowedModels: new Set(["chat-2"]) };
    const error = await rejectionOf(runCall(kernel, chatCall({}, { caller: narrow })));
    expect(error.code).toBe("model_not_allowed");
    expect(error.message).toContain("chat-2");
    expect(steps).toEqual([]);
  });

  test("asks nobody and settles nothing when the ledger refuses", async () => {
    const { kernel, ledger, steps } = tracedBench();
    ledger.refusal = new GatewayError("insufficient_balance", "No money");
    expect(await rejectionOf(runCall(kernel, chatCall()))).toBe(ledger.refusal as GatewayError);
    expect(steps).toEqual(["admit"]);
  });

  test("records a failed call under the plugin that failed last, with each attempt under its own", async () => {
    const failing = () => Promise.reject(new UpstreamError("overloaded", "Down", { status: 503 }));
    const plugins = ["first", "second"].map((name, index) =>
      createPlugin({ chat: failing }, { name, models: [{ ...chatModel, priority: index }] }),
    );
    const { kernel, ledger } = createBench(plugins);
    const call = chatCall();
    await rejectionOf(runCall(kernel, call));
    expect([call.run?.plugin, call.run?.answeredBy]).toEqual(["second", undefined]);
    expect(ledger.settlement).toMatchObject({ plugin: "second", status: 500, errorCode: "upstream_error" });
    const { attempts } = JSON.parse(ledger.settlement.detail ?? "{}");
    expect(attempts.map(({ plugin }: { plugin: string }) => plugin)).toEqual(["first", "second"]);
  });

  test("releases the hold when the provider fails", async () => {
    const { kernel, ledger, steps } = tracedBench(new GatewayError("invalid_request", "Bad picture"));
    const error = await rejectionOf(runCall(kernel, chatCall()));
    expect(error.message).toBe("Bad picture");
    expect(steps).toEqual(["admit", "ask", "settle"]);
    expect(ledger.settlement).toMatchObject({ outcome: "released", usageSource: "none", status: 400, meters: {} });
    expect(ledger.settlement.errorCode).toBe("invalid_request");
  });

  test("does not say done when the charge cannot be written down", async () => {
    const { kernel, ledger } = tracedBench();
    ledger.settleFailure = new GatewayError("unavailable", "The ledger is closed");
    expect((await rejectionOf(runCall(kernel, chatCall()))).code).toBe("unavailable");
  });

  test("claims the worst case of a premium call in money", async () => {
    const { kernel, ledger } = tracedBench();
    await runCall(kernel, chatCall({ n: 2 }));
    const [admission] = ledger.claims;
    expect(admission).toMatchObject({ callId: "req_0123456789abcdefghjkmnpqrs", premium: true, holdTokens: 0 });
    // 9 bytes are 9 tokens at most, and 6 for the message; twice 1,000 tokens out at $2 a million.
    expect(admission?.holdNanodollars).toBe(15 * 1000 + 2000 * 2000);
    // One choice with a first piece of output.
    expect(admission?.minNanodollars).toBe(15 * 1000 + 256 * 2000);
    expect(admission?.limitTokens).toBe(15 + 2000);
    expect(admission?.priceVersion).toBeString();
  });

  test("claims the worst case of a free call in tokens, and charges tokens", async () => {
    const free = { ...chatModel, premium: false };
    const { kernel, ledger } = createBench([
      createPlugin({ chat: async () => completionOf("Hi") }, { models: [free] }),
    ]);
    await runCall(kernel, chatCall());
    expect(ledger.claims[0]).toMatchObject({ premium: false, holdNanodollars: 0, holdTokens: 1015, minTokens: 271 });
    expect(ledger.settlement).toMatchObject({ quotaTokens: 120, costNanodollars: 100 * 1000 + 20 * 2000 });
  });

  test.each([
    ["n_predict", 900],
    ["n_predict", -1],
    ["n_predict", "900"],
    ["max_new", 0],
    ["options", { num_predict: 900 }],
    ["generation", [{ limit: 900 }]],
  ])("holds the longest answer of the model where %s may be another name of the limit", async (name, value) => {
    const { kernel, ledger } = tracedBench();
    const call = chatCall({ max_tokens: 10, [name]: value });
    await runCall(kernel, call);
    const [claim] = ledger.claims;
    expect(claim?.holdNanodollars).toBeGreaterThanOrEqual(1000 * 2000);
    // It cannot be lowered either: the provider may not keep to the limit that is known.
    expect(claim?.minNanodollars).toBe(claim?.holdNanodollars as number);
  });

  test.each([
    ["top_k", 40],
    ["repetition_penalty", 1.1],
    ["logit_bias", { "50256": -100 }],
    ["flag", 1],
  ])("holds the limit that is asked for beside %s, which lengthens nothing", async (name, value) => {
    const { kernel, ledger } = tracedBench();
    await runCall(kernel, chatCall({ max_tokens: 10, [name]: value }));
    expect(ledger.claims[0]?.holdNanodollars).toBeLessThan(100_000 + 10 * 2000);
  });

  test("counts a long prompt once, also where n and the output limit are lowered to what is left", async () => {
    const sent: ChatRequest[] = [];
    const chat = async ({ request }: { request: ChatRequest }) => {
      sent.push(request);
      return completionOf("Hi");
    };
    const { kernel, ledger } = createBench([createPlugin({ chat })]);
    const admit = ledger.admit.bind(ledger);
    // What is left pays the prompt and 300 tokens of output.
    ledger.admit = async (admission) => ({ ...(await admit(admission)), heldNanodollars: 15 * 1000 + 300 * 2000 });
    let counts = 0;
    const documents = {
      get text() {
        counts++;
        return "";
      },
    };
    const call = chatCall({ n: 128, documents });
    await runCall(kernel, call);
    expect(counts).toBe(1);
    expect(call.run?.lowered).toEqual({ max_tokens: 287, n: 1 });
    expect(sent).toMatchObject([{ n: 1, max_tokens: 287 }]);
  });

  test("settles with who answered, when and for how much", async () => {
    const { kernel, ledger, clock } = tracedBench();
    const call = chatCall();
    clock.nowMs += 40;
    await runCall(kernel, call);
    expect(ledger.settlement).toMatchObject({ plugin: "acme", costNanodollars: 140_000, quotaTokens: 0 });
    expect(ledger.settlement).toMatchObject({ firstByteMs: 40, durationMs: 40 });
    expect([call.run?.model, call.run?.answeredBy, call.attempts]).toEqual(["chat-1", "acme", 1]);
  });
});

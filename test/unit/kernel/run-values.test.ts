import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { chatBounds } from "../../../src/kernel/capabilities/chat-bounds.ts";
import { speechCapability } from "../../../src/kernel/capabilities/speech.ts";
import type { ModelRun } from "../../../src/kernel/index.ts";
import { completionOf } from "./streams.ts";
import { callOf, chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall, runOf } from "./support.ts";

const usage = { prompt_tokens: 3, completion_tokens: 2 };
const plugin = createPlugin({ chat: async () => completionOf("Hello", usage) });

/** A run of which nothing can be assigned any more. */
const frozen = <Run extends ModelRun<"chat"> | ModelRun<"speech">>(run: Run): Run => Object.freeze(run);

describe("bounds of a run", () => {
  test("are returned by upperBound, and lowered ones by lower, without a change of the run", () => {
    const { kernel } = createBench([plugin]);
    const run = runOf(chatCall({ n: 2, max_tokens: 1000 }), kernel.registry.byName("chat-1")!);
    run.bounds = chatBounds.upperBound(run);
    expect(run.bounds).toMatchObject({ upper: { outputToken: 2000 }, searchesMax: 0, hidesOutput: false });
    frozen(run);
    expect(chatBounds.upperBound(run, 1).upper).toMatchObject({ inputToken: 1, outputToken: 2000 });
    expect(chatBounds.lowerBound?.(run)).toMatchObject({ outputToken: 256 });
    expect(chatBounds.growth?.(run)).toBeUndefined();
    const lowered = chatBounds.lower?.(run, ({ outputToken = 0 }) => outputToken <= 600);
    expect(lowered).toMatchObject({ request: { n: 2, max_tokens: 300 }, fields: { max_tokens: 300 } });
    expect(lowered?.bounds.upper).toMatchObject({ outputToken: 600 });
    expect(run.request.max_tokens).toBe(1000);
  });

  test("have the parts in which a long text is spoken", () => {
    const { price: _, ...unpriced } = chatModel;
    const model = {
      ...unpriced,
      id: "voice-1",
      capability: "speech" as const,
      inputCharactersMax: 6,
    };
    const call = callOf("speech", { model: "voice-1", input: "Aaaa. Bbbb. Cccc.", voice: "alloy" });
    const run = frozen(runOf(call, { model, compiledPrice: undefined, routes: [] }));
    expect(speechCapability.upperBound(run).parts).toBe(3);
  });
});

describe("a run", () => {
  test("has an outcome once it is settled, and no failure where it was served", async () => {
    const { kernel } = createBench([plugin]);
    const call = chatCall();
    await runCall(kernel, call);
    expect(call.run?.outcome).toEqual({
      meters: { inputToken: 3, outputToken: 2 },
      usageSource: "reported",
      costNanodollars: 7000,
      unbelievedNanodollars: undefined,
    });
    expect([call.run?.failure, call.status, call.errorCode]).toEqual([undefined, 200, undefined]);
  });

  test("that was refused has its failure, and the outcome of one that used nothing", async () => {
    const { kernel, ledger } = createBench([plugin]);
    ledger.admit = async () => {
      throw new GatewayError("insufficient_balance", "Insufficient balance");
    };
    const call = chatCall();
    const error = await rejectionOf(runCall(kernel, call));
    expect(call.run?.failure).toEqual({ error, status: 403, code: "insufficient_balance" });
    expect(call.run?.outcome).toMatchObject({ meters: {}, usageSource: "none", costNanodollars: undefined });
  });
});

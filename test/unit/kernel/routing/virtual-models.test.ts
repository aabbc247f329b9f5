import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../../src/contract/index.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { bench, type Chat, listed, unavailable, withVirtual, works } from "../fallback-bench.ts";
import { caller, chatCall, rejectionOf, runCall } from "../support.ts";

describe("a virtual model", () => {
  test("is served by its members, and the answer names the one that did", async () => {
    const one = bench({ a: unavailable, b: works });
    withVirtual(one, { id: "fast", models: ["a", "b"] });
    const call = chatCall({ model: "fast" });
    expect((await runCall(one.kernel, call))?.model).toBe("b");
    expect(call.run?.isSuccession).toBe(false);
  });

  test("takes members that are not served for granted, and is not found when none is", async () => {
    const one = bench({ b: works });
    withVirtual(one, { id: "fast", models: ["a", "b"] }, { id: "empty", models: ["a"] });
    expect((await runCall(one.kernel, chatCall({ model: "fast" })))?.model).toBe("b");
    expect((await rejectionOf(runCall(one.kernel, chatCall({ model: "empty" })))).code).toBe("model_not_found");
  });

  test.each<[string, string[], string | undefined]>([
    ["of its own name uses all members", ["fast"], "a"],
    ["of one member uses that one", ["b"], "b"],
    ["of neither uses none", ["c"], undefined],
  ])("with a key %s", async (_, allowed, served) => {
    const one = bench({ a: works, b: works });
    withVirtual(one, { id: "fast", models: ["a", "b"] });
    const narrow = { ...caller, allowedModels: new Set(allowed) };
    const answer = await runCall(one.kernel, chatCall({ model: "fast" }, { caller: narrow })).catch(
      (error: GatewayError) => ({ model: error.code }),
    );
    expect(answer?.model).toBe(served ?? "model_not_allowed");
  });

  test("can stand in a request's list", async () => {
    const one = bench({ a: unavailable, b: unavailable, c: works });
    withVirtual(one, { id: "fast", models: ["a", "b"] });
    const call = listed(["fast", "b", "c"]);
    expect((await runCall(one.kernel, call))?.model).toBe("c");
    expect(call.failures.map(({ model }) => model)).toEqual(["a", "b"]);
  });

  test("cheapest: free ones first, then by price, those without a known price last", async () => {
    const price = (usd: string): Partial<Model> => ({
      price: { inputToken: { usd, per: 1_000_000 }, outputToken: { usd, per: 1_000_000 } },
    });
    const one = bench(
      { a: works, b: works, c: works },
      { a: price("0.000003"), b: price("0.000002"), c: { premium: false } },
    );
    withVirtual(one, { id: "any", models: ["a", "b"], strategy: "cheapest" });
    expect((await runCall(one.kernel, chatCall({ model: "any" })))?.model).toBe("b");
    withVirtual(one, { id: "any", models: ["a", "b", "c"], strategy: "cheapest" });
    expect((await runCall(one.kernel, chatCall({ model: "any" })))?.model).toBe("c");
  });

  test("weight: by the draw, a session always the same, weight 0 last", async () => {
    const one = bench({ a: works, b: works });
    const weighted = { id: "any", strategy: "weight" as const, models: [{ model: "a", weight: 0 }, "b"] };
    withVirtual(one, weighted);
    expect((await runCall(one.kernel, chatCall({ model: "any" })))?.model).toBe("b");
    withVirtual(one, { ...weighted, models: ["a", "b"] });
    const serve = async (session: string) => {
      const call = chatCall({ model: "any" }, { session });
      return (await runCall(one.kernel, call))?.model;
    };
    const sessions = Array.from({ length: 40 }, (_, index) => `session-${index}`);
    const served = await Promise.all(sessions.map(serve));
    expect(new Set(served).size).toBe(2);
    expect(await Promise.all(sessions.map(serve))).toEqual(served);
  });

  test("fastest: by the median of the last minutes, a failure is slow, and figures expire", async () => {
    let aMs = 500;
    const timed =
      (ms: () => number): Chat =>
      async (call) => {
        clock.pass(ms());
        return works(call);
      };
    const one = bench({ a: timed(() => aMs), b: timed(() => 100) });
    const { clock } = one;
    withVirtual(one, { id: "any", models: ["a", "b"], strategy: "fastest" });
    const serve = async () => {
      const call = chatCall({ model: "any" }, { openedAt: clock.nowMs });
      return (await runCall(one.kernel, call))?.model;
    };
    expect([await serve(), await serve(), await serve(), await serve()]).toEqual(["a", "b", "b", "b"]);
    clock.pass(300_000);
    aMs = 10;
    expect([await serve(), await serve(), await serve()]).toEqual(["a", "b", "a"]);
  });
});

import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../src/contract/index.ts";
import { fromIterable } from "../../../src/provider/index.ts";
import { bench, type Chat, listed, unavailable, works } from "./fallback-bench.ts";
import { Sink, textChunk, textOf } from "./streams.ts";
import { caller, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

describe("a list of models", () => {
  test("is tried in order; each model is held and settled on its own, and only the one that serves is charged", async () => {
    const { kernel, ledger, log } = bench({ a: unavailable, b: works });
    const call = listed(["a", "b"]);
    const answer = await runCall(kernel, call);
    expect(answer?.model).toBe("b");
    expect(ledger.claims.map(({ callId, model }) => [callId, model])).toEqual([
      [call.id, "a"],
      [`${call.id}-2`, "b"],
    ]);
    expect(ledger.settlements.map(({ callId, outcome, status }) => [callId, outcome, status])).toEqual([
      [call.id, "released", 500],
      [`${call.id}-2`, "settled", 200],
    ]);
    expect([call.run?.model, call.run?.answeredBy, call.run?.status, call.attempts]).toEqual(["b", "b", 200, 2]);
    expect(call.failures).toEqual([{ model: "a", code: "upstream_error" }]);
    expect(log.lines.filter(({ event }) => event === "model_fallback").map(({ fields }) => fields)).toEqual([
      { call: call.id, ledger_id: call.id, model: "a", error: "upstream_error" },
    ]);
  });

  test("streams from the second model as if it had been the only one", async () => {
    const { kernel, ledger } = bench({ a: unavailable, b: works });
    const sink = new Sink<never>();
    const call = listed(["a", "b"], { stream: true }, { sink });
    await runCall(kernel, call);
    expect(textOf(sink.pieces)).toBe("From b");
    expect((sink.pieces[0] as { model?: string } | undefined)?.model).toBe("b");
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["released", "settled"]);
  });

  test.each([
    ["it is limited by its provider", new UpstreamError("rate_limited", "Slow down", { status: 429 })],
    ["its provider's account is empty", new UpstreamError("insufficient_quota", "Pay", { status: 402 })],
    ["its provider has it no more", new UpstreamError("model_not_found", "Gone", { status: 404 })],
    ["the prompt is too long for it", new UpstreamError("context_length", "Too long", { status: 400 })],
  ])("goes on when %s", async (_, fault) => {
    const { kernel } = bench({ a: () => Promise.reject(fault), b: works });
    expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
  });

  test.each(["insufficient_balance", "quota_exceeded", "budget_exceeded"] as const)(
    "goes on when the ledger refuses it with %s",
    async (code) => {
      const { kernel, ledger } = bench({ a: works, b: works });
      const { admit } = ledger;
      ledger.admit = (admission) =>
        admission.model === "a" ? Promise.reject(new GatewayError(code, "No")) : admit.call(ledger, admission);
      expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
      expect(ledger.settlement.outcome).toBe("settled");
    },
  );

  test.each([
    ["of the model", "a", "b"],
    ["of all models together", undefined, undefined],
  ])("goes on when a limit %s is reached, if another model may have room", async (_, model, answered) => {
    const { kernel, ledger } = bench({ a: works, b: works });
    const { admit } = ledger;
    const limit = { name: "requests_per_minute", owner: "account", model } as const;
    const refusal = new GatewayError("rate_limit_exceeded", "No", { retryAfterMs: 5000, limit });
    ledger.admit = (admission) => (admission.model === "a" ? Promise.reject(refusal) : admit.call(ledger, admission));
    const outcome = await runCall(kernel, listed(["a", "b"])).catch((error) => error);
    if (answered === undefined)
      expect(outcome).toMatchObject({ code: "rate_limit_exceeded", limit, retryAfterMs: 5000 });
    else expect(outcome).toMatchObject({ model: answered });
  });

  test("goes on when a check of the model refuses the request before the hold", async () => {
    const { kernel, ledger } = bench({ a: works, b: works }, { a: { contextTokens: 100 } });
    const call = listed(["a", "b"], { max_tokens: 500 });
    expect((await runCall(kernel, call))?.model).toBe("b");
    expect(ledger.claims.map(({ callId }) => callId)).toEqual([`${call.id}-2`]);
  });

  test.each([
    ["a request that the provider calls invalid", new UpstreamError("bad_request", "Bad", { status: 400 })],
    ["an answer that broke off, for which the provider bills", new UpstreamError("bad_response", "Half an answer")],
  ])("ends with %s", async (_, fault) => {
    const asked: string[] = [];
    const chat: Chat = async (call) => {
      asked.push(call.model.id);
      await call.upstream.json("/chat", {}).catch(() => undefined);
      throw fault;
    };
    const plugins = ["a", "b"].map((id) => createPlugin({ chat }, { name: id, models: [{ ...chatModel, id }] }));
    const { kernel, ledger } = createBench(plugins, { fetch: async () => Response.json({ text: "Half" }) });
    await rejectionOf(runCall(kernel, listed(["a", "b"])));
    expect(asked).toEqual(["a"]);
    expect(ledger.settlements).toHaveLength(1);
  });

  test("ends with the caller's own rate limit", async () => {
    const { kernel, ledger } = bench({ a: works, b: works });
    ledger.refusal = new GatewayError("rate_limit_exceeded", "Slow down", { retryAfterMs: 1000 });
    const call = listed(["a", "b"]);
    expect((await rejectionOf(runCall(kernel, call))).code).toBe("rate_limit_exceeded");
    expect(call.failures).toEqual([]);
  });

  test("ends with a stream that has begun", async () => {
    const broken: Chat = async () =>
      fromIterable(
        (async function* () {
          yield textChunk("Half");
          throw new UpstreamError("overloaded", "Busy", { status: 503 });
        })(),
      );
    const { kernel, ledger } = bench({ a: broken, b: works });
    const sink = new Sink<never>();
    expect((await rejectionOf(runCall(kernel, listed(["a", "b"], { stream: true }, { sink })))).code).toBe(
      "upstream_error",
    );
    expect(textOf(sink.pieces)).toBe("Half");
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("ends with a client that has left", async () => {
    const asked: string[] = [];
    const call = listed(["a", "b"]);
    const leaving: Chat = ({ model }) => {
      asked.push(model.id);
      call.cancel("client_disconnected");
      return unavailable(undefined as never);
    };
    const { kernel } = bench({ a: leaving, b: leaving });
    await rejectionOf(runCall(kernel, call));
    expect(asked).toEqual(["a"]);
  });

  test("fails with the last model's error, which names those before", async () => {
    const { kernel, ledger } = bench({ a: unavailable, b: unavailable });
    const error = await rejectionOf(runCall(kernel, listed(["a", "b"])));
    expect([error.code, error.message]).toEqual([
      "upstream_error",
      "b failed (503): Busy (also tried: 'a' (upstream_error))",
    ]);
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["released", "released"]);
  });

  test("leaves nothing of the first model to the second: lowered limits, ignored fields, deadlines", async () => {
    const seen: unknown[] = [];
    const warning: Chat = ({ request, warn }) => {
      seen.push(request.max_tokens);
      warn("Left out seed", "seed");
      return unavailable(undefined as never);
    };
    const slow: Chat = async (call) => {
      seen.push(call.request.max_tokens);
      clock.pass(700_000);
      call.signal.throwIfAborted();
      return works(call);
    };
    const { kernel, ledger, clock } = bench({ a: warning, b: slow });
    const { admit } = ledger;
    ledger.admit = async (admission) => {
      const hold = await admit.call(ledger, admission);
      const most = admission.minNanodollars;
      return admission.model === "a" ? { ...hold, heldNanodollars: most, availableNanodollars: most } : hold;
    };
    const call = listed(["a", "b"], { max_tokens: 900, seed: 1 });
    const error = await runCall(kernel, call).catch((thrown: unknown) => thrown);
    expect(seen.slice(-1)).toEqual([900]);
    expect(seen[0]).toBeLessThan(900);
    expect([call.run?.lowered, [...(call.run?.ignored ?? [])]]).toEqual([undefined, []]);
    // The time that all models have together is still watched.
    expect(error).toMatchObject({ code: "upstream_timeout" });
  });

  test.each([
    ["an unknown name", ["a", "nobody"], "model_not_found"],
    ["a name that the key may not use", ["b", "a"], "model_not_allowed"],
  ])("with %s is refused before anything is asked", async (_, models, code) => {
    const { kernel, ledger } = bench({ a: works, b: works });
    const narrow = { ...caller, allowedModels: new Set(["a"]) };
    const error = await rejectionOf(runCall(kernel, listed(models, {}, { caller: narrow })));
    expect(error.code).toBe(code as GatewayError["code"]);
    expect(ledger.claims).toEqual([]);
  });

  test("leaves out a model that has ended", async () => {
    const { kernel, ledger } = bench({ a: works, b: works }, { a: { retiredOn: "2020-01-01" } });
    expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
    expect(ledger.claims.map(({ model }) => model)).toEqual(["b"]);
  });

  test("tries models whose routes are paused last", async () => {
    const { kernel } = bench({ a: works, b: works });
    kernel.registry.byName("a")?.routes[0]?.circuitBreaker.pauseFor(1000, kernel.now());
    expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
  });
});

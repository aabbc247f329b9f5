import { describe, expect, test } from "bun:test";
import { Registry } from "prom-client";
import { UpstreamError } from "../../../src/contract/index.ts";
import { resolveModels } from "../../../src/http/lifecycle/call-routes.ts";
import { executeCall } from "../../../src/http/lifecycle/execute.ts";
import { HttpCall } from "../../../src/http/lifecycle/http-call.ts";
import { CallMemory } from "../../../src/http/memory/call-memory.ts";
import type { Route } from "../../../src/kernel/index.ts";
import { CallMetrics } from "../../../src/observability/metrics/call-metrics.ts";
import { addCommitMetrics } from "../../../src/observability/metrics/gateway-metrics.ts";
import type { ChatChunk } from "../../../src/provider/index.ts";
import { type MetricLine, readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { httpOf } from "../http/support.ts";
import { Sink } from "../kernel/streams.ts";
import { attemptOf, chatModel, createPlugin, newCall, runOf } from "../kernel/support.ts";

const chat = { model: "chat-1", messages: [{ role: "user" as const, content: "Say hello" }] };
const nowMs = 1_790_000_000_500;
const ofModel = { model: "chat-1", plugin: "acme" };

/** Metrics with a registry of their own, and what a scrape of it would read. */
function metricsOf(now = () => nowMs, isPremium: (model: string) => boolean | undefined = () => false) {
  const registry = new Registry();
  const metrics = new CallMetrics(registry, { now, isPremium });
  const lines = async () => readScrape(await registry.metrics());
  const read = async (name: string, labels = {}) => sampleOf(await lines(), `modelgate_${name}`, labels);
  return { metrics, lines, read };
}

/** A gateway over fakes that is watched, and one call of it. */
function observedGateway(plugins?: Parameters<typeof httpOf>[0]) {
  const http = httpOf(plugins);
  const { metrics, lines, read } = metricsOf(http.clock.now);
  const deps = { ...http.deps, kernel: { ...http.kernel, observer: metrics } };
  const call = (changes: object = {}, sink?: Sink<ChatChunk>) => {
    const options = { capability: "chat" as const, request: { ...chat, ...changes }, ...(sink && { sink }) };
    const request = new Request("http://gateway.example/");
    const one = new HttpCall(newCall().request, request, {
      capability: "chat",
      memory: new CallMemory(deps.memory, "acct"),
      slot: deps.loadShedder.takeSlot("acct"),
    });
    const run = async () => {
      resolveModels(deps, one, options.request);
      return await executeCall(deps, one, options);
    };
    return run().catch(() => undefined);
  };
  return { lines, read, call, clock: http.clock };
}

/** The lines of a metric as its labels and value. */
async function all(lines: () => Promise<MetricLine[]>, metric: string): Promise<Record<string, string | number>[]> {
  return (await lines())
    .filter(({ name }) => name === `modelgate_${metric}`)
    .map(({ labels, value }) => ({ ...labels, value }));
}

describe("CallMetrics", () => {
  test("count answers that end by a word that nobody knows", async () => {
    const ended = (finish_reason: string) => {
      const message = { role: "assistant" as const, content: "Hello" };
      const choices = [{ index: 0, message, finish_reason: finish_reason as "stop" }];
      const usage = { prompt_tokens: 3, completion_tokens: 2 };
      const completion = { id: "", object: "chat.completion" as const, created: 0, model: "", choices, usage };
      return createPlugin({ chat: async () => completion });
    };
    const { lines, call } = observedGateway([ended("a_word_of_tomorrow")]);
    await call();
    expect(await all(lines, "finish_reasons_unknown_total")).toEqual([{ ...ofModel, value: 1 }]);
    const known = observedGateway([ended("stop")]);
    await known.call();
    expect(await all(known.lines, "finish_reasons_unknown_total")).toEqual([]);
  });

  test("count a report that no call can have, and what it would have cost beyond the charge", async () => {
    const message = { role: "assistant" as const, content: "Hello" };
    const choices = [{ index: 0, message, finish_reason: "stop" as const }];
    const usage = { prompt_tokens: 3, completion_tokens: 1_001_000 };
    const completion = { id: "", object: "chat.completion" as const, created: 0, model: "", choices, usage };
    const { lines, call } = observedGateway([createPlugin({ chat: async () => completion })]);
    await call();
    expect(await all(lines, "usage_implausible_total")).toEqual([{ ...ofModel, value: 1 }]);
    // The output limit of 1000 tokens was charged, at $2 for a million.
    expect(await all(lines, "usage_implausible_usd_total")).toEqual([{ ...ofModel, value: 2 }]);
  });

  test("count a call by model, plugin, status and state, with what it used and cost", async () => {
    const { lines, read, call } = observedGateway();
    await call();
    await call();
    expect(await all(lines, "calls_total")).toEqual([
      { capability: "chat", ...ofModel, status: "200", state: "settled", value: 2 },
    ]);
    expect(await read("usage_total", { ...ofModel, source: "reported" })).toBe(2);
    expect(await all(lines, "usage_total")).toHaveLength(1);
    expect(await read("cost_usd_total", ofModel)).toBeCloseTo(0.00028, 12);
    expect(await read("zero_cost_calls_total", { ...ofModel, premium: "false" })).toBe(0);
    expect(await read("hold_exceeded_total", ofModel)).toBe(0);
    expect(await all(lines, "tokens_total")).toEqual([
      { ...ofModel, type: "input", value: 200 },
      { ...ofModel, type: "output", value: 40 },
    ]);
    expect(await all(lines, "units_total")).toEqual([]);
    expect(await read("call_duration_seconds_count", ofModel)).toBe(2);
    expect(await all(lines, "call_first_byte_seconds_count")).toEqual([]);
    expect(await all(lines, "upstream_attempts_total")).toEqual([{ plugin: "acme", outcome: "answered", value: 2 }]);
    expect(await read("upstream_duration_seconds_count", { plugin: "acme" })).toBe(2);
  });

  test("never have a client's model text in a label", async () => {
    const { lines, call } = observedGateway();
    // The last one is as long as a name may be; the schema refuses a longer one.
    for (const model of ["nobody", "no\nbody", "x".repeat(200)]) await call({ model });
    expect(await all(lines, "calls_total")).toEqual([
      { capability: "chat", model: "other", plugin: "none", status: "400", state: "refused", value: 3 },
    ]);
    expect(await all(lines, "call_errors_total")).toEqual([{ code: "model_not_found", value: 3 }]);
    expect(await all(lines, "cost_usd_total")).toEqual([]);
  });

  test("count calls that the gateway failed before they ran, and no other requests that it refused", async () => {
    const { metrics, lines } = metricsOf();
    metrics.refused("unavailable", { capability: "chat", status: 503 });
    metrics.refused("invalid_api_key", { capability: "chat", status: 401 });
    metrics.refused("unavailable");
    expect(await all(lines, "calls_total")).toEqual([
      { capability: "chat", model: "other", plugin: "none", status: "503", state: "refused", value: 1 },
    ]);
  });

  test("distinguish failures of a provider from those of a plugin, and count released calls", async () => {
    const faults = [new UpstreamError("overloaded", "Down"), new TypeError("Broken code")];
    const { lines, call } = observedGateway([
      createPlugin({
        async chat() {
          throw faults.shift() ?? new UpstreamError("bad_request", "Wrong");
        },
      }),
    ]);
    await call();
    expect(await all(lines, "upstream_attempts_total")).toEqual([
      { plugin: "acme", outcome: "overloaded", value: 1 },
      { plugin: "acme", outcome: "plugin", value: 1 },
    ]);
    expect(await all(lines, "calls_total")).toEqual([
      { capability: "chat", ...ofModel, status: "500", state: "released", value: 1 },
    ]);
    expect(await all(lines, "usage_total")).toEqual([{ ...ofModel, source: "none", value: 1 }]);
  });

  test("count usage without cost, and calls that cost more than their hold", async () => {
    const { metrics, read } = metricsOf(undefined, (model) => model === "chat-1");
    for (const cost of [0, undefined, 10, 11]) {
      const call = newCall();
      const run = runOf(call, { model: chatModel, compiledPrice: undefined, routes: [] });
      run.hold = {
        callId: call.id,
        heldNanodollars: 10,
        heldTokens: 0,
        availableNanodollars: 10,
        availableTokens: 0,
        limits: {} as never,
      };
      const meters = { outputToken: 5, audioMs: 1500 };
      run.outcome = { ...run.outcome, meters, usageSource: "estimated", costNanodollars: cost };
      metrics.ended(call);
    }
    expect(await read("zero_cost_calls_total", { model: "chat-1", premium: "true" })).toBe(2);
    expect(await read("hold_exceeded_total", { model: "chat-1" })).toBe(1);
    expect(await read("usage_total", { source: "estimated" })).toBe(4);
    expect(await read("cost_usd_total", { model: "chat-1" })).toBeCloseTo(21e-9, 15);
    expect(await read("tokens_total", { type: "output" })).toBe(20);
    expect(await read("units_total", { unit: "audio_seconds" })).toBe(6);
  });

  test("have a bounded number of series", async () => {
    const { metrics, lines } = metricsOf();
    for (let index = 0; index < 6_000; index++) {
      const model = { ...chatModel, id: `model-${index}` };
      const call = newCall();
      runOf(call, { model, compiledPrice: undefined, routes: [] });
      metrics.ended(call);
      const route = { plugin: { name: `plugin-${index}` }, model } as Route;
      metrics.attempted(attemptOf(route));
    }
    // So many series take a second to write out: once is enough.
    const written = await lines();
    const read = (name: string, labels: Record<string, string>) => sampleOf(written, `modelgate_${name}`, labels);
    const calls = await all(async () => written, "calls_total");
    expect(new Set(calls.map(({ model }) => model)).size).toBe(5_001);
    expect(read("calls_total", { model: "other", plugin: "none" })).toBe(1_000);
    expect(read("call_duration_seconds_count", { model: "other" })).toBe(1_000);
    expect(await all(async () => written, "upstream_attempts_total")).toHaveLength(5_001);
    expect(read("upstream_attempts_total", { plugin: "other" })).toBe(1_000);
  });

  test("time the first byte of a stream", async () => {
    const { read, call } = observedGateway();
    await call({ stream: true }, new Sink<ChatChunk>());
    expect(await read("call_first_byte_seconds_count", ofModel)).toBe(1);
  });

  test("count a duration in the bucket whose bound it equals, in seconds", async () => {
    const clock = { nowMs };
    const { metrics, read } = metricsOf(() => clock.nowMs);
    for (const ms of [5, 6, 400_000]) {
      const call = newCall();
      clock.nowMs = call.request.startedMs + ms;
      metrics.ended(call);
    }
    const buckets = await Promise.all(
      ["0.005", "0.01", "300", "+Inf"].map((le) => read("call_duration_seconds_bucket", { le })),
    );
    expect(buckets).toEqual([1, 2, 2, 3]);
    expect(await read("call_duration_seconds_sum")).toBeCloseTo(400.011, 6);
  });
});

test("commit metrics have the size and duration of each transaction and the pending writes", async () => {
  const registry = new Registry();
  const note = addCommitMetrics(registry);
  note(4, 2.5, 0);
  note(1, 0.1, 7);
  const lines = readScrape(await registry.metrics());
  expect(sampleOf(lines, "modelgate_ledger_commit_seconds_bucket", { le: "0.0025" })).toBe(2);
  expect(sampleOf(lines, "modelgate_ledger_commit_seconds_bucket", { le: "0.0001" })).toBe(1);
  expect(sampleOf(lines, "modelgate_ledger_commit_writes_sum")).toBe(5);
  expect(sampleOf(lines, "modelgate_pending_writes")).toBe(7);
});

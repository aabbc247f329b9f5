import { describe, expect, test } from "bun:test";
import { type ChatChunk, UpstreamFault } from "../../src/contract/index.ts";
import { executeCall, RequestContext } from "../../src/http/handle-call.ts";
import { Buckets } from "../../src/watch/buckets.ts";
import { CallCounts, type CallSeries } from "../../src/watch/call-counts.ts";
import { httpOf } from "../http/support.ts";
import { Sink } from "../kernel/streams.ts";
import { caller, newProgress, pluginOf } from "../kernel/support.ts";

const request = { model: "chat-1", messages: [{ role: "user" as const, content: "Say hello" }] };

/** A gateway over fakes that is watched, and one call of it. */
function watched(plugins?: Parameters<typeof httpOf>[0]) {
  const http = httpOf(plugins);
  const counts = new CallCounts(http.clock.now);
  const deps = { ...http.deps, kernel: { ...http.kernel, watch: counts } };
  const call = (changes: object = {}, outlet?: Sink<ChatChunk>) => {
    const progress = newProgress();
    const parts = { request: new Request("http://gateway.example/"), caller, progress, server: null };
    const options = { capability: "chat" as const, request: { ...request, ...changes }, ...(outlet && { outlet }) };
    return executeCall(deps, new RequestContext(parts), options).catch(() => undefined);
  };
  return { counts, call, clock: http.clock };
}

const endsOf = ({ ends }: CallSeries) => [...ends].map(([end, count]) => [Math.floor(end / 4), end % 4, count]);

describe("CallCounts", () => {
  test("counts a call by model, plugin, status and state, with what it used and cost", async () => {
    const { counts, call } = watched();
    await call();
    await call();
    const [series, ...others] = counts.calls;
    expect(others).toEqual([]);
    expect(series).toMatchObject({ capability: "chat", model: "chat-1", plugin: "acme", reported: 2, estimated: 0 });
    expect(series).toMatchObject({ costNanodollars: 280_000, withoutCost: 0, beyondHold: 0 });
    expect(series?.meters).toMatchObject({ inputToken: 200, outputToken: 40, image: 0 });
    expect(endsOf(series as CallSeries)).toEqual([[200, 0, 2]]);
    expect(series?.durationMs.count).toBe(2);
    expect(series?.firstByteMs.count).toBe(0);
    expect([...(counts.attempts.get("acme")?.outcomes ?? [])]).toEqual([["answered", 2]]);
  });

  test("what clients write as a model is never a name in it", async () => {
    const { counts, call } = watched();
    for (const model of ["nobody", "no\nbody", "x".repeat(999)]) await call({ model });
    expect(counts.calls.map(({ model, plugin }) => [model, plugin])).toEqual([["other", "none"]]);
    expect(endsOf(counts.calls[0] as CallSeries)).toEqual([[400, 2, 3]]);
    expect([...counts.errors]).toEqual([["model_not_found", 3]]);
  });

  test("tells failures of a provider from those of a plugin, and counts what was released", async () => {
    const faults = [new UpstreamFault("overloaded", "Down"), new TypeError("Broken code")];
    const { counts, call } = watched([
      pluginOf({
        async chat() {
          throw faults.shift() ?? new UpstreamFault("bad_request", "Wrong");
        },
      }),
    ]);
    await call();
    const outcomes = counts.attempts.get("acme")?.outcomes;
    expect(Object.fromEntries(outcomes ?? [])).toEqual({ overloaded: 1, plugin: 1 });
    expect(endsOf(counts.calls[0] as CallSeries)).toEqual([[500, 1, 1]]);
    expect(counts.calls[0]).toMatchObject({ plugin: "none", none: 1 });
  });

  test("sees what was used and cost nothing, and what cost more than its hold", () => {
    const counts = new CallCounts(() => 1_790_000_000_500);
    const end = (costNanodollars: number | undefined) => {
      const progress = newProgress();
      progress.model = "chat-1";
      progress.hold = { callId: progress.id, heldNanodollars: 10, heldTokens: 0, limits: {} as never };
      progress.meters = { outputToken: 5 };
      progress.usageSource = "estimated";
      progress.costNanodollars = costNanodollars;
      counts.ended(progress, "chat", false);
    };
    for (const cost of [0, undefined, 10, 11]) end(cost);
    expect(counts.calls[0]).toMatchObject({ withoutCost: 2, beyondHold: 1, estimated: 4, costNanodollars: 21 });
  });

  test("models and plugins that come and go do not fill the memory", () => {
    const counts = new CallCounts(() => 1_790_000_000_500);
    for (let index = 0; index < 6_000; index++) {
      const progress = newProgress();
      progress.model = `model-${index}`;
      counts.ended(progress, "chat", false);
    }
    expect(counts.calls.length).toBe(5_001);
    expect(counts.calls.at(-1)).toMatchObject({ model: "other", plugin: "none" });
    expect(counts.calls.at(-1)?.durationMs.count).toBe(1_000);
  });

  test("times the first byte of a stream", async () => {
    const { counts, call } = watched();
    await call({ stream: true }, new Sink<ChatChunk>());
    expect(counts.calls[0]?.firstByteMs.count).toBe(1);
  });
});

test("Buckets count a bound to itself, and what is larger than all beyond", () => {
  const buckets = new Buckets([1, 10]);
  for (const value of [0, 1, 1.5, 10, 11]) buckets.note(value);
  expect(buckets).toMatchObject({ counts: [2, 2, 1], count: 5, sum: 23.5 });
});

import { describe, expect, test } from "bun:test";
import { askOnce, type LoneRequest } from "../../../src/kernel/ask-route.ts";
import type { Call } from "../../../src/provider/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { fetchOf, json, settled, silence } from "./fake-fetch.ts";
import { completionOf } from "./streams.ts";
import { chatModel, createBench, createPlugin } from "./support.ts";

function benchOf(...replies: Parameters<typeof fetchOf>) {
  const fetch = fetchOf(...replies);
  const bench = createBench([createPlugin({ chat: async () => completionOf("Hello") })], {
    fetch,
    bounds: { firstByteMsMax: 2000 },
  });
  const [route] = bench.kernel.registry.byName(chatModel.id)?.routes ?? [];
  if (route === undefined) throw new Error("The model has no route");
  const lone: LoneRequest = {
    id: "req_1",
    owner: "account-1",
    route,
    key: route.keys.take(bench.clock.nowMs),
    request: { url: "https://files.example/a" },
    answerSource: "answer",
    msMax: 5000,
  };
  return { ...bench, fetch, lone };
}

describe("a request outside of every call", () => {
  test("is sent once with the key of the route, and returns the answer of the provider", async () => {
    const { network, fetch, lone } = benchOf(json({ tokens: 7 }));
    const answer = await askOnce(network, lone, (_, { upstream, model }) => upstream.json("/count", { of: model.id }));
    expect(answer).toEqual({ tokens: 7 });
    expect(fetch.asked.map(({ key, url }) => [key, new URL(url).pathname])).toEqual([["key-a", "/v1/count"]]);
  });

  test("ends in its time, whatever the plugin still does, and aborts what was sent", async () => {
    const { network, clock, lone } = benchOf();
    let signal: AbortSignal | undefined;
    const done = errorOf(
      askOnce(network, lone, (_, call) => {
        ({ signal } = call);
        return new Promise<never>(() => undefined);
      }),
    );
    await settled();
    clock.pass(5000);
    expect(await done).toMatchObject({ kind: "timeout", message: "It did not answer within 5 s" });
    expect(signal?.aborted).toBe(true);
  });

  test("fails when the provider is silent for longer than it may be", async () => {
    const { network, clock, fetch, lone } = benchOf(silence);
    const done = errorOf(askOnce(network, lone, (_, { upstream }) => upstream.json("/count", {})));
    await settled();
    clock.pass(2000);
    expect(await done).toMatchObject({ kind: "timeout" });
    expect(fetch.asked[0]?.init.signal?.aborted).toBe(true);
  });

  test("can send nothing more once it has ended", async () => {
    const { network, fetch, lone } = benchOf(json({}));
    let late: Call<unknown> | undefined;
    await askOnce(network, lone, async (_, call) => {
      late = call;
    });
    expect(await errorOf(late?.upstream.json("/count", {}) ?? Promise.resolve())).toBeInstanceOf(Error);
    expect(fetch.asked).toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { describeRoutes } from "../../../../src/kernel/index.ts";
import { fromIterable } from "../../../../src/provider/index.ts";
import { fetchOf, json } from "../fake-fetch.ts";
import { bench, type Chat, listed, works } from "../fallback-bench.ts";
import { completionOf, Sink } from "../streams.ts";
import { caller, chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const confused: Chat = () => Promise.reject(new TypeError("x is undefined"));

describe("a plugin that fails before it has asked its provider", () => {
  test("is a failure of the gateway, however often, and counts against no route", async () => {
    const { kernel, clock, log } = createBench([createPlugin({ chat: confused })]);
    for (let turn = 0; turn < 8; turn++) {
      expect(await rejectionOf(runCall(kernel, chatCall()))).toMatchObject({ code: "internal_error", status: 500 });
    }
    const [route] = kernel.registry.byName("chat-1")?.routes ?? [];
    expect(route?.health.isReady(clock.nowMs, caller.accountId)).toBe(true);
    expect(route?.circuitBreaker.isReady(clock.nowMs)).toBe(true);
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).toEqual([]);
    expect(log.lines.filter(({ event }) => event === "plugin_failed")).toHaveLength(8);
  });

  test("leaves the request to the next model of a list", async () => {
    const { kernel, ledger } = bench({ a: confused, b: works });
    expect((await runCall(kernel, listed(["a", "b"])))?.model).toBe("b");
    expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["released", "settled"]);
  });
});

describe("a plugin that fails behind its provider's answer", () => {
  test("still opens its circuit after five times", async () => {
    const broken: Chat = async ({ upstream }) => {
      await upstream.json("/chat", {});
      throw new TypeError("x is undefined");
    };
    const { kernel, log } = createBench([createPlugin({ chat: broken })], { fetch: async () => Response.json({}) });
    for (let turn = 0; turn < 5; turn++) await rejectionOf(runCall(kernel, chatCall()));
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).not.toEqual([]);
  });

  /** Two models of a plugin that stumbles over odd requests, and of another that has them too. */
  function bench() {
    const chat: Chat = async ({ upstream, request }) => {
      const answer = await upstream.json("/chat", {});
      if (request.user === "odd") throw new TypeError("x is undefined");
      return answer as never;
    };
    const models = [chatModel, { ...chatModel, id: "chat-2" }];
    const backups = models.map((model) => ({ ...model, priority: 200 }));
    const plugins = [createPlugin({ chat }, { models }), createPlugin({ chat }, { name: "backup", models: backups })];
    const fetch = fetchOf(() => json(completionOf("Hello")).clone() as Response);
    const { kernel, clock } = createBench(plugins, { fetch });
    const ask = async (accountId: string, request: Record<string, unknown>) => {
      fetch.asked.length = 0;
      await runCall(kernel, chatCall(request, { caller: { ...caller, accountId } })).catch(() => undefined);
      return new URL(fetch.asked[0]?.url ?? "").hostname.split(".")[0];
    };
    const fail = async (...accounts: string[]) => {
      for (const account of accounts) await ask(account, { user: "odd" });
    };
    const routeOf = (account: string) => ask(account, { model: "chat-2" });
    const state = () => describeRoutes(kernel.registry.byName("chat-2")!, clock.nowMs)[0]?.state;
    return { fail, routeOf, state, clock };
  }

  test("over the requests of one account is paused for that account, in all of its models, and for nobody else", async () => {
    const { fail, routeOf, state, clock } = bench();
    await fail("acc_a", "acc_a", "acc_a", "acc_a", "acc_a");
    expect([await routeOf("acc_b"), await routeOf("acc_a"), state()]).toEqual(["acme", "backup", "closed"]);
    clock.pass(30_000);
    expect(await routeOf("acc_a")).toBe("acme");
  });

  test("over the requests of five accounts is paused for all, for half a minute", async () => {
    const { fail, routeOf, state, clock } = bench();
    await fail("acc_1", "acc_2", "acc_3", "acc_4", "acc_5");
    expect([await routeOf("acc_b"), state()]).toEqual(["backup", "open"]);
    clock.pass(30_000);
    expect(await routeOf("acc_b")).toBe("acme");
  });
});

describe("an answer that a request alone made unusable", () => {
  const fault = new UpstreamError("bad_response", "The model gave no answer (OTHER)", { isOfRequest: true });

  test.each<[string, boolean, Chat]>([
    ["before it began", false, () => Promise.reject(fault)],
    [
      "in the middle of a stream",
      true,
      async () =>
        fromIterable(
          (async function* () {
            yield { choices: [{ index: 0, delta: { content: "Half" } }] };
            throw fault;
          })(),
        ),
    ],
  ])("opens no circuit %s", async (_, stream, chat) => {
    const { kernel, log } = createBench([createPlugin({ chat })]);
    for (let turn = 0; turn < 8; turn++) {
      await rejectionOf(runCall(kernel, chatCall({ stream }, stream ? { sink: new Sink<never>() } : {})));
    }
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).toEqual([]);
  });

  test("leaves other failures of the provider counted", async () => {
    const chat: Chat = () => Promise.reject(new UpstreamError("bad_response", "Broken", { status: 500 }));
    const { kernel, log } = createBench([createPlugin({ chat })]);
    for (let turn = 0; turn < 8; turn++) await runCall(kernel, chatCall()).catch(() => completionOf(""));
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).not.toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import { UpstreamFault } from "../../../../src/contract/index.ts";
import { runCall } from "../../../../src/kernel/index.ts";
import { bench, type Chat, listed, works } from "../fallback-bench.ts";
import { completionOf, Sink } from "../streams.ts";
import { chatCall, createBench, createPlugin, rejectionOf } from "../support.ts";

const confused: Chat = () => Promise.reject(new TypeError("x is undefined"));

describe("a plugin that fails before it has asked its provider", () => {
  test("is a failure of the gateway, however often, and counts against no route", async () => {
    const { kernel, clock, log } = createBench([createPlugin({ chat: confused })]);
    for (let turn = 0; turn < 8; turn++) {
      expect(await rejectionOf(runCall(kernel, chatCall()))).toMatchObject({ code: "internal_error", status: 500 });
    }
    const [route] = kernel.registry.byName("chat-1")?.routes ?? [];
    expect(route?.health.openForMs(clock.nowMs)).toBe(0);
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
});

describe("an answer that a request alone made unusable", () => {
  const fault = new UpstreamFault("bad_response", "The model gave no answer (OTHER)", { isOfRequest: true });

  test.each<[string, boolean, Chat]>([
    ["before it began", false, () => Promise.reject(fault)],
    [
      "in the middle of a stream",
      true,
      async () =>
        (async function* () {
          yield { choices: [{ index: 0, delta: { content: "Half" } }] };
          throw fault;
        })(),
    ],
  ])("opens no circuit %s", async (_, stream, chat) => {
    const { kernel, log } = createBench([createPlugin({ chat })]);
    for (let turn = 0; turn < 8; turn++) {
      await rejectionOf(runCall(kernel, chatCall({ stream }, stream ? { sink: new Sink<never>() } : {})));
    }
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).toEqual([]);
  });

  test("leaves other failures of the provider counted", async () => {
    const chat: Chat = () => Promise.reject(new UpstreamFault("bad_response", "Broken", { status: 500 }));
    const { kernel, log } = createBench([createPlugin({ chat })]);
    for (let turn = 0; turn < 8; turn++) await runCall(kernel, chatCall()).catch(() => completionOf(""));
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).not.toEqual([]);
  });
});

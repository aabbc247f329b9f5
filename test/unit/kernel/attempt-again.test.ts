import { describe, expect, test } from "bun:test";
import { type Caller, UpstreamError } from "../../../src/contract/index.ts";
import { describeRoutes } from "../../../src/kernel/index.ts";
import { type Call, type ChatCompletion, type ChatRequest, fromIterable } from "../../../src/provider/index.ts";
import { until } from "../../support/until.ts";
import { type CheckInput, failedBy, fetchOf, json, liveBody, refused, settled, silence } from "./fake-fetch.ts";
import { completionOf, Sink } from "./streams.ts";
import { caller, chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });
const acme = createPlugin({ chat });
const backup = createPlugin({ chat }, { name: "backup", models: [{ ...chatModel, priority: 200 }] });
const good = json(completionOf("Hello"));
const hostsOf = (fetch: ReturnType<typeof fetchOf>) =>
  fetch.asked.map(({ url }) => new URL(url).hostname.split(".")[0]);

describe("the only route", () => {
  test.each([
    ["overloaded", refused(503)],
    ["failing", refused(500)],
    ["not to be connected to", failedBy("ECONNREFUSED")],
    ["answering with a page", new Response("<html>")],
  ])("is tried once more when it is %s, for one charge", async (_, failure) => {
    const fetch = fetchOf(failure, good);
    const { kernel, ledger, pauses } = createBench([acme], { fetch, random: () => 0.5 });
    const call = chatCall();
    await runCall(kernel, call);
    expect(call.attempts).toBe(2);
    expect(pauses).toEqual([200]);
    expect(ledger.settlement).toMatchObject({ plugin: "acme", outcome: "settled", usageSource: "reported" });
  });

  test("is not tried a third time", async () => {
    const fetch = fetchOf(refused(503));
    const { kernel, ledger } = createBench([acme], { fetch });
    expect((await rejectionOf(runCall(kernel, chatCall()))).code).toBe("upstream_error");
    expect(fetch.asked).toHaveLength(2);
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {} });
  });

  test.each([
    ["1", 2, [1050]],
    ["60", 1, []],
  ])("is tried again when its retry-after of %s s is short", async (seconds, asked, waits) => {
    const fetch = fetchOf(refused(503, {}, { "retry-after": seconds }));
    const { kernel, pauses } = createBench([acme], { fetch, random: () => 0 });
    await rejectionOf(runCall(kernel, chatCall()));
    expect(fetch.asked).toHaveLength(asked);
    expect(pauses).toEqual(waits);
  });

  test.each([
    ["breaking off", failedBy("ECONNRESET")],
    ["a gateway that gave it up", refused(504)],
  ])("is not tried again when it is %s: it may be at work on the request", async (_, failure) => {
    const fetch = fetchOf(failure, good);
    const { kernel, pauses, ledger } = createBench([acme], { fetch });
    expect((await rejectionOf(runCall(kernel, chatCall()))).code).toMatch(/^upstream_(error|timeout)$/);
    expect([fetch.asked.length, pauses]).toEqual([1, []]);
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {} });
  });

  test.each([400, 401, 404, 429])("is not tried again after %d", async (status) => {
    const fetch = fetchOf(refused(status));
    await rejectionOf(runCall(createBench([acme], { fetch }).kernel, chatCall()));
    expect(fetch.asked).toHaveLength(1);
  });

  test("takes the next key for its second try", async () => {
    const fetch = fetchOf(refused(503), good);
    await runCall(createBench([acme], { fetch, credentials: { acme: { keys: ["a", "b"] } } }).kernel, chatCall());
    expect(fetch.asked.map(({ key }) => key)).toEqual(["a", "b"]);
  });
});

describe("a route that is silent", () => {
  const bounds = { firstByteMsMax: 1000, beginMsMax: 2500 };

  test("is cancelled at its deadline, and nobody else is asked: it may be at work on the request", async () => {
    const fetch = fetchOf(silence, good);
    const { kernel, clock, ledger } = createBench([acme, backup], { fetch, bounds });
    const done = rejectionOf(runCall(kernel, chatCall()));
    await settled();
    clock.pass(1000);
    expect((await done).code).toBe("upstream_timeout");
    expect(hostsOf(fetch)).toEqual(["acme"]);
    expect(fetch.asked[0]?.init.signal?.aborted).toBe(true);
    // The provider goes on and bills: the prompt, and what is made in a second.
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { inputToken: 9, outputToken: 100 } });
  });

  test("is left when the time of the whole call is over, however many routes there are", async () => {
    const waiting: (() => void)[] = [];
    const busy = () => new Promise<Response>((resolve) => waiting.push(() => resolve(refused(503))));
    const fetch = fetchOf(busy, busy, silence);
    const third = createPlugin({ chat }, { name: "third", models: [{ ...chatModel, priority: 300 }] });
    const { kernel, clock } = createBench([acme, backup, third], { fetch, bounds });
    const done = rejectionOf(runCall(kernel, chatCall()));
    for (const ms of [900, 900, 700]) {
      await settled();
      clock.pass(ms);
      waiting.pop()?.();
    }
    expect((await done).code).toBe("upstream_timeout");
    expect(hostsOf(fetch)).toEqual(["acme", "backup", "third"]);
    expect(fetch.asked[2]?.init.signal?.aborted).toBe(true);
  });

  test("ends a handler that never does", async () => {
    const endless = createPlugin({ chat: () => new Promise<never>(() => undefined) });
    const { kernel, clock, ledger } = createBench([endless], { bounds });
    const done = rejectionOf(runCall(kernel, chatCall()));
    await settled();
    clock.pass(2500);
    expect((await done).code).toBe("upstream_timeout");
    expect(ledger.settlement.outcome).toBe("released");
  });
});

describe("a route that goes on failing", () => {
  test("rests after five faults, is probed by one call, and comes back", async () => {
    let isDown = true;
    const fetch = fetchOf(({ url }) => (isDown && url.includes("acme") ? refused(503) : (good.clone() as Response)));
    const { kernel, clock, log } = createBench([acme, backup], { fetch });
    const states = () => describeRoutes(kernel.registry.byName("chat-1")!, clock.nowMs).map(({ state }) => state);
    const ask = async () => {
      fetch.asked.length = 0;
      await runCall(kernel, chatCall());
      return hostsOf(fetch).join(" ");
    };
    for (let call = 0; call < 5; call++) expect(await ask()).toBe("acme backup");
    expect(await ask()).toBe("backup");
    expect(states()).toEqual(["open", "closed"]);
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).toHaveLength(1);
    clock.pass(15_000);
    expect(await ask()).toBe("acme backup");
    expect(await ask()).toBe("backup");
    clock.pass(30_000);
    isDown = false;
    expect(states()).toEqual(["half_open", "closed"]);
    expect(await ask()).toBe("acme");
    expect(states()).toEqual(["closed", "closed"]);
  });
});

describe("the only route, once its circuit is open", () => {
  const bounds = { firstByteMsMax: 1000, beginMsMax: 2500 };
  const chat2 = { ...chatModel, id: "chat-2" };
  const other = createPlugin({ chat }, { name: "other", models: [chat2] });

  /** A provider that is gone: five calls wait in vain. */
  async function gone(plugins = [acme]) {
    let answer: (asked: CheckInput) => Response | Promise<Response> = silence;
    const fetch = fetchOf((asked) => (asked.url.includes("acme") ? answer(asked) : (good.clone() as Response)));
    const answerBy = (next: typeof answer) => {
      answer = next;
    };
    const bench = createBench(plugins, { fetch, bounds });
    for (let call = 0; call < 5; call++) {
      const waiting = rejectionOf(runCall(bench.kernel, chatCall()));
      await until(() => fetch.asked.length > call);
      bench.clock.pass(1000);
      expect((await waiting).code).toBe("upstream_timeout");
    }
    fetch.asked.length = 0;
    return { ...bench, fetch, answerBy };
  }

  test("fails the others at once with the time to come back, and sends nothing", async () => {
    const { kernel, fetch, ledger } = await gone();
    const refusal = await rejectionOf(runCall(kernel, chatCall()));
    expect(refusal).toMatchObject({ code: "unavailable", status: 503, retryAfterMs: 15_000 });
    expect(refusal.message).toContain("after repeated failures the gateway pauses acme");
    expect(fetch.asked).toEqual([]);
    expect(ledger.settlements.at(-1)).toMatchObject({ outcome: "released", meters: {} });
  });

  test("takes one probe at a time", async () => {
    const { kernel, fetch, clock } = await gone();
    clock.pass(15_000);
    const calls = Array.from({ length: 4 }, () => rejectionOf(runCall(kernel, chatCall())));
    await until(() => fetch.asked.length > 0);
    await settled();
    expect(fetch.asked).toHaveLength(1);
    clock.pass(1000);
    const codes = (await Promise.all(calls)).map(({ code }) => code);
    expect(codes.toSorted()).toEqual(["unavailable", "unavailable", "unavailable", "upstream_timeout"]);
    // Each probe that fails doubles the pause.
    expect((await rejectionOf(runCall(kernel, chatCall()))).retryAfterMs).toBeGreaterThan(15_000);
  });

  test("owes nothing for a call of whose answer not one byte came", async () => {
    const { kernel, ledger, clock } = await gone();
    // The four before the circuit opened may be at work; that which opened it is not.
    const outcomes = () => ledger.settlements.map(({ outcome }) => outcome);
    expect(outcomes()).toEqual(["settled", "settled", "settled", "settled", "released"]);
    clock.pass(15_000);
    const probe = rejectionOf(runCall(kernel, chatCall()));
    await settled();
    clock.pass(1000);
    expect((await probe).code).toBe("upstream_timeout");
    expect(outcomes().at(-1)).toBe("released");
  });

  test("is probed by the next call where the client of a probe leaves", async () => {
    const { kernel, fetch, clock, answerBy } = await gone();
    clock.pass(15_000);
    const call = chatCall({ stream: true }, { sink: new Sink() });
    const probe = rejectionOf(runCall(kernel, call));
    await until(() => fetch.asked.length === 1);
    call.cancel("client_disconnected");
    expect((await probe).message).toContain("disconnected");
    answerBy(() => good.clone() as Response);
    await until(async () => (await runCall(kernel, chatCall()).catch(() => undefined)) !== undefined);
    expect(fetch.asked).toHaveLength(2);
  });

  test("is probed by the next call where the plugin fails before it asks", async () => {
    let isBroken = false;
    const breaking = createPlugin({
      chat: (call: Call<ChatRequest>) => {
        if (isBroken) throw new TypeError("x is undefined");
        return chat(call);
      },
    });
    const { kernel, fetch, clock, answerBy } = await gone([breaking]);
    clock.pass(15_000);
    isBroken = true;
    expect((await rejectionOf(runCall(kernel, chatCall()))).code).toBe("internal_error");
    isBroken = false;
    answerBy(() => good.clone() as Response);
    await runCall(kernel, chatCall());
    expect(fetch.asked).toHaveLength(1);
  });

  test("owes what had begun", async () => {
    const { kernel, ledger, clock, answerBy } = await gone();
    clock.pass(15_000);
    // The head of an answer has come, and then nothing.
    answerBy(({ init }) => new Response(liveBody(init).body));
    const probe = rejectionOf(runCall(kernel, chatCall()));
    await settled();
    clock.pass(2500);
    await settled();
    expect((await probe).code).toBe("upstream_timeout");
    expect(ledger.settlements.at(-1)?.outcome).toBe("settled");
  });

  test("leaves the request to the next model of a list", async () => {
    const { kernel, fetch } = await gone([acme, other]);
    const answer = await runCall(kernel, chatCall({}, { models: ["chat-1", "chat-2"] }));
    expect(answer?.model).toBe("chat-2");
    expect(hostsOf(fetch)).toEqual(["other"]);
  });
});

describe("a route that begins and then breaks off", () => {
  const piece = { choices: [{ index: 0, delta: { content: "Hello" } }] };
  test.each([
    ["the provider", () => new UpstreamError("bad_response", "The line is dead")],
    ["the plugin", () => new TypeError("x is undefined")],
  ])("by the fault of %s rests after five times", async (_, fault) => {
    const breaking = createPlugin({
      chat: async () =>
        fromIterable(
          (async function* () {
            yield piece;
            throw fault();
          })(),
        ),
    });
    const { kernel, clock } = createBench([breaking]);
    const modelEntry = kernel.registry.byName("chat-1")!;
    const stateAfter = async () => {
      await rejectionOf(runCall(kernel, chatCall({ stream: true }, { sink: new Sink() })));
      return describeRoutes(modelEntry, clock.nowMs)[0]?.state;
    };
    const states: unknown[] = [];
    for (let call = 0; call < 5; call++) states.push(await stateAfter());
    expect(states).toEqual(["closed", "closed", "closed", "closed", "open"]);
  });
});

test("two routes of one weight share the calls", async () => {
  const equal = createPlugin({ chat }, { name: "equal" });
  const fetch = fetchOf(good);
  const draws = [0.1, 0.9, 0.9, 0.1];
  let drawn = 0;
  const { kernel } = createBench([acme, equal], { fetch, random: () => draws[drawn++ % 4] as number });
  for (let call = 0; call < 4; call++) await runCall(kernel, chatCall());
  expect(hostsOf(fetch)).toEqual(["equal", "acme", "equal", "acme"]);
});

test("a stream of a model that reasons, cut before a word of it came, owes what is usually made in that time", async () => {
  const reasoning = createPlugin(
    { chat: async ({ upstream }) => (await upstream.json("/chat", {})) as never },
    { models: [{ ...chatModel, reasoning: true, outputTokensMax: 800 }] },
  );
  for (const [ms, tokens] of [
    [5000, 500],
    [60_000, 800],
  ] as const) {
    const { kernel, clock, ledger } = createBench([reasoning], { fetch: fetchOf(silence) });
    const call = chatCall({ stream: true }, { sink: new Sink() });
    const done = rejectionOf(runCall(kernel, call));
    await settled();
    clock.nowMs += ms;
    call.cancel("draining");
    await done;
    expect(ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { outputToken: tokens } });
  }
});

describe("a route on which the calls of one account fail", () => {
  const empty = json({});
  const of = (accountId: string): Caller => ({ ...caller, accountId });
  const [anna, ben, cleo] = [of("acc_a"), of("acc_b"), of("acc_c")];

  /** The provider refuses or answers nothing to whom it is told to. */
  function bench(failing: Set<string>, failure: () => Response) {
    let asking = "";
    const fetch = fetchOf(({ url }) =>
      url.includes("acme") && failing.has(asking) ? failure() : (good.clone() as Response),
    );
    const { kernel, clock, log } = createBench([acme, backup], { fetch });
    const ask = async (by: Caller) => {
      fetch.asked.length = 0;
      asking = by.accountId;
      await runCall(kernel, chatCall({}, { caller: by })).catch(() => undefined);
      return hostsOf(fetch)[0];
    };
    const state = () => describeRoutes(kernel.registry.byName("chat-1")!, clock.nowMs)[0]?.state;
    return { ask, state, clock, log };
  }

  test.each([
    ["a 500", () => refused(500)],
    ["an answer that is empty", () => empty.clone() as Response],
  ])("by %s is closed to that account, and to nobody else", async (_, failure) => {
    const { ask, state, clock } = bench(new Set(["acc_a"]), failure);
    await ask(ben);
    for (let call = 0; call < 5; call++) expect(await ask(anna)).toBe("acme");
    expect(await ask(anna)).toBe("backup");
    expect(await ask(ben)).toBe("acme");
    expect(state()).toBe("closed");
    for (let probe = 0; probe < 4; probe++) {
      clock.pass(240_000);
      expect(await ask(anna)).toBe("acme");
      expect(await ask(cleo)).toBe("acme");
    }
  });

  test("is closed to all once it is for two, and opens by the success of any", async () => {
    const failing = new Set(["acc_a", "acc_b"]);
    const { ask, state, clock } = bench(failing, () => refused(500));
    for (const by of [anna, ben]) for (let call = 0; call < 5; call++) await ask(by);
    expect([await ask(cleo), state()]).toEqual(["backup", "open"]);
    clock.pass(15_000);
    expect([await ask(cleo), state()]).toEqual(["acme", "closed"]);
    expect(await ask(cleo)).toBe("acme");
  });

  test("is closed to all once as many accounts have failed as failures close it", async () => {
    const many = ["acc_1", "acc_2", "acc_3", "acc_4", "acc_5"];
    const { ask } = bench(new Set(many), () => refused(500));
    for (const accountId of many) expect(await ask(of(accountId))).toBe("acme");
    expect(await ask(cleo)).toBe("backup");
  });

  test("is not kept closed to others by the probes of that account alone", async () => {
    const failing = new Set(["acc_a", "acc_b"]);
    const { ask, clock } = bench(failing, () => refused(500));
    for (const by of [anna, ben]) for (let call = 0; call < 5; call++) await ask(by);
    failing.delete("acc_b");
    clock.pass(15_000);
    await ask(anna);
    clock.pass(30_000);
    await ask(anna);
    expect(await ask(cleo)).toBe("acme");
  });

  test("is shown as closed where the installation has no other account", async () => {
    const { ask, state, log } = bench(new Set(["acc_a"]), () => refused(500));
    for (let call = 0; call < 5; call++) await ask(anna);
    expect([await ask(anna), state()]).toEqual(["backup", "open"]);
    expect(log.lines.filter(({ event }) => event === "circuit_opened")).toHaveLength(1);
  });
});

import { describe, expect, test } from "bun:test";
import anthropic from "../../../plugins/anthropic/index.ts";
import type { Caller } from "../../../src/contract/index.ts";
import { PromptCaching } from "../../../src/kernel/index.ts";
import type { ChatRequest, Message, Model } from "../../../src/provider/index.ts";
import { definePlugin } from "../../../src/sdk/index.ts";
import { PromptCache, readMessagesPrompt } from "../../support/prompt-cache.ts";
import { fetchOf, json } from "./fake-fetch.ts";
import { caller, callOf, createBench, runCall } from "./support.ts";

type Json = Record<string, unknown>;

const modelId = "claude-sonnet-5";
/** Nanodollars a token, as its row has them. */
const rates = { input: 2000, write: 2500, output: 10_000 };
const outputTokens = 20;

/** Anthropic's API with a simulated prompt cache. */
function startBench(
  changes: Partial<Model> = {},
  options: ConstructorParameters<typeof PromptCaching>[0] = {},
  model = modelId,
) {
  const row = anthropic.models.find(({ id }) => id === model);
  if (row === undefined) throw new Error(`There is no ${model}`);
  const plugin = definePlugin({ ...anthropic, models: [{ ...row, ...changes }] });
  const bodies: Json[] = [];
  const caches: PromptCache[] = [];
  const answer = (body: Json) => {
    bodies.push(body);
    const [cache = new PromptCache()] = caches;
    return json({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: modelId,
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { ...cache.take(readMessagesPrompt(body)), output_tokens: outputTokens },
    });
  };
  const promptCaching = new PromptCaching(options);
  const bench = createBench([plugin], { fetch: fetchOf(({ body }) => answer(body as Json)), promptCaching });
  const cache = new PromptCache({ now: bench.clock.now, keptTokensMin: changes.cacheTokensMin ?? 1024 });
  caches.push(cache);
  let count = 0;
  const ask = async (request: Partial<ChatRequest>, changed: Parameters<typeof callOf>[2] = {}) => {
    const call = callOf("chat", { model, messages: [], max_tokens: 100, ...request } as ChatRequest, {
      id: `req_${count++}`,
      leavesCaching: true,
      openedAt: bench.clock.now(),
      startedMs: bench.clock.now(),
      ...changed,
    });
    await runCall(bench.kernel, call);
    return call.run?.cacheMarks;
  };
  return { ...bench, bodies, cache, ask };
}

const isMarked = (body: Json | undefined) => JSON.stringify(body).includes("cache_control");
const tools: ChatRequest["tools"] = [{ type: "function", function: { name: "look", description: "Looks" } }];
const user = (content: string): Message => ({ role: "user", content });
/** More than enough tokens for a cache, and a text of its own for each number. */
const long = (number: number) => `${number} ${"are the words of it ".repeat(5000)}`;
const single = (number: number) => ({ messages: [user(long(number))], tools });

describe("the gateway marks a prompt", () => {
  test("for a client that leaves it to the gateway, and says so in the request log", async () => {
    const { ask, bodies, ledger } = startBench();
    expect(await ask(single(1))).toBe("marked");
    expect(isMarked(bodies[0])).toBe(true);
    expect(JSON.parse(ledger.settlement.detail ?? "{}")).toMatchObject({ cache_marks: "marked" });
  });

  test("of a session, and none of a question that stands alone", async () => {
    const { ask, bodies } = startBench();
    const question = { messages: [user(long(1))] };
    expect(await ask(question)).toBeUndefined();
    expect(await ask(question, { session: "s-1" })).toBe("marked");
    expect(bodies.map(isMarked)).toEqual([false, true]);
  });

  const withoutMarks: Caller = { ...caller, cacheMarks: "off" };
  test.each<[string, Parameters<typeof startBench>, Parameters<typeof callOf>[2]]>([
    ["gateway", [{}, { isOff: true }], {}],
    ["row of the model", [{ cacheMarks: "off" }], {}],
    ["API key", [], { caller: withoutMarks }],
    ["request", [], { forbidsMarks: true }],
  ])("unless the %s has them off", async (_, bench, changes) => {
    const { ask, bodies, ledger } = startBench(...bench);
    expect(await ask(single(1), changes)).toBe("off");
    expect(isMarked(bodies[0])).toBe(false);
    expect(ledger.settlement.detail).not.toContain("cache_marks");
  });

  test("where a client has marked it, leaves it as it is, whatever is off", async () => {
    const { ask, bodies } = startBench({}, { isOff: true });
    const marked = { type: "text" as const, text: long(1), cache_control: { type: "ephemeral" } };
    expect(await ask({ messages: [{ role: "user", content: [marked] }], tools })).toBe("client");
    expect(bodies[0]?.messages).toEqual([
      { role: "user", content: [{ type: "text", text: long(1), cache_control: { type: "ephemeral" } }] },
    ]);
  });

  test("only where its estimate reaches what the provider caches", async () => {
    const { ask, bodies, ledger } = startBench({ cacheTokensMin: 2000 });
    const askFor = (bytes: number) => ask({ messages: [user("x".repeat(bytes))], tools });
    expect([await askFor(3 * 1800), await askFor(3 * 2200)]).toEqual(["short", "marked"]);
    expect(bodies.map(isMarked)).toEqual([false, true]);
    expect(ledger.settlements.map(({ detail }) => JSON.parse(detail ?? "{}").cache_marks)).toEqual(["short", "marked"]);
  });

  test("of any length where the row does not say what is cached", async () => {
    const { ask, kernel } = startBench({}, {}, "claude-opus-5-5");
    expect(kernel.registry.byName("claude-opus-5-5")?.model.cacheTokensMin).toBeUndefined();
    expect(await ask({ messages: [user("Hi")], tools })).toBe("marked");
  });
});

test("a marked prompt is held as if the provider wrote all of it to its cache", async () => {
  const { ask, ledger, cache } = startBench();
  expect(await ask(single(1))).toBe("marked");
  const [report] = cache.reports;
  expect(report?.cache_creation_input_tokens).toBeGreaterThan(20_000);
  const heldTokens = ((ledger.claims[0]?.holdNanodollars ?? 0) - 100 * rates.output) / rates.write;
  expect(heldTokens).toBe(Math.trunc(heldTokens));
  // A token has at least one byte.
  expect(heldTokens).toBeGreaterThan(long(1).length);
  expect(ledger.settlement.costNanodollars).toBe(
    (report?.input_tokens ?? 0) * rates.input +
      (report?.cache_creation_input_tokens ?? 0) * rates.write +
      outputTokens * rates.output,
  );
});

const dayMs = 86_400_000;

describe("marks that lose money", () => {
  test("stop for a day after twenty single calls, for that key and model alone", async () => {
    const { ask, clock, log, bodies } = startBench();
    const states: unknown[] = [];
    for (let call = 0; call < 25; call++) states.push(await ask(single(call)));
    expect(states).toEqual([...Array(20).fill("marked"), ...Array(5).fill("losing")]);
    expect(bodies.map(isMarked)).toEqual([...Array(20).fill(true), ...Array(5).fill(false)]);
    const stops = log.lines.filter(({ event }) => event === "cache_marks_stopped");
    expect(stops).toEqual([
      {
        level: "info",
        event: "cache_marks_stopped",
        fields: { account: "account-1", key: "key-1", model: modelId, lostUsd: expect.any(Number) },
      },
    ]);
    expect(stops[0]?.fields?.lostUsd).toBeGreaterThan(0.01);
    expect(await ask(single(30), { caller: { ...caller, keyId: "key-2" } })).toBe("marked");
    expect(await ask(single(31), { caller: { ...caller, accountId: "account-2" } })).toBe("marked");
    clock.pass(dayMs - 1);
    expect(await ask(single(32))).toBe("losing");
    clock.pass(1);
    expect(await ask(single(33))).toBe("marked");
  });

  test("go on while twenty calls lose a cent at most", async () => {
    const { ask, cache } = startBench({ cacheTokensMin: 512 });
    const cheap = (call: number) => ({ messages: [user(`${call} ${"word ".repeat(720)}`)], tools });
    for (let call = 0; call < 40; call++) expect(await ask(cheap(call))).toBe("marked");
    // Each of them costs 500 nanodollars more.
    for (const { cache_creation_input_tokens: written } of cache.reports) {
      expect(written).toBeGreaterThan(800);
      expect(written).toBeLessThanOrEqual(1000);
    }
  });

  test("are judged by what was read as well: sessions that read more than they write go on", async () => {
    const { ask, clock } = startBench();
    for (let session = 0; session < 8; session++) {
      const messages = [user(long(session))];
      for (let turn = 0; turn < 4; turn++) {
        expect(await ask({ messages: [...messages], tools })).toBe("marked");
        messages.push({ role: "assistant", content: "Hi" }, user(`And ${turn}?`));
        clock.pass(60_000);
      }
    }
  });

  test("stop where each turn comes after the provider has forgotten the last", async () => {
    const { ask, clock } = startBench();
    const messages = [user(long(1))];
    const states = new Set<unknown>();
    for (let turn = 0; turn < 21; turn++) {
      states.add(await ask({ messages: [...messages], tools }));
      messages.push({ role: "assistant", content: "Hi" }, user(`And ${turn}?`));
      clock.pass(301_000);
    }
    expect([...states]).toEqual(["marked", "losing"]);
  });

  test("are forgotten first for the key that called longest ago, so that memory is bounded", async () => {
    const { kernel, ask, clock } = startBench();
    for (let call = 0; call < 20; call++) await ask(single(call));
    expect(await ask(single(20))).toBe("losing");
    const priced = kernel.registry.byName(modelId)?.compiledPrice;
    if (priced === undefined) throw new Error("It has no price");
    for (let key = 0; key < 10_000; key++) {
      const other = {
        caller: { ...caller, keyId: `key-${key + 2}` },
        model: modelId,
        call: { request: { caller } },
        bounds: {},
      };
      kernel.promptCaching.count(other as never, priced, { cacheWriteToken: 1000 }, clock.now());
    }
    expect(await ask(single(21))).toBe("marked");
  });
});

test("what marks saved is counted in whole nanodollars, with the rates of the price that was charged", () => {
  const { kernel } = startBench();
  const price = kernel.registry.byName(modelId)?.compiledPrice;
  if (price === undefined) throw new Error("It has no price");
  const run = { caller, model: modelId, call: { request: { caller } }, bounds: {} } as never;
  // A write costs 500 more than a token of input; a read 1,800 less. A cent is 10,000,000.
  const count = (cacheWriteToken: number, cacheReadToken = 0) =>
    kernel.promptCaching.count(run, price, { inputToken: 7, cacheWriteToken, cacheReadToken, outputToken: 5 }, 0);
  for (let call = 0; call < 19; call++) expect(count(1000)).toBeUndefined();
  // 19 * 500,000 + 500,000 is one cent, which is not more than one.
  expect(count(1000)).toBeUndefined();
  // The first of the twenty leaves them: 19 * 500,000 + 500,500.
  expect(count(1001)).toBe(10_000_500);
});

describe("the name of a session towards a provider", () => {
  const secret = new Uint8Array(32).fill(7);
  const keyOf = (session: string | undefined, accountId = "account-1", key = secret) =>
    new PromptCaching({ secret: key }).cacheKeyOf({ caller: { ...caller, accountId }, session });

  test("is the same for the same account and session, and another for any other", () => {
    const key = keyOf("s-1");
    expect(key).toMatch(/^[\w-]{32}$/);
    expect(keyOf("s-1")).toBe(key as string);
    const others = [keyOf("s-2"), keyOf("s-1", "account-2"), keyOf("s-1", "account-1", new Uint8Array(32))];
    expect(new Set([key, ...others]).size).toBe(4);
  });

  test("does not exist without a session, or without a secret", () => {
    expect(keyOf(undefined)).toBeUndefined();
    expect(new PromptCaching().cacheKeyOf({ caller, session: "s-1" })).toBeUndefined();
  });
});

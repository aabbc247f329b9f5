import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { creditWallet, verifyLedger } from "../../../src/ledger/index.ts";
import {
  readFigures,
  readLosses,
  readRequest,
  readTotals,
  sumFigures,
  UsageRollup,
} from "../../../src/reports/index.ts";
import { nextTurn, parts, toBody } from "../../support/cache-provider.ts";
import { type CacheBench, claude, gpt, type Json, startCacheBench } from "./bench.ts";

let bench: CacheBench;
beforeAll(async () => {
  bench = await startCacheBench();
});
afterAll(() => bench?.stop());
beforeEach(() => {
  bench.provider.cache.forget();
  for (const name of Object.keys(bench.provider.words)) delete bench.provider.words[name];
});

/** Nanodollars a token of the model, as its row has them. */
const rates = { input: 2000, cacheRead: 200, cacheWrite: 2500 };

const usageOf = (answer: Json) =>
  answer.usage as { input_tokens: number; cache_read_input_tokens: number; cache_creation_input_tokens: number };

describe("the money", () => {
  test("saved is that of the tokens read, at the rate of input less that of the cache", async () => {
    await bench.ask("messages", toBody("messages", claude, parts()), "saved");
    const row = await bench.ask("messages", toBody("messages", claude, nextTurn(parts())), "saved");
    const { cache_read_input_tokens: read } = usageOf(bench.lastAnswer);
    expect(read).toBeGreaterThan(1000);
    expect(row).toMatchObject({
      cache_miss: null,
      cache_missed_tokens: null,
      cache_lost_nanodollars: null,
      cache_saved_nanodollars: read * (rates.input - rates.cacheRead),
    });
  });

  test("lost is that of the missed tokens, at the rate that was charged less that of the cache", async () => {
    await bench.ask("messages", toBody("messages", claude, parts()), "lost");
    const { cache_creation_input_tokens: before, input_tokens: rest } = usageOf(bench.lastAnswer);
    bench.provider.cache.forget();
    const row = await bench.ask("messages", toBody("messages", claude, nextTurn(parts())), "lost");
    const missed = before + rest;
    expect(row).toMatchObject({
      cache_miss: "provider",
      cache_missed_tokens: missed,
      cache_lost_nanodollars: missed * (rates.cacheWrite - rates.cacheRead),
      cache_saved_nanodollars: null,
    });
  });

  test("is saved without a session too, where nothing else is compared or kept", async () => {
    // Without a session both keys of the provider take turns.
    for (const _ of ["a", "b"]) await bench.ask("messages", toBody("messages", claude, parts()), "");
    const row = await bench.ask("messages", toBody("messages", claude, nextTurn(parts())), "");
    expect([row.cache_miss, row.cache_saved_nanodollars]).toEqual([null, expect.any(Number)]);
  });

  test("is in the sums, by the reason, and the ledger is right", async () => {
    const { store } = bench.gateway;
    const now = () => Date.now() + 24 * 3_600_000;
    const rollup = new UsageRollup({ store, retentionDays: 30, now, log: { warn: () => undefined } });
    await rollup.flush();
    const day = Math.floor(Date.now() / 86_400_000) * 24;
    const rows = await store.db
      .selectFrom("calls")
      .select(["account_id", "cache_miss", "cache_lost_nanodollars", "cache_saved_nanodollars"])
      .execute();
    const accountId = rows[0]?.account_id as string;
    const sum = (values: (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
    const lost = sum(rows.map((row) => row.cache_lost_nanodollars));
    expect(lost).toBeGreaterThan(0);
    for (const filter of [{ accountId }, {}]) {
      const query = { filter, hours: 24, starts: [day - 24, day, day + 24] } as const;
      const totals = readFigures(sumFigures((await readTotals(store, query)).values()));
      expect(totals.cache_lost_nanodollars).toBe(lost);
      expect(totals.cache_saved_nanodollars).toBe(sum(rows.map((row) => row.cache_saved_nanodollars)));
      const losses = await readLosses(store, query);
      expect(losses.map(({ kind }) => kind)).toContain("provider");
      expect(sum(losses.map(({ lostNanodollars }) => lostNanodollars))).toBe(lost);
      expect(sum(losses.map(({ calls }) => calls))).toBe(rows.filter(({ cache_miss }) => cache_miss !== null).length);
    }
    expect((await verifyLedger(store)).differences).toEqual([]);
  });
});

describe("a session", () => {
  test("with subagents side by side compares each with itself", async () => {
    const agents = ["main", "first", "second"].map((name) => ({
      ...parts(),
      turns: [`You are ${name}. ${`Task of ${name} `.repeat(600)}`],
    }));
    for (const agent of agents) await bench.ask("messages", toBody("messages", claude, agent), "family");
    for (let turn = 0; turn < 3; turn++) {
      for (const [place, agent] of agents.entries()) {
        const next = nextTurn(agent);
        agents[place] = next;
        const row = await bench.ask("messages", toBody("messages", claude, next), "family");
        expect([turn, place, row.cache_miss]).toEqual([turn, place, null]);
      }
    }
  });

  test("whose turns nobody marks for a provider that needs marks is not marked", async () => {
    const unmarked = { cache_control: undefined };
    await bench.ask("messages", toBody("messages", claude, parts(), unmarked), "unmarked");
    const row = await bench.ask("messages", toBody("messages", claude, nextTurn(parts()), unmarked), "unmarked");
    expect(row).toMatchObject({ cache_miss: "not_marked", cache_miss_place: null });
    expect(row.cache_lost_nanodollars).toBe((row.cache_missed_tokens as number) * (rates.input - rates.cacheRead));
  });

  test("whose mark moves on with each turn, and whose texts become lists, has not changed", async () => {
    const mark = (text: string) => [{ type: "text", text, cache_control: { type: "ephemeral" } }];
    const withMarkAtEnd = (body: Json) => {
      const messages = (body.messages as { content: string }[]).map((message, index, all) =>
        index === all.length - 1 ? { ...message, content: mark(message.content) } : message,
      );
      return { ...body, cache_control: undefined, messages };
    };
    await bench.ask("messages", withMarkAtEnd(toBody("messages", claude, parts())), "moving");
    bench.provider.cache.forget();
    const row = await bench.ask("messages", withMarkAtEnd(toBody("messages", claude, nextTurn(parts()))), "moving");
    expect(row.cache_miss).toBe("provider");
  });

  test("of another account is another session", async () => {
    const { accounts } = bench.gateway.app;
    await bench.ask("chat", toBody("chat", gpt, parts()), "same-name");
    const { id: accountId } = await accounts.create({ email: "other@example.org" });
    const { key } = await accounts.createKey({ accountId, name: "test" });
    const own = bench.gateway.key;
    bench.gateway.key = key;
    const free = toBody("chat", gpt, nextTurn(parts()));
    await creditWallet(bench.gateway.store, { accountId, nanodollars: 1_000_000_000, note: "test" });
    bench.provider.cache.forget();
    const row = await bench.ask("chat", free, "same-name");
    bench.gateway.key = own;
    expect(row.cache_miss).toBe("first_seen");
  });
});

describe("the provider's own word", () => {
  test("of Anthropic counts, with its tokens, and stands in the log", async () => {
    const more = { diagnostics: { previous_message_id: "msg_1" } };
    await bench.ask("messages", toBody("messages", claude, parts(), more), "word");
    bench.provider.cache.forget();
    const diagnostics = { cache_miss_reason: { type: "system_changed", cache_missed_input_tokens: 1234 } };
    bench.provider.words.diagnostics = diagnostics;
    const row = await bench.ask("messages", toBody("messages", claude, nextTurn(parts()), more), "word");
    expect(bench.provider.seen.at(-1)?.diagnostics).toEqual(more.diagnostics);
    expect(bench.lastAnswer.diagnostics).toEqual(diagnostics);
    expect(row).toMatchObject({ cache_miss: "system", cache_miss_place: null, cache_missed_tokens: 1234 });
    expect(row.cache_lost_nanodollars).toBe(1234 * (rates.cacheWrite - rates.cacheRead));
    const detail = JSON.parse((await readRequest(bench.gateway.store, row.id, undefined))?.detail ?? "{}");
    expect(detail.cache).toBe("system_changed");
  });

  test("of OpenAI is asked for, comes back, and counts", async () => {
    const more = { prompt_cache_options: { comparison_response_id: "resp_1" } };
    await bench.ask("responses", toBody("responses", gpt, parts()), "word-2");
    bench.provider.cache.forget();
    const answer = { type: "cache_miss", reason: "text_format_changed", cache_missed_tokens: 2000 };
    bench.provider.words.prompt_cache_diagnostics = answer;
    const row = await bench.ask("responses", toBody("responses", gpt, nextTurn(parts()), more), "word-2");
    expect(bench.provider.seen.at(-1)?.prompt_cache_options).toEqual(more.prompt_cache_options);
    expect(bench.lastAnswer.prompt_cache_diagnostics).toEqual(answer);
    expect(row).toMatchObject({ cache_miss: "settings", cache_missed_tokens: 2000 });
  });

  test("that it cannot tell leaves what the gateway knows", async () => {
    await bench.ask("messages", toBody("messages", claude, parts()), "word-3");
    bench.provider.words.diagnostics = { cache_miss_reason: { type: "unavailable" } };
    const next = nextTurn(parts());
    const row = await bench.ask("messages", toBody("messages", claude, { ...next, tools: ["Other"] }), "word-3");
    expect(row).toMatchObject({ cache_miss: "tools", cache_miss_place: "tools[0]" });
  });
});

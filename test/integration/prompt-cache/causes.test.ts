import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type CachedProtocol,
  cacheMinutes,
  nextTurn,
  type Parts,
  parts,
  toBody,
} from "../../support/cache-provider.ts";
import { type CacheBench, type CacheRow, claude, gpt, type Json, startCacheBench } from "./bench.ts";

let bench: CacheBench;
beforeAll(async () => {
  bench = await startCacheBench();
});
afterAll(() => bench?.stop());

const clients: [CachedProtocol, string][] = [
  ["messages", claude],
  ["responses", gpt],
  ["chat", gpt],
  ["chat", claude],
  ["responses", claude],
];

const withSecond = (list: string[], value = "Something else ".repeat(100)) =>
  list.map((one, index) => (index === 1 ? value : one));

const otherModels: Readonly<Record<string, string>> = { [gpt]: "gpt-5.4", [claude]: "claude-sonnet-5-5" };

let sessions = 0;
/** Two turns of a session of its own, the second changed. */
async function secondTurn(
  [protocol, model]: [CachedProtocol, string],
  change: (next: Parts) => { next?: Parts; more?: Json; model?: string; before?: () => void },
): Promise<CacheRow> {
  const session = `session-${sessions++}`;
  bench.provider.cache.forget();
  const first = await bench.ask(protocol, toBody(protocol, model, parts()), session);
  expect(first).toMatchObject({
    cache_miss: "first_seen",
    cache_lost_nanodollars: null,
    cache_saved_nanodollars: null,
  });
  const next = nextTurn(parts());
  const changed = change(next);
  changed.before?.();
  const body = toBody(protocol, changed.model ?? model, changed.next ?? next, changed.more);
  return await bench.ask(protocol, body, session);
}

const places: Readonly<Record<CachedProtocol, { system: string; messages: string }>> = {
  messages: { system: "system[1]", messages: "messages[1]" },
  chat: { system: "messages[1]", messages: "messages[3]" },
  responses: { system: "instructions", messages: "input[1]" },
};

describe.each(clients)("a session of %s with %s", (...client) => {
  const [protocol, model] = client;
  beforeAll(() => bench.changeKey());

  test("that goes on reads what it promised, and the row says what that saved", async () => {
    const row = await secondTurn(client, () => ({}));
    expect(row.cache_miss).toBeNull();
    expect(row.cache_saved_nanodollars).toBeGreaterThan(0);
  });

  test("with another tool names it", async () => {
    const row = await secondTurn(client, (next) => ({ next: { ...next, tools: withSecond(next.tools) } }));
    expect(row).toMatchObject({ cache_miss: "tools", cache_miss_place: "tools[1]" });
    expect(row.cache_lost_nanodollars).toBeGreaterThan(0);
  });

  test("with one tool more names the place of the new one", async () => {
    const row = await secondTurn(client, (next) => ({ next: { ...next, tools: [...next.tools, "More"] } }));
    expect(row).toMatchObject({ cache_miss: "tools", cache_miss_place: "tools[4]" });
  });

  test("with one tool less names where it stood", async () => {
    const row = await secondTurn(client, (next) => ({ next: { ...next, tools: next.tools.slice(0, 3) } }));
    expect(row).toMatchObject({ cache_miss: "tools", cache_miss_place: "tools[3]" });
  });

  test("with another system prompt names its part", async () => {
    const row = await secondTurn(client, (next) => ({ next: { ...next, system: withSecond(next.system) } }));
    expect(row).toMatchObject({ cache_miss: "system", cache_miss_place: places[protocol].system });
  });

  test("with another message names it", async () => {
    const row = await secondTurn(client, (next) => ({ next: { ...next, turns: withSecond(next.turns) } }));
    expect(row).toMatchObject({ cache_miss: "messages", cache_miss_place: places[protocol].messages });
  });

  test("with another setting names that", async () => {
    const choice = protocol === "messages" ? { type: "any" } : "required";
    const row = await secondTurn(client, () => ({ more: { tool_choice: choice } }));
    expect(row).toMatchObject({ cache_miss: "settings", cache_miss_place: "tool_choice" });
  });

  test("that pauses for longer than the cache lives has expired", async () => {
    const row = await secondTurn(client, () => ({ before: () => bench.pass(model === gpt ? 31 : cacheMinutes + 1) }));
    expect(row).toMatchObject({ cache_miss: "expired", cache_miss_place: null });
  });

  test("whose provider forgets names the provider", async () => {
    const row = await secondTurn(client, () => ({ before: () => bench.provider.cache.forget() }));
    expect(row).toMatchObject({ cache_miss: "provider", cache_miss_place: null });
  });

  test("that goes on with another model names the model", async () => {
    const row = await secondTurn(client, () => ({ model: otherModels[model] ?? "" }));
    expect(row).toMatchObject({ cache_miss: "model", cache_miss_place: null });
  });

  test("that fails over to another key names the route", async () => {
    const row = await secondTurn(client, () => ({
      before: () => {
        bench.provider.refusedKey = bench.provider.lastKey;
      },
    }));
    bench.provider.refusedKey = undefined;
    expect(row).toMatchObject({ cache_miss: "other_route", cache_miss_place: null });
  });

  test("whose prompts are short is below the minimum", async () => {
    const session = `session-${sessions++}`;
    const short = { tools: [], system: ["Be brief"], turns: ["a", "b", "c"].map((word) => `${word} `.repeat(500)) };
    await bench.ask(protocol, toBody(protocol, model, short, { tools: undefined }), session);
    const next = { ...short, turns: [...short.turns, "Yes", "Go on"] };
    const row = await bench.ask(protocol, toBody(protocol, model, next, { tools: undefined }), session);
    expect(row).toMatchObject({ cache_miss: "below_minimum", cache_lost_nanodollars: null });
  });
});

import { describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { until } from "../../support/until.ts";
import { call, engines, enter, manifestOf, type Node, open, provider, start, startNode, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";
const other = "provider-key-second-0002";

interface HealthJson {
  data: {
    provider: string;
    state: string;
    reason: string | null;
    since: string | null;
    last_error: { kind: string; status: number; message: string; model: string } | null;
    last_test: { ok: boolean; model: string | null; error: string | null; note: string | null } | null;
    strip: { attempts: number; errors: number }[];
    keys: { id: string; state: string }[];
  }[];
  count: Record<string, number>;
}

/** The health of the provider acme, as administrators see it. */
async function readHealth(node: Node, cookie: string) {
  const response = await fetch(`${node.origin}/dashboard/api/admin/health`, { headers: { cookie } });
  const { data, count } = (await response.json()) as HealthJson;
  const acme = data.find(({ provider: name }) => name === "acme");
  if (acme === undefined) throw new Error(`acme is not there: ${JSON.stringify(data)}`);
  return { ...acme, count };
}

const readiness = async (node: Node) =>
  (await (await fetch(`${node.origin}/readyz`)).json()) as { status: string; degraded: string[] };

describe.each(Object.keys(engines) as (keyof typeof engines)[])("the health of a provider over %s", (engine) => {
  test("follows from what happened to its calls, and outlives a restart", async () => {
    const openNext = await open(engine);
    const store = await openNext();
    const upstream = provider(key);
    const node = await startNode(store, { SANDBOX: "off", GROQ_API_KEY: "k" });
    const { cookie, key: apiKey } = await enter(store);
    const { send } = await useNode(node, cookie);
    await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    await send("POST", "/providers/acme/keys", { key });
    expect(await readHealth(node, cookie)).toMatchObject({ state: "unknown", last_error: null, last_test: null });
    for (let count = 0; count < 4; count++) expect((await call(node.origin, apiKey)).status).toBe(200);
    expect(await readHealth(node, cookie)).toMatchObject({ state: "working", reason: null, since: null });
    expect(await readiness(node)).toMatchObject({ status: "ready", degraded: [] });

    upstream.answer.status = 503;
    expect((await call(node.origin, apiKey)).status).toBe(500);
    // The only route is tried twice.
    const degraded = await readHealth(node, cookie);
    expect(degraded).toMatchObject({ state: "degraded", reason: "2 of the latest 6 attempts failed" });
    expect(degraded.last_error).toMatchObject({
      kind: "overloaded",
      status: 503,
      message: "broken",
      model: "acme/chat",
    });
    for (let count = 0; count < 4; count++) await call(node.origin, apiKey);
    const failing = await readHealth(node, cookie);
    expect(failing).toMatchObject({ state: "failing", count: { failing: 1 } });
    expect(failing.strip.at(-1)?.errors).toBeGreaterThan(4);
    expect(Date.now() - Date.parse(failing.since ?? "")).toBeLessThan(600_000);
    expect(await readiness(node)).toMatchObject({ status: "degraded", degraded: ["The provider acme is failing"] });
    await node.close();

    const again = await start(store, { SANDBOX: "off", GROQ_API_KEY: "k" }, node.home);
    expect(await readHealth(again, cookie)).toMatchObject({ state: "failing", last_error: { message: "broken" } });
    upstream.answer.status = 200;
    expect(await (await (await useNode(again, cookie)).send("POST", "/providers/acme/test", {})).json()).toMatchObject({
      ok: true,
    });
    expect(await readHealth(again, cookie)).toMatchObject({
      state: "working",
      last_test: { ok: true, model: "acme/chat" },
    });
  });

  test("is refused by a test or a call with a key that the provider does not take, until it has another", async () => {
    const store = await (await open(engine))();
    const upstream = provider(other);
    const node = await start(store, { SANDBOX: "off", GROQ_API_KEY: "k" });
    const { cookie, key: apiKey } = await enter(store);
    const { send, find } = await useNode(node, cookie);
    await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    const { id } = (await (await send("POST", "/providers/acme/keys", { key })).json()) as { id: string };
    const tested = (await (await send("POST", "/providers/acme/test", {})).json()) as { ok: boolean; error: string };
    expect(tested.ok).toBe(false);
    expect(tested.error).toMatch(/rejected the key ending in 0001 \(401\): Incorrect API key: \[hidden\]/);
    const refused = await readHealth(node, cookie);
    expect(refused).toMatchObject({ state: "refused", last_test: { ok: false }, keys: [{ id, state: "refused" }] });
    expect(refused.reason).toContain("refused the key");
    expect((await readiness(node)).degraded).toEqual(["The provider acme refuses the gateway's key"]);
    expect(await find("acme")).toMatchObject({
      health: { state: "refused" },
      keys: [{ health: { state: "refused" } }],
    });

    await send("POST", `/providers/acme/keys/${id}`, { key: other });
    // What happened to the key before says nothing about this one.
    expect((await readHealth(node, cookie)).keys).toMatchObject([{ id, state: "unknown" }]);
    expect((await call(node.origin, apiKey)).status).toBe(200);
    expect(await readHealth(node, cookie)).toMatchObject({ state: "working", keys: [{ state: "working" }] });

    upstream.known.clear();
    await call(node.origin, apiKey);
    expect(await readHealth(node, cookie)).toMatchObject({ state: "refused" });
    const { last_error } = await readHealth(node, cookie);
    expect(last_error).toMatchObject({ kind: "auth", status: 401, message: "Incorrect API key: [hidden]" });
  });
});

test("members see the state of providers and the models that are down, and no errors", async () => {
  const store = await (await open("sqlite"))();
  const upstream = provider();
  const node = await start(store, { SANDBOX: "off", GROQ_API_KEY: "k" });
  const { cookie } = await enter(store);
  const { send } = await useNode(node, cookie);
  await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
  await send("POST", "/providers/acme/keys", { key });
  await send("POST", "/providers/acme/test", {});
  const member = await enter(store, "member");
  const get = (path: string) => fetch(`${node.origin}/dashboard/api/${path}`, { headers: { cookie: member.cookie } });
  expect((await get("admin/health")).status).toBe(403);
  const text = await (await get("status")).text();
  expect(JSON.parse(text).data[0]).toMatchObject({ provider: "acme", state: "failing", models: ["acme/chat"] });
  expect(text).not.toContain("Incorrect");
  expect(text).not.toContain("key");
});

test("two gateways see the attempts of both", async () => {
  const openNext = await open("postgres");
  const [one, two] = [await openNext(), await openNext()];
  const upstream = provider(key);
  const env = { SANDBOX: "off", GROQ_API_KEY: "k", SECRETS_KEY: "a-secrets-key-of-thirty-two-characters" };
  const [here, there] = [await start(one, env), await start(two, env)];
  const admin = await enter(one);
  const { send } = await useNode(here, admin.cookie);
  await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
  await send("POST", "/providers/acme/keys", { key });
  upstream.answer.status = 500;
  // A busy machine makes the gateway refuse a call before its provider is asked.
  await until(async () => (await call(here.origin, admin.key)).status === 500);
  await until(async () => (await readHealth(there, admin.cookie).catch(() => undefined))?.state === "failing");
});

/** A provider that has some models, lists them or not, and knows a key. */
function modelsProvider(models: readonly string[], { lists = true } = {}) {
  const asked: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.headers.get("authorization") !== `Bearer ${key}`) {
        return Response.json({ error: { message: "No such key", code: "invalid_api_key" } }, { status: 401 });
      }
      if (pathname.endsWith("/models")) {
        asked.push("list");
        if (!lists) return Response.json({ detail: "Not Found" }, { status: 404 });
        return Response.json({ data: models.map((id) => ({ id })) });
      }
      const { model } = (await request.json()) as { model: string };
      asked.push(model);
      if (!models.includes(model)) {
        return Response.json(
          { error: { message: `model: ${model}`, type: "not_found_error", code: "model_not_found" } },
          { status: 404 },
        );
      }
      const message = { role: "assistant", content: "OK" };
      return Response.json({
        id: "1",
        object: "chat.completion",
        created: 1,
        model,
        choices: [{ index: 0, finish_reason: "stop", message }],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      });
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}/v1`, asked, stop: () => server.stop(true) };
}

describe("a test of the connection", () => {
  const row = (id: string, usd: string, more = {}) => ({
    id: `acme/${id}`,
    upstreamId: id,
    premium: true,
    ...more,
    price: { inputToken: { usd, per: 1_000_000 }, outputToken: { usd, per: 1_000_000 } },
  });
  const rows = [
    row("dead", "0.01", { retiredOn: "2024-01-01" }),
    row("dear", "9"),
    row("cheap", "1"),
    row("middle", "5"),
    row("most", "20"),
  ];

  test.each([
    [
      "the cheapest model that is not retired",
      ["cheap", "dear"],
      {},
      ["cheap"],
      { ok: true, model: "acme/cheap", note: null },
    ],
    [
      "the next one where the provider does not have it",
      ["dear"],
      {},
      ["cheap", "middle", "dear"],
      { ok: true, model: "acme/dear" },
    ],
    [
      "the list of models where three are gone",
      ["new"],
      {},
      ["cheap", "middle", "dear", "list"],
      { ok: true, model: null },
    ],
    [
      "nothing else where the models cannot be listed",
      [],
      { lists: false },
      ["cheap", "middle", "dear", "list"],
      { ok: true, model: null },
    ],
  ])("asks for %s, with a good key", async (_, models, options, ...[asked, expected]) => {
    const store = await (await open("sqlite"))();
    const upstream = modelsProvider(models, options);
    try {
      const node = await start(store);
      const { cookie } = await enter(store);
      const { send, find } = await useNode(node, cookie);
      const manifest = { baseUrl: upstream.baseUrl, dialect: "openai", models: rows };
      // Before it is saved: nothing is stored.
      const tested = (await (await send("POST", "/provider_tests", { name: "acme", manifest, key })).json()) as {
        note: string;
      };
      expect(tested).toMatchObject({ ...expected, error: null });
      expect(upstream.asked).toEqual(asked);
      if (asked.length > 1) expect(tested.note).toContain("does not have acme/cheap");
      expect(await find("acme")).toBeUndefined();
      const wrong = await (await send("POST", "/provider_tests", { name: "acme", manifest, key: other })).json();
      expect(wrong).toMatchObject({
        ok: false,
        kind: "auth",
        error: expect.stringContaining("ending in 0002 (401, invalid_api_key): No such key"),
      });
      expect(await store.db.selectFrom("provider_keys").selectAll().execute()).toEqual([]);
      expect(node.lines.join("\n")).not.toContain(other);
    } finally {
      await upstream.stop();
    }
  });

  test("of a provider that is there, with a key that is not saved", async () => {
    const store = await (await open("sqlite"))();
    const upstream = provider(key);
    const node = await start(store, { GROQ_BASE_URL: upstream.baseUrl });
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    expect(await (await send("POST", "/provider_tests", { name: "groq", key })).json()).toMatchObject({ ok: true });
    expect(await (await send("POST", "/provider_tests", { name: "groq", key: other })).json()).toMatchObject({
      ok: false,
    });
    expect((await send("POST", "/provider_tests", { name: "nobody", key })).status).toBe(404);
  });

  test("leaves an audit entry, without which nothing is sent that costs money", async () => {
    const store = await (await open("sqlite"))();
    const upstream = provider(key);
    const node = await start(store, { GROQ_BASE_URL: upstream.baseUrl, GROQ_API_KEY: key });
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    const { host } = new URL(upstream.baseUrl);
    expect((await send("POST", "/providers/groq/test", {})).status).toBe(200);
    expect((await send("POST", "/provider_tests", { name: "groq", key })).status).toBe(200);
    const entries = await store.db.selectFrom("audit").selectAll().where("action", "=", "provider.test").execute();
    expect(entries.map(({ subject, detail }) => [subject, JSON.parse(detail)])).toEqual(
      expect.arrayContaining([
        ["groq", {}],
        ["groq", { host }],
      ]),
    );
    const asked = upstream.asked.length;
    await sql`create trigger no_audit before insert on audit begin select raise(abort, 'no audit'); end`.execute(
      store.db,
    );
    const refused = [
      await send("POST", "/providers/groq/test", {}),
      await send("POST", "/provider_tests", { name: "groq", key }),
    ];
    expect(refused.map(({ status }) => status >= 500)).toEqual([true, true]);
    expect(upstream.asked.length).toBe(asked);
  });
});

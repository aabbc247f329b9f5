import { describe, expect, test } from "bun:test";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { startInProcess } from "../../support/in-process.ts";
import { startScriptedProviders } from "../../support/scripted-providers.ts";
import { until } from "../../support/until.ts";
import { call, engines, enter, manifestOf, open, provider, start, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";
const secretsKey = "a-secrets-key-of-thirty-two-characters";

/** A gateway with the providers `acme` and `spare`, each with a model of its own. */
async function startTwo(engine: keyof typeof engines) {
  const openNext = await open(engine);
  const store = await openNext();
  const node = await start(store, { SECRETS_KEY: secretsKey });
  const admin = await enter(store);
  const page = await useNode(node, admin.cookie);
  const upstreams = { acme: provider(key), spare: provider(key) };
  for (const [name, { baseUrl }] of Object.entries(upstreams)) {
    await page.send("POST", "/providers", { name, manifest: manifestOf(baseUrl, `${name}/chat`), key });
  }
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> => {
    const response = await page.send(method, path, body);
    return { status: response.status, json: await response.json() };
  };
  return { openNext, store, node, admin, page, upstreams, ask };
}

const seconds = (later: number) => Math.floor(Date.now() / 1000) + later;
const servedBy = async (origin: string, apiKey: string) => {
  const response = await call(origin, apiKey, "acme/chat");
  const { model } = (await response.json()) as { model?: string };
  return [response.status, model, response.headers.get("x-modelgate-model")];
};

describe.each(Object.keys(engines) as (keyof typeof engines)[])("re-routes over %s", (engine) => {
  test("are made, take effect, are named in the answer and the log, are changed, and end", async () => {
    const { node, admin, ask, store, upstreams } = await startTwo(engine);
    const body = { subject: "model", name: "acme/chat", to_model: "spare/chat", ends_in_seconds: 3600 };
    const made = await ask("POST", "/reroutes", body);
    expect([made.status, made.json]).toMatchObject([
      200,
      {
        object: "organization.reroute",
        subject: "model",
        name: "acme/chat",
        to_model: "spare/chat",
        is_effective: true,
      },
    ]);
    expect(Math.abs(made.json.ends_at - seconds(3600))).toBeLessThan(5);
    await until(async () => (await servedBy(node.origin, admin.key))[1] === "spare/chat");
    const asked = upstreams.acme.asked.length;
    expect(await servedBy(node.origin, admin.key)).toEqual([200, "spare/chat", "spare/chat"]);
    expect(upstreams.acme.asked.length).toBe(asked);
    const { json: log } = await ask("GET", "/requests?limit=1");
    expect(log.data[0]).toMatchObject({ model: "spare/chat", requested_model: "acme/chat", status: 200 });

    const changed = await ask("POST", `/reroutes/${made.json.id}`, { ends_at: null });
    expect(changed.json).toMatchObject({ ends_at: null, to_model: "spare/chat" });
    expect((await ask("GET", "/reroutes")).json.data).toEqual([changed.json]);
    const ending = await ask("POST", `/reroutes/${made.json.id}`, { ends_at: seconds(2) });
    expect(ending.status).toBe(200);
    await until(async () => (await ask("GET", "/reroutes")).json.data.length === 0);
    expect(await servedBy(node.origin, admin.key)).toEqual([200, "acme/chat", null]);
    expect((await ask("POST", `/reroutes/${made.json.id}`, { ends_at: null })).status).toBe(404);

    // One that has ended is no obstacle.
    const again = await ask("POST", "/reroutes", { subject: "provider", name: "acme", to_model: "spare/chat" });
    expect(again.status).toBe(200);
    await until(async () => (await servedBy(node.origin, admin.key))[1] === "spare/chat");
    expect((await ask("DELETE", `/reroutes/${again.json.id}`)).json).toMatchObject({ deleted: true });
    await until(async () => (await servedBy(node.origin, admin.key))[1] === "acme/chat");
    const { entries } = await readAudit(store, { subject: made.json.id });
    expect(entries.map(({ action }) => action)).toEqual(["reroute.change", "reroute.change", "reroute.create"]);
  });

  test("that cannot be are refused with the reason", async () => {
    const { ask, upstreams } = await startTwo(engine);
    const refusal = async (body: object) => {
      const { status, json } = await ask("POST", "/reroutes", body);
      return [status, json.error?.message];
    };
    const toSpare = { subject: "model", name: "acme/chat", to_model: "spare/chat" };
    const manifest = manifestOf(upstreams.acme.baseUrl, "late/chat");
    await ask("POST", "/providers", { name: "late", manifest });
    for (const [body, status, reason] of [
      [{ ...toSpare, to_model: "nothing" }, 400, '"nothing" is not a model here'],
      [{ ...toSpare, name: "nothing" }, 400, '"nothing" is not a model here'],
      [{ ...toSpare, to_model: "late/chat" }, 400, 'no provider that serves "late/chat" is enabled and has a key'],
      [{ ...toSpare, to_model: "acme/chat" }, 400, "is the re-routed model itself"],
      [{ ...toSpare, to_model: null }, 400, "only calls of a provider"],
      [{ ...toSpare, ends_at: seconds(-5) }, 400, "has passed"],
      [{ subject: "provider", name: "nobody", to_model: "spare/chat" }, 400, 'No provider is called "nobody"'],
      [
        { subject: "provider", name: "acme", to_model: "acme/chat" },
        409,
        "is served only by providers that are re-routed",
      ],
    ] as const) {
      const [answered, message] = await refusal(body);
      expect([answered, message]).toEqual([status, expect.stringContaining(reason)]);
    }
    const made = await ask("POST", "/reroutes", toSpare);
    expect(await refusal(toSpare)).toEqual([409, expect.stringContaining("re-routed already")]);
    expect(await refusal({ subject: "model", name: "spare/chat", to_model: "acme/chat" })).toEqual([
      409,
      expect.stringContaining('re-routed to "spare/chat"; name that'),
    ]);
    await ask("POST", "/providers/late/keys", { key });
    expect(await refusal({ subject: "model", name: "spare/chat", to_model: "late/chat" })).toEqual([
      409,
      expect.stringContaining('answers for the model "acme/chat"'),
    ]);
    expect(await refusal({ subject: "provider", name: "spare", to_model: "late/chat" })).toEqual([
      409,
      expect.stringContaining('which answers for the model "acme/chat"'),
    ]);
    // A target whose provider is disabled later has no effect, and says so.
    await ask("POST", "/providers/spare", { enabled: false });
    await until(async () => (await ask("GET", `/reroutes/${made.json.id}`)).json.is_effective === false);
    const reason = 'No provider that serves "spare/chat" is enabled and has a key';
    expect((await ask("GET", "/reroutes")).json.data).toMatchObject([{ ineffective_reason: reason }]);
    expect((await ask("GET", "/providers/acme/incident")).json.reroutes).toMatchObject([
      { is_effective: false, ineffective_reason: reason },
    ]);
  });
});

test("a provider is re-routed only to a model at an endpoint of its own models, and a stored re-route that answers nothing says so", async () => {
  const { store, ask, upstreams } = await startTwo("sqlite");
  const models = [
    { id: "ears/text", premium: false, capability: "transcription" },
    { id: "ears/chat", premium: false },
  ];
  const manifest = { ...manifestOf(upstreams.spare.baseUrl), models };
  expect((await ask("POST", "/providers", { name: "ears", manifest, key })).status).toBe(200);
  const ofAcme = { subject: "provider", name: "acme", to_model: "ears/text" };
  const refused = await ask("POST", "/reroutes", ofAcme);
  expect([refused.status, refused.json.error.param, refused.json.error.message]).toEqual([
    400,
    "to_model",
    'to_model: is for another endpoint: models of "acme" are for chat, "ears/text" is for transcription',
  ]);
  const made = await ask("POST", "/reroutes", { ...ofAcme, to_model: "ears/chat" });
  expect(made.json).toMatchObject({ to_model: "ears/chat", is_effective: true });
  expect((await ask("POST", `/reroutes/${made.json.id}`, { to_model: "ears/text" })).status).toBe(400);
  // Commands, which do not know what is served, store any target.
  await store.db.updateTable("reroutes").set({ to_model: "ears/text" }).execute();
  const effectOf = async () => {
    const { is_effective: isEffective, ineffective_reason: reason } = (await ask("GET", `/reroutes/${made.json.id}`))
      .json;
    return [isEffective, reason];
  };
  expect(await effectOf()).toEqual([false, '"ears/text" is for another endpoint (transcription)']);
  for (const [row, reason] of [
    [{ to_model: "nothing" }, '"nothing" is not a model here, or is a virtual model'],
    [{ to_model: null }, 'No other provider serves a model of "acme"'],
    [{ name: "nobody", to_model: "spare/chat" }, 'No provider is called "nobody"'],
    [{ subject: "model", name: "nothing" }, '"nothing" is not a model here'],
    [{ subject: "model", name: "acme/chat" }, null],
  ] as const) {
    await store.db.updateTable("reroutes").set(row).execute();
    expect(await effectOf()).toEqual([reason === null, reason]);
  }
  // A provider with models at several endpoints is answered for in part.
  await ask("DELETE", `/reroutes/${made.json.id}`);
  const ofEars = await ask("POST", "/reroutes", { subject: "provider", name: "ears", to_model: "acme/chat" });
  expect([ofEars.status, ofEars.json.is_effective]).toEqual([200, true]);
});

test("a re-route made at one node takes effect at another within seconds, and ends there too", async () => {
  const { openNext, node, admin, ask } = await startTwo("postgres");
  const there = await start(await openNext(), { SECRETS_KEY: secretsKey });
  await until(async () => (await servedBy(there.origin, admin.key))[1] === "acme/chat");
  await until(async () => (await call(there.origin, admin.key, "spare/chat")).status === 200);
  const { json } = await ask("POST", "/reroutes", { subject: "model", name: "acme/chat", to_model: "spare/chat" });
  const madeAt = Date.now();
  for (const { origin } of [node, there]) {
    await until(async () => (await servedBy(origin, admin.key))[1] === "spare/chat");
  }
  expect(Date.now() - madeAt).toBeLessThan(5000);
  await ask("DELETE", `/reroutes/${json.id}`);
  for (const { origin } of [node, there]) {
    await until(async () => (await servedBy(origin, admin.key))[1] === "acme/chat");
  }
});

test("streams and whole answers of each client's protocol name the model that answered, and its price is charged", async () => {
  const providers = startScriptedProviders();
  const gateway = await startInProcess({ env: providers.env });
  try {
    const admin = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, Date.now())).key;
    const body = { subject: "provider", name: "anthropic", to_model: "gpt-4.1-mini" };
    const made = await fetch(`${gateway.baseUrl}/organization/reroutes`, {
      method: "POST",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([made.status, await made.json()]).toMatchObject([200, { name: "anthropic", to_model: "gpt-4.1-mini" }]);
    const messages = [{ role: "user", content: "Hi" }];
    const ask = (path: string, stream: boolean) =>
      gateway.post(path, { model: "claude-haiku-4-5", max_tokens: 50, messages, stream });
    await until(async () => (await ask("/chat/completions", false)).headers.get("x-modelgate-route") === "openai");
    for (const path of ["/chat/completions", "/messages"]) {
      for (const stream of [false, true]) {
        const response = await ask(path, stream);
        const text = await response.text();
        expect([response.status, response.headers.get("x-modelgate-route")]).toEqual([200, "openai"]);
        expect(response.headers.get("x-modelgate-model")).toBe("famA-4.1-mini");
        expect(text).toContain('"model":"gpt-4.1-mini"');
        expect(providers.seen.at(-1)?.provider).toBe("openai");
      }
    }
    const rows = await gateway.store.db.selectFrom("calls").select(["model", "cost_nanodollars"]).execute();
    const priced = rows.filter(({ model }) => model === "famA-4.1-mini");
    expect(priced.length).toBeGreaterThanOrEqual(4);
    expect(priced.every(({ cost_nanodollars: cost }) => Number(cost) > 0)).toBe(true);
  } finally {
    await gateway.stop();
    await providers.stop();
  }
});

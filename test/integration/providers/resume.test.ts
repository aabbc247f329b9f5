import { describe, expect, test } from "bun:test";
import { builtIns, manifests, sandbox } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { monotonicNow, openNetwork, TimeoutScheduler } from "../../../src/kernel/index.ts";
import { Providers } from "../../../src/providers/index.ts";
import { openPluginManager } from "../../../src/providers/open-plugin-manager.bun.ts";
import { until } from "../../support/until.ts";
import { call, engines, enter, manifestOf, type Node, open, provider, start, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";
const env = { SANDBOX: "off", GROQ_API_KEY: "k", SECRETS_KEY: "a-secrets-key-of-thirty-two-characters" };

interface ProviderJson {
  health: {
    state: string;
    reason: string | null;
    paused_routes: number;
    waiting_routes: number;
    paused_until: number | null;
  };
  routes: { model: string; state: string; paused_until: number | null }[];
}

/** A gateway whose provider has two models, and fails. */
async function startFailing(engine: keyof typeof engines) {
  const openNext = await open(engine);
  const store = await openNext();
  const node = await start(store, env);
  const admin = await enter(store);
  const { send } = await useNode(node, admin.cookie);
  const acme = provider(key);
  const models = ["acme/chat", "acme/more"].map((id) => ({ id, premium: false }));
  await send("POST", "/providers", { name: "acme", manifest: { ...manifestOf(acme.baseUrl), models }, key });
  acme.answer.status = 500;
  const readAcme = async () => (await (await send("GET", "/providers/acme")).json()) as ProviderJson;
  return { openNext, store, node, admin, send, acme, readAcme };
}

/** Calls a model of a provider that fails until its route is paused. */
const pauseRoute = (node: Node, apiKey: string, model?: string) =>
  until(async () => (await call(node.origin, apiKey, model)).status === 503);

/** The providers as a command has them. */
async function openProviders(store: Store, { home, log }: Node): Promise<Providers> {
  const config = readConfig({ MODELGATE_HOME: home, ...env });
  const options = { config, plugins: builtIns, manifests, createSandbox: sandbox, log };
  const providers = new Providers({
    ...options,
    store,
    now: Date.now,
    createManager: (settings) => openPluginManager(options, Date.now, settings),
  });
  await providers.load();
  return providers;
}

describe.each(Object.keys(engines) as (keyof typeof engines)[])("a paused route over %s", (engine) => {
  test("says until when, and is used again once an operator resumes the provider, or that model alone", async () => {
    const { store, node, admin, send, acme, readAcme } = await startFailing(engine);
    await pauseRoute(node, admin.key);
    await pauseRoute(node, admin.key, "acme/more");
    const paused = await readAcme();
    // A slow machine takes longer than a pause, which is over then.
    const { paused_routes: open, waiting_routes: waiting, paused_until: until } = paused.health;
    expect([paused.health.state, open + waiting]).toEqual(["failing", 2]);
    expect(paused.health.reason).toMatch(open > 0 ? /; its routes are paused$/ : /; the next call tries it again$/);
    expect(until === null).toBe(open === 0);
    for (const route of paused.routes)
      expect([route.state, route.state === "open"]).toEqual([
        expect.stringMatching(/open/),
        route.paused_until !== null,
      ]);

    acme.answer.status = 200;
    const one = (await (await send("POST", "/providers/acme/resume", { model: "acme/more" })).json()) as ProviderJson;
    const stateOf = ({ routes }: ProviderJson) => Object.fromEntries(routes.map(({ model, state }) => [model, state]));
    expect(stateOf(one)).toEqual({ "acme/chat": expect.stringMatching(/open/), "acme/more": "closed" });
    expect((await call(node.origin, admin.key, "acme/more")).status).toBe(200);

    const all = (await (await send("POST", "/providers/acme/resume", {})).json()) as ProviderJson;
    expect(stateOf(all)).toEqual({ "acme/chat": "closed", "acme/more": "closed" });
    expect(all.health).toMatchObject({ paused_routes: 0, paused_until: null });
    expect((await call(node.origin, admin.key)).status).toBe(200);

    const entries = await store.db
      .selectFrom("audit")
      .select(["subject", "detail"])
      .where("action", "=", "provider.resume")
      .orderBy("at")
      .execute();
    expect(entries.map(({ subject, detail }) => [subject, JSON.parse(detail ?? "{}")])).toEqual([
      ["acme", { model: "acme/more" }],
      ["acme", {}],
    ]);
    expect((await send("POST", "/providers/nobody/resume", {})).status).toBe(404);
    const unserved = await send("POST", "/providers/acme/resume", { model: "acme/none" });
    expect([unserved.status, await unserved.json()]).toMatchObject([400, { error: { param: "model" } }]);
  });

  test("is used again after a test of the connection that succeeds, and not after one that fails", async () => {
    const { node, admin, send, acme, readAcme } = await startFailing(engine);
    await pauseRoute(node, admin.key);
    expect(await (await send("POST", "/providers/acme/test", {})).json()).toMatchObject({ ok: false });
    expect((await call(node.origin, admin.key)).ok).toBe(false);
    acme.answer.status = 200;
    expect(await (await send("POST", "/providers/acme/test", {})).json()).toMatchObject({ ok: true });
    expect((await call(node.origin, admin.key)).status).toBe(200);
    expect((await readAcme()).health).toMatchObject({ state: "working", paused_routes: 0 });
  });

  test("is used again by a gateway that runs, after another process resumed it or tested it well", async () => {
    const { openNext, node, admin, acme, readAcme } = await startFailing(engine);
    const providers = await openProviders(await openNext(), node);
    await pauseRoute(node, admin.key);
    acme.answer.status = 200;
    await providers.resume(commandLine, "acme");
    await until(async () => (await call(node.origin, admin.key)).status === 200);

    acme.answer.status = 500;
    await pauseRoute(node, admin.key);
    acme.answer.status = 200;
    const network = openNetwork(new TimeoutScheduler(), monotonicNow);
    expect(await providers.test(network, commandLine, "acme", {})).toMatchObject({ ok: true });
    await until(async () => (await call(node.origin, admin.key)).status === 200);
    expect((await readAcme()).health.state).toBe("working");
  });
});

test("an order that is sent twice with one Idempotency-Key is one order", async () => {
  const { store, node, admin } = await startFailing("sqlite");
  const resume = () =>
    fetch(`${node.origin}/v1/organization/providers/acme/resume`, {
      method: "POST",
      headers: {
        cookie: admin.cookie,
        origin: node.origin,
        "content-type": "application/json",
        "idempotency-key": "resume-acme-once",
      },
      body: "{}",
    });
  expect([(await resume()).status, (await resume()).headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  const entries = await store.db.selectFrom("audit").select("id").where("action", "=", "provider.resume").execute();
  expect(entries.length).toBe(1);
});

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SecretBox } from "../../../src/providers/index.ts";
import { keyOwnerOf } from "../../../src/providers/provider-settings.ts";
import { until } from "../../support/until.ts";
import { call, engines, enter, manifestOf, open, provider, start, startNode, useNode } from "./fixture.ts";

const secretsKey = "a-secrets-key-of-thirty-two-characters";
const first = "provider-key-first-0001";
const second = "provider-key-second-0002";
describe.each(Object.keys(engines) as (keyof typeof engines)[])("over %s", (engine) => {
  test("a provider is added, gets a key, answers, is rotated, ordered, disabled and removed, all without a restart", async () => {
    const store = await (await open(engine))();
    const upstream = provider(first);
    const node = await start(store);
    const admin = await enter(store);
    const { send, find, list } = await useNode(node, admin.cookie);

    expect((await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) })).status).toBe(
      200,
    );
    expect(existsSync(join(node.home, "plugins/acme.json"))).toBe(true);
    expect((await send("POST", "/providers/acme/test", {})).status).toBe(409);
    expect((await list()).sandbox).toMatchObject({ setting: "auto", source: "default", active: true });

    const { id } = (await (await send("POST", "/providers/acme/keys", { key: `  ${first}\n` })).json()) as {
      id: string;
    };
    expect(await find("acme")).toMatchObject({ status: "serving", managed: true, enabled: true });
    expect((await find("acme"))?.keys).toMatchObject([
      { id, last4: "0001", created_by_email: admin.email, readable: true },
    ]);
    expect((await list()).sandbox.active).toBe(false);
    expect((await call(node.origin, admin.key)).status).toBe(200);
    expect(await (await send("POST", "/providers/acme/test", {})).json()).toMatchObject({
      ok: true,
      model: "acme/chat",
      error: null,
    });
    expect((await find("acme"))?.routes[0]?.attempts).toMatchObject({ calls: 1, errors: 0, last_error: null });

    upstream.known.clear();
    upstream.known.add(second);
    expect((await send("POST", `/providers/acme/keys/${id}`, { key: second })).status).toBe(200);
    expect((await call(node.origin, admin.key)).status).toBe(200);
    expect(upstream.asked.at(-1)).toBe(second);
    expect((await find("acme"))?.keys).toMatchObject([{ id, last4: "0002" }]);

    expect((await send("POST", "/providers/acme", { priority: 7, weight: 3 })).status).toBe(200);
    expect((await find("acme"))?.routes[0]).toMatchObject({ priority: 7, weight: 3 });

    upstream.answer.delayMs = 300;
    const running = call(node.origin, admin.key);
    await until(() => upstream.asked.length === 4);
    expect((await send("POST", "/providers/acme", { enabled: false })).status).toBe(200);
    expect((await call(node.origin, admin.key)).status).toBe(400);
    expect((await running).status).toBe(200);
    expect(await find("acme")).toMatchObject({ status: "disabled", enabled: false });
    // What is disabled is not simulated either.
    expect((await list()).sandbox.active).toBe(false);

    expect((await send("DELETE", "/providers/acme")).status).toBe(200);
    expect(existsSync(join(node.home, "plugins/acme.json"))).toBe(false);
    expect(await find("acme")).toBeUndefined();
    expect(await store.db.selectFrom("provider_keys").selectAll().execute()).toEqual([]);
  });

  test("no answer, log line, audit entry or stored byte has a key", async () => {
    const store = await (await open(engine))();
    const upstream = provider();
    const node = await start(store);
    const { cookie } = await enter(store);
    const { send } = await useNode(node, cookie);
    const answers: string[] = [];
    const ask = async (...request: Parameters<typeof send>) => {
      const text = await (await send(...request)).text();
      answers.push(text);
      return JSON.parse(text);
    };
    await ask("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    const { id } = await ask("POST", "/providers/acme/keys", { key: first });
    await ask("POST", "/providers/acme/keys", { key: first });
    await ask("POST", "/providers/acme/keys", { key: `${first} ${first}` });
    await ask("POST", "/providers/acme/keys", { key: [first] });
    await ask("POST", "/providers/acme/keys", { key: first, other: first });
    await ask("POST", `/providers/acme/keys/${id}`, { key: first });
    await ask("POST", "/providers/unknown/keys", { key: first });
    // The provider repeats the key in its refusal.
    expect(await ask("POST", "/providers/acme/test", {})).toMatchObject({
      ok: false,
      error: expect.stringContaining("401"),
    });
    await ask("GET", "/providers");
    const get = async (path: string) =>
      await (await fetch(`${node.origin}/dashboard/api/admin/${path}`, { headers: { cookie } })).text();
    for (const path of ["health", "settings", "audit", "catalogue"]) answers.push(await get(path));
    await ask("DELETE", `/providers/acme/keys/${id}`);
    expect(answers.filter((text) => text.includes(first) || text.includes("key-first"))).toEqual([]);
    expect(node.lines.join("\n")).not.toContain(first);
    expect(JSON.stringify(await store.db.selectFrom("audit").selectAll().execute())).not.toContain(first);
    const { id: kept } = await ask("POST", "/providers/acme/keys", { key: second });
    const row = await store.db.selectFrom("provider_keys").selectAll().where("id", "=", kept).executeTakeFirstOrThrow();
    expect(Buffer.from(row.secret).includes(second)).toBe(false);
    expect(statSync(join(node.home, "secrets.key")).mode & 0o777).toBe(0o600);
    const actions = (await store.db.selectFrom("audit").select("action").orderBy("at").execute()).map(
      (entry) => entry.action,
    );
    expect(actions).toEqual([
      "provider.add",
      "provider.key.add",
      "provider.test",
      "provider.key.remove",
      "provider.key.add",
    ]);
  });

  test("the environment's key goes before stored ones, and says so", async () => {
    const store = await (await open(engine))();
    const upstream = provider(first, second);
    const node = await start(store, { GROQ_API_KEY: first, GROQ_BASE_URL: upstream.baseUrl });
    const { cookie } = await enter(store);
    const { send, find } = await useNode(node, cookie);
    await send("POST", "/providers/groq/keys", { key: second });
    expect(await find("groq")).toMatchObject({ base_url: upstream.baseUrl, base_url_source: "environment" });
    expect((await find("groq"))?.keys).toMatchObject([
      { id: null, source: "GROQ_API_KEY", last4: "", in_force: true },
      { source: null, last4: second.slice(-4), in_force: false },
    ]);
    expect(await (await send("POST", "/providers/groq/test", {})).json()).toMatchObject({ ok: true });
    expect(upstream.asked).toEqual([first]);
  });

  test("a provider that is added gets nothing of the environment by its name, nor keys that were stored for another", async () => {
    const store = await (await open(engine))();
    const [tool, upstream] = ["topsecret-of-another-tool", provider("")];
    const listed: (string | null)[] = [];
    const lists = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ headers }) => {
        listed.push(headers.get("authorization"));
        return Response.json({ data: [{ id: "secret/one" }] });
      },
    });
    const env = { SECRETTOOL_API_KEY: tool, SECRETTOOL_BASE_URL: "http://127.0.0.1:9/v1", LISTER_API_KEY: tool };
    const node = await start(store, { ...env, SANDBOX: "off", GROQ_API_KEY: "k" });
    const { cookie, key } = await enter(store);
    const { send, find } = await useNode(node, cookie);
    // Of a provider whose file is gone.
    const { secret, secretsId } = new SecretBox({ home: node.home, secretsKey: undefined }).seal(
      keyOwnerOf("secrettool", "k1"),
      "given to another provider",
      true,
    );
    const left = {
      id: "k1",
      provider: "secrettool",
      secret,
      secrets_id: secretsId,
      last4: "",
      set_by: "cli",
      set_at: 1,
    };
    await store.db.insertInto("provider_keys").values(left).execute();
    const manifest = { ...manifestOf(upstream.baseUrl), credential: "none" };
    expect((await send("POST", "/providers", { name: "secrettool", manifest })).status).toBe(200);
    expect(await (await send("POST", "/providers/secrettool/test", {})).json()).toMatchObject({ ok: true });
    expect((await call(node.origin, key)).status).toBe(200);
    expect(upstream.asked).toEqual(["", ""]);
    expect(await find("secrettool")).toMatchObject({ keys: [], base_url: upstream.baseUrl, base_url_source: "plugin" });
    // Not even whether there is such a variable.
    const get = (path: string) => fetch(`${node.origin}/dashboard/api/admin/${path}`, { headers: { cookie } });
    expect(await (await get("settings")).text()).not.toContain("SECRETTOOL");
    const unlisted = { premium: true, price: { inputToken: { usd: "1", per: 1 }, outputToken: { usd: "1", per: 1 } } };
    const lister = { baseUrl: `http://127.0.0.1:${lists.port}`, dialect: "openai", credential: "none", unlisted };
    expect((await send("POST", "/providers", { name: "lister", manifest: lister })).status).toBe(200);
    expect(listed).toEqual([null]);
    // Nor of a gateway that finds the file and has no row of it: one that shares the folder, or a database restored.
    await start(await (await open("sqlite"))(), { ...env, SANDBOX: "off", GROQ_API_KEY: "k" }, node.home);
    expect(listed).toEqual([null, null]);
    await lists.stop(true);
  });

  test("a key survives a restart, and another secrets key cannot read it", async () => {
    const openNext = await open(engine);
    const store = await openNext();
    const upstream = provider(first);
    const node = await startNode(store, { SECRETS_KEY: secretsKey });
    const admin = await enter(store);
    const { send } = await useNode(node, admin.cookie);
    await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    await send("POST", "/providers/acme/keys", { key: first });
    await node.close();
    const again = await startNode(store, { SECRETS_KEY: secretsKey }, node.home);
    expect((await call(again.origin, admin.key)).status).toBe(200);
    await again.close();
    const other = await start(store, { SECRETS_KEY: `another-${secretsKey}` }, node.home);
    const there = await useNode(other, admin.cookie);
    expect((await there.find("acme"))?.keys).toMatchObject([{ readable: false }]);
    const refused = await there.send("POST", "/providers/acme/keys", { key: second });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("another SECRETS_KEY than this gateway has");
    // Nor does it simulate what it cannot serve.
    expect((await there.list()).sandbox).toMatchObject({ setting: "auto", active: false });
    const ready = await fetch(`${other.origin}/readyz`);
    expect([ready.status, ((await ready.json()) as { problems: string[] }).problems]).toEqual([
      503,
      [expect.stringContaining("cannot read its stored API keys")],
    ]);
  });

  test("where the sandbox is kept on, callers of a provider whose keys cannot be read get no simulated answer", async () => {
    const store = await (await open(engine))();
    const upstream = provider(first);
    const node = await startNode(store, { SECRETS_KEY: secretsKey });
    const admin = await enter(store);
    const { send } = await useNode(node, admin.cookie);
    await send("POST", "/sandbox", { setting: "on" });
    await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    // Before it has a key as well.
    expect((await call(node.origin, admin.key)).status).toBeGreaterThanOrEqual(400);
    await send("POST", "/providers/acme/keys", { key: first });
    expect((await call(node.origin, admin.key)).status).toBe(200);
    await node.close();
    const other = await start(store, { SECRETS_KEY: `another-${secretsKey}` }, node.home);
    const refused = await call(other.origin, admin.key);
    expect([refused.status, await refused.text()]).toEqual([expect.any(Number), expect.not.stringContaining("echoes")]);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    const ready = (await (await fetch(`${other.origin}/readyz`)).json()) as { sandbox: boolean; warnings: string[] };
    expect([ready.sandbox, ready.warnings]).toEqual([
      false,
      [expect.stringContaining("cannot read its stored API keys")],
    ]);
    expect((await call(other.origin, admin.key, "famA-4o-mini")).headers.get("x-modelgate-sandbox")).toBe("true");
  });

  test("the choice about the sandbox is kept, and the environment decides over it", async () => {
    const store = await (await open(engine))();
    const upstream = provider(first);
    const node = await start(store);
    const admin = await enter(store);
    const { send, list } = await useNode(node, admin.cookie);
    await send("POST", "/sandbox", { setting: "on" });
    await send("POST", "/providers", {
      name: "acme",
      manifest: { ...manifestOf(upstream.baseUrl), credential: "none" },
    });
    expect((await list()).sandbox).toMatchObject({ setting: "on", source: "database", active: false, simulates: true });
    const simulated = await call(node.origin, admin.key, "famA-4o-mini");
    const real = await call(node.origin, admin.key);
    expect([simulated.status, simulated.headers.get("x-modelgate-sandbox")]).toEqual([200, "true"]);
    expect(real.headers.get("x-modelgate-sandbox")).toBeNull();
    const headers = { cookie: admin.cookie };
    const read = async (path: string) => (await fetch(`${node.origin}/dashboard/api${path}`, { headers })).json();
    const { data } = (await read("/models")) as { data: { id: string; simulated?: true }[] };
    expect(data.find(({ id }) => id === "famA-4o-mini")?.simulated).toBe(true);
    expect(data.find(({ id }) => id === "acme/chat")).not.toHaveProperty("simulated");
    const simulatedModels = data.filter((model) => model.simulated === true).length;
    expect(await read("/gateway")).toMatchObject({ sandbox: false, simulated_models: simulatedModels });
    await send("POST", "/sandbox", { setting: "off" });
    expect(await read("/gateway")).toMatchObject({ simulated_models: 0 });
    expect((await call(node.origin, admin.key, "famA-4o-mini")).status).toBe(400);
    const decided = await start(store, { SANDBOX: "on" });
    const there = await useNode(decided, admin.cookie);
    expect((await there.list()).sandbox).toMatchObject({ setting: "on", source: "environment" });
    expect((await there.send("POST", "/sandbox", { setting: "off" })).status).toBe(409);
  });
});

describe("two nodes on one database", () => {
  test("take over a provider, its key and its end without a restart", async () => {
    const openNext = await open("postgres");
    const [one, two] = [await openNext(), await openNext()];
    const upstream = provider(first, second);
    const env = { SECRETS_KEY: secretsKey };
    const [here, there] = [await start(one, env), await start(two, env)];
    const admin = await enter(one);
    const { send } = await useNode(here, admin.cookie);
    const status = async () => (await call(there.origin, admin.key)).status;
    // A node that has heard of the provider and not yet of its key simulates it.
    const isServedWith = async (secret: string) => (await status()) === 200 && upstream.asked.at(-1) === secret;
    await send("POST", "/providers", { name: "acme", manifest: manifestOf(upstream.baseUrl) });
    await send("POST", "/providers/acme/keys", { key: first });
    await until(() => isServedWith(first));
    expect(readFileSync(join(there.home, "plugins/acme.json"), "utf8")).toContain(upstream.baseUrl);
    const [key] = (await (await useNode(there, admin.cookie)).find("acme"))?.keys ?? [];
    expect((await send("POST", `/providers/acme/keys/${key?.id}`, { key: second })).status).toBe(200);
    await until(() => isServedWith(second));
    await send("POST", "/providers/acme", { enabled: false });
    await until(async () => (await status()) === 400);
    await send("DELETE", "/providers/acme");
    await until(() => !existsSync(join(there.home, "plugins/acme.json")));
  });

  test("a node without the secrets key of the others makes none of its own", async () => {
    const openNext = await open("postgres");
    const [one, two] = [await openNext(), await openNext()];
    const here = await start(one, { SECRETS_KEY: secretsKey });
    const there = await start(two);
    const admin = await enter(one);
    const { send } = await useNode(here, admin.cookie);
    expect((await send("POST", "/providers/openai/keys", { key: first })).status).toBe(200);
    const other = await useNode(there, admin.cookie);
    await until(async () => ((await other.find("openai"))?.keys ?? []).length === 1);
    expect(await other.find("openai")).toMatchObject({ keys: [{ last4: "0001", readable: false }] });
    expect((await other.send("POST", "/providers/openai/keys", { key: second })).status).toBe(409);
    expect(existsSync(join(there.home, "secrets.key"))).toBe(false);
  });
});

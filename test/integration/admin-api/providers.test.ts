import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let upstream: ReturnType<typeof Bun.serve>;
let adminKey: string;
/** The keys with which the provider was called. */
const bearers: (string | null)[] = [];

const makeAdminKey = async (...scopes: string[]) =>
  (await createAdminKey(gateway.store, commandLine, { name: `test ${scopes}`, scopes }, Date.now())).key;

beforeAll(async () => {
  upstream = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      bearers.push(request.headers.get("authorization"));
      const message = { role: "assistant", content: "Hello" };
      return Response.json({
        id: "1",
        object: "chat.completion",
        created: 1,
        model: "llama",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      });
    },
  });
  gateway = await startInProcess({ env: { OPENAI_API_KEY: "sk-upstream", REQUESTS_PER_MINUTE: "1000" } });
  adminKey = await makeAdminKey("providers:write", "audit:read");
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop(true);
});

async function ask(
  method: string,
  path: string,
  { body, key = adminKey, headers = {} }: { body?: unknown; key?: string; headers?: Record<string, string> } = {},
) {
  const response = await fetch(`${gateway.baseUrl}/organization${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  return { status: response.status, text, json: JSON.parse(text) as any };
}

const toManifest = (name: string) => ({
  baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
  dialect: "openai",
  models: [{ id: `${name}/llama`, upstreamId: "llama", premium: false }],
});

describe("providers by the management API", () => {
  test("are added with a key, tested, called, ordered, given other keys, and deleted", async () => {
    const body = { name: "acme", manifest: toManifest("acme"), key: "acme-secret-0001", priority: 5 };
    const headers = { "idempotency-key": "add-acme" };
    const made = await ask("POST", "/providers", { body, headers });
    expect([made.status, made.json.error]).toEqual([200, null]);
    expect(made.json).toMatchObject({
      id: "acme",
      object: "organization.provider",
      status: "serving",
      managed: true,
      priority: 5,
      enabled: true,
      keys: [{ object: "organization.provider.key", last4: "0001", source: null }],
    });
    // Sent again, it is the same answer, not a conflict.
    expect((await ask("POST", "/providers", { body, headers })).json).toEqual(made.json);
    expect(await ask("POST", "/providers", { body })).toMatchObject({
      status: 409,
      json: { error: { code: "conflict", param: "name" } },
    });

    const tested = await ask("POST", "/providers/acme/test", { body: {} });
    expect(tested.json).toMatchObject({ object: "organization.provider.test", ok: true, model: "acme/llama" });
    expect(bearers.at(-1)).toBe("Bearer acme-secret-0001");
    const account = await gateway.app.accounts.create({ email: "ada@example.com", name: "Ada" });
    const { key } = await gateway.app.accounts.createKey({ accountId: account.id, name: "a key", by: "cli" });
    const call = () =>
      fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/llama", messages: [{ role: "user", content: "Hi" }] }),
      });
    expect((await call()).status).toBe(200);

    const keyId = made.json.keys[0].id;
    const replaced = await ask("POST", `/providers/acme/keys/${keyId}`, { body: { key: "acme-secret-0002" } });
    expect(replaced.json).toMatchObject({ id: keyId, last4: "0002" });
    expect((await call()).status).toBe(200);
    expect(bearers.at(-1)).toBe("Bearer acme-secret-0002");
    const second = await ask("POST", "/providers/acme/keys", { body: { key: "acme-secret-0003" } });
    expect((await ask("DELETE", `/providers/acme/keys/${keyId}`)).json).toMatchObject({ id: keyId, deleted: true });
    expect((await ask("DELETE", `/providers/acme/keys/${keyId}`)).status).toBe(404);
    const changed = await ask("POST", "/providers/acme", { body: { enabled: false, priority: null } });
    expect(changed.json).toMatchObject({ status: "disabled", enabled: false, priority: null });
    expect((await ask("GET", "/providers/acme")).json).toEqual(changed.json);
    // Nothing can come of what is not in use.
    const unused = { state: null, attempts: null, health: { ...second.json.health, state: null } };
    expect(changed.json.keys).toEqual([{ ...second.json, ...unused }]);
    for (const { text } of [made, replaced, second, changed]) expect(text).not.toContain("acme-secret");

    // Another model at the same host: the key stays. Another host: it was not given for that one.
    await ask("POST", "/providers/acme", { body: { enabled: true } });
    const manifest = { ...toManifest("acme"), models: [{ id: "acme/other", upstreamId: "other", premium: false }] };
    const grown = await ask("POST", "/providers/acme", { body: { manifest, weight: 3 } });
    expect(grown.json).toMatchObject({ status: "serving", weight: 3, keys: [{ last4: "0003" }] });
    const models = gateway.app.kernel.registry;
    expect([models.byName("acme/llama"), models.byName("acme/other")?.model.upstreamId]).toEqual([undefined, "other"]);
    const wrong = await ask("POST", "/providers/acme", { body: { manifest: { ...manifest, models: 5 } } });
    expect([wrong.status, wrong.json.error.param]).toEqual([400, "manifest"]);
    const elsewhere = { ...manifest, baseUrl: `http://localhost:${upstream.port}/v1` };
    const moved = await ask("POST", "/providers/acme", { body: { manifest: elsewhere } });
    expect(moved.json).toMatchObject({ base_url: elsewhere.baseUrl, keys: [] });
    expect((await ask("POST", "/providers/openai", { body: { manifest } })).status).toBe(409);

    expect((await ask("DELETE", "/providers/acme")).json).toMatchObject({ id: "acme", deleted: true });
    expect((await ask("GET", "/providers/acme")).status).toBe(404);
    expect((await ask("DELETE", "/providers/acme")).status).toBe(404);
    const log = await ask("GET", "/audit_logs?limit=100");
    const types = log.json.data.map(({ type }: { type: string }) => type);
    expect(types).toEqual(
      expect.arrayContaining([
        "provider.add",
        "provider.set",
        "provider.replace",
        "provider.key.rotate",
        "provider.key.remove",
        "provider.remove",
      ]),
    );
    expect(log.text).not.toContain("acme-secret");
  });

  test("are listed page by page, also those that are built in, which cannot be deleted", async () => {
    const first = await ask("GET", "/providers?limit=2");
    expect(first.json).toMatchObject({ object: "list", has_more: true });
    const next = await ask("GET", `/providers?limit=2&after=${first.json.last_id}`);
    const ids = [...first.json.data, ...next.json.data].map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(4);
    expect((await ask("GET", "/providers/openai")).json).toMatchObject({
      managed: false,
      keys: [{ id: null, source: "OPENAI_API_KEY" }],
    });
    expect((await ask("DELETE", "/providers/openai")).status).toBe(409);
    expect((await ask("POST", "/providers/unknown/test", { body: {} })).status).toBe(404);
  });

  test("are tested before they are saved, and say what the sandbox and the plugins do", async () => {
    const unsaved = { name: "trial", manifest: toManifest("trial"), key: "trial-secret-0001" };
    const tested = await ask("POST", "/provider_tests", { body: unsaved });
    expect(tested.json).toMatchObject({
      object: "organization.provider.test",
      ok: true,
      model: "trial/llama",
      kind: null,
    });
    expect(bearers.at(-1)).toBe("Bearer trial-secret-0001");
    expect((await ask("GET", "/providers/trial")).status).toBe(404);
    const wrong = await ask("POST", "/provider_tests", { body: { ...unsaved, key: 5 } });
    expect([wrong.status, wrong.json.error.param]).toEqual([400, "key"]);
    expect((await ask("POST", "/provider_tests", { body: { name: "unknown", key: "a-key" } })).status).toBe(404);

    const plugins = await ask("GET", "/plugins");
    expect(plugins.json).toMatchObject({ object: "organization.plugins", warnings: [], degraded: [] });
    const ready = plugins.json.manifests.find(({ name }: { name: string }) => name === "ollama");
    expect(ready.manifest.baseUrl).toContain("11434");
    const sandbox = (await ask("GET", "/sandbox")).json;
    const again = await ask("POST", "/sandbox", { body: { setting: sandbox.setting } });
    expect([again.status, again.json]).toEqual([200, sandbox]);
    expect(sandbox).toMatchObject({ object: "organization.sandbox", simulates: false });
  });

  test("need a scope of their own, to read or to write", async () => {
    const reader = await makeAdminKey("providers:read");
    expect((await ask("GET", "/providers", { key: reader })).status).toBe(200);
    expect((await ask("POST", "/providers/openai", { key: reader, body: {} })).status).toBe(403);
    expect((await ask("POST", "/providers/openai/test", { key: reader, body: {} })).status).toBe(403);
    expect((await ask("POST", "/provider_tests", { key: reader, body: { name: "openai" } })).status).toBe(403);
    expect((await ask("GET", "/sandbox", { key: reader })).status).toBe(200);
    expect((await ask("POST", "/sandbox", { key: reader, body: { setting: "on" } })).status).toBe(403);
    expect((await ask("GET", "/plugins", { key: reader })).status).toBe(200);
    expect((await ask("GET", "/catalogue", { key: reader })).status).toBe(403);
  });
});

test("a key that is stored while the environment has one is answered, listed as not active, and can be deleted", async () => {
  const added = await ask("POST", "/providers/openai/keys", { body: { key: "sk-waits-for-its-turn" } });
  expect([added.status, added.json.last4, added.json.in_force]).toEqual([200, "turn", false]);
  const { keys } = (await ask("GET", "/providers/openai")).json;
  expect(keys.map(({ id, source, in_force }: (typeof keys)[number]) => [id, source, in_force])).toEqual([
    [null, "OPENAI_API_KEY", true],
    [added.json.id, null, false],
  ]);
  const deleted = await ask("DELETE", `/providers/openai/keys/${added.json.id}`);
  expect([deleted.status, deleted.json.deleted]).toEqual([200, true]);
  expect((await ask("GET", "/providers/openai")).json.keys).toHaveLength(1);
});

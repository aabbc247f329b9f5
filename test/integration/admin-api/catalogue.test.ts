import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";

let gateway: InProcessGateway;
let upstream: ReturnType<typeof Bun.serve>;
let adminKey: string;

const makeAdminKey = async (...scopes: string[]) =>
  (await createAdminKey(gateway.store, commandLine, { name: `test ${scopes}`, scopes }, Date.now())).key;

beforeAll(async () => {
  upstream = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ data: [{ id: "model-of-tomorrow", created: 1 }] }),
  });
  const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
  const env = { SANDBOX: "on", OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: baseUrl, REQUESTS_PER_MINUTE: "1000" };
  gateway = await startInProcess({ env });
  adminKey = await makeAdminKey("catalogue:write", "audit:read");
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop(true);
});

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${adminKey}` },
) {
  const response = await fetch(`${gateway.baseUrl}/organization${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  const json = JSON.parse(text) as any;
  return { status: response.status, text, json, refusal: [response.status, json.error?.code, json.error?.param] };
}

const put = (body: unknown) => ask("PUT", "/catalogue", body);
const read = async () => (await ask("GET", "/catalogue")).json as { revision: string; files: object };
const audited = async () => (await ask("GET", "/audit_logs?limit=100")).json.data;
const served = async (id: string) => {
  const headers = { authorization: `Bearer ${gateway.key}` };
  const response = await fetch(`${gateway.baseUrl}/models/${id}`, { headers });
  await response.body?.cancel();
  return response.status;
};
const clear = () => put({ revision: "*", files: {} });

describe("the catalogue as one document", () => {
  test("is written after a dry run with the same Idempotency-Key only by another key, and the dry run is not the answer", async () => {
    const document = {
      revision: (await read()).revision,
      files: { openai: { models: [{ id: "famA-5", disabled: true }] } },
    };
    const send = (query: string, key: string) =>
      ask("PUT", `/catalogue${query}`, document, { authorization: `Bearer ${adminKey}`, "idempotency-key": key });
    expect((await send("?dry_run=true", "one")).json.dry_run).toBe(true);
    expect((await send("", "one")).refusal).toEqual([409, "conflict", "Idempotency-Key"]);
    expect((await send("", "two")).json.dry_run).toBe(false);
    expect((await read()).files).toEqual(document.files);
    await clear();
  });

  test("goes back as it came, is served at once, and the audit log says what changed", async () => {
    const before = await read();
    expect(before.files).toEqual({});
    const rows = [
      { id: "famA-4o-mini", aliases: ["tiny"] },
      { id: "famA-5", disabled: true },
    ];
    expect([await served("tiny"), await served("famA-5")]).toEqual([404, 200]);
    const document = { revision: before.revision, files: { openai: { models: rows } } };
    const plan = await ask("PUT", "/catalogue?dry_run=true", document);
    expect(plan.json).toMatchObject({ files: ["openai.json"], dry_run: true, revision: before.revision });
    expect(await read()).toEqual(before);
    const { status, json } = await put(document);
    expect([status, json.files, json.dry_run]).toEqual([200, ["openai.json"], false]);
    expect(json.changes).toEqual(plan.json.changes);
    expect(json.changes).toContain("openai: - famA-5");
    expect([await served("tiny"), await served("famA-5")]).toEqual([200, 404]);
    expect(await read()).toEqual({ revision: json.revision, files: { openai: { models: rows } } });
    const [entry] = await audited();
    expect(entry).toMatchObject({ type: "catalogue.change" });
    expect(JSON.stringify(entry)).toContain("openai: - famA-5");
    expect((await put(await read())).json.changes).toEqual([]);
    await clear();
  });

  test("is not overwritten by an editor who read an older one, nor by one who does not say which", async () => {
    const { revision } = await read();
    const before = (await audited()).length;
    expect((await put({ files: {} })).refusal).toEqual([400, "invalid_request", "revision"]);
    expect((await put({ revision: "older", files: {} })).refusal).toEqual([409, "conflict", "revision"]);
    const plan = await ask("PUT", "/catalogue?dry_run=true", { revision: "older", files: {} });
    expect(plan.refusal).toEqual([409, "conflict", "revision"]);
    expect([(await read()).revision, (await audited()).length]).toEqual([revision, before]);
    const both = await Promise.all(
      ["one", "two"].map((alias) => put({ revision, files: { openai: [{ id: "famA-4o-mini", aliases: [alias] }] } })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await clear()).status).toBe(200);
    expect(await read()).toMatchObject({ files: {} });
  });

  test("is refused with file, place and fix, and what was in force stays", async () => {
    const { revision, files } = await read();
    const wrong = { id: "famA-4o-mini", price: { inputToken: { usd: "1" } } };
    const refused = await put({ revision, files: { openai: { models: [wrong] } } });
    expect(refused.refusal).toEqual([400, "invalid_request", "files"]);
    expect(refused.text).toContain("Cannot use catalogue/openai.json: models[");
    const broken = await put('{ "files": {\n  "openai": [} }');
    expect([broken.status, broken.text]).toEqual([400, expect.stringContaining("line 2, column 14")]);
    expect((await put({ revision, files: [] })).refusal).toEqual([400, "invalid_request", "files"]);
    expect((await put({ revision, files: {}, more: 1 })).refusal).toEqual([400, "invalid_request", "more"]);
    expect((await put(" ".repeat(4 * 1024 * 1024 + 1))).status).toBe(413);
    expect((await put({ revision, files: JSON.parse('{"__proto__": []}') })).status).toBe(400);
    expect(await read()).toEqual({ revision, files });
  });

  test("is the page's too: administrators change it in their session, and nobody without the scope", async () => {
    const { id: accountId } = await gateway.app.accounts.create({ email: "admin@example.org" });
    const cookie = await enterAs(gateway.store, { accountId, role: "admin" }, Date.now());
    const session = { cookie, origin: new URL(gateway.baseUrl).origin };
    const { revision } = (await ask("GET", "/catalogue", undefined, session)).json;
    expect((await ask("PUT", "/catalogue", { revision, files: {} }, session)).status).toBe(200);
    const reader = { authorization: `Bearer ${await makeAdminKey("catalogue:read")}` };
    expect((await ask("GET", "/catalogue", undefined, reader)).status).toBe(200);
    expect((await ask("PUT", "/catalogue", { revision, files: {} }, reader)).status).toBe(403);
    const other = { authorization: `Bearer ${await makeAdminKey("providers:write")}` };
    expect((await ask("GET", "/catalogue/models", undefined, other)).status).toBe(403);
  });
});

describe("a file of the catalogue", () => {
  test("is planned, written, read and deleted alone, and an outdated change is refused", async () => {
    const content = { models: [{ id: "famA-4.1-nano", premium: true }] };
    const plan = await ask("POST", "/catalogue/files/openai?dry_run=true", { content });
    expect(plan.json).toMatchObject({ id: "openai", object: "organization.catalogue.file", dry_run: true });
    expect(plan.json.changes.join()).toContain("famA-4.1-nano");
    expect((await ask("GET", "/catalogue/files/openai")).status).toBe(404);

    const written = await ask("POST", "/catalogue/files/openai", { content, revision: plan.json.revision });
    expect(written.json).toMatchObject({ content, dry_run: false, changes: plan.json.changes });
    const virtual = { content: { models: [{ id: "fast", models: ["gpt-4.1-nano"] }] } };
    expect((await ask("POST", "/catalogue/files/virtual", virtual)).status).toBe(200);
    expect(gateway.app.kernel.registry.byName("famA-4.1-nano")?.model.premium).toBe(true);
    const outdated = { content: { models: [] }, revision: plan.json.revision };
    expect((await ask("POST", "/catalogue/files/openai", outdated)).refusal).toEqual([409, "conflict", "revision"]);
    expect(Object.keys((await read()).files)).toEqual(["openai", "virtual"]);
    const broken = await ask("POST", "/catalogue/files/openai", { content: { models: [{ id: 5 }] } });
    expect(broken.refusal).toEqual([400, "invalid_request", "content"]);

    expect((await ask("DELETE", "/catalogue/files/virtual?dry_run=true")).json).toMatchObject({ deleted: false });
    const stale = await ask("DELETE", `/catalogue/files/virtual?revision=${plan.json.revision}`);
    expect(stale.refusal).toEqual([409, "conflict", "revision"]);
    const deleted = await ask("DELETE", "/catalogue/files/virtual?revision=*");
    expect(deleted.json).toMatchObject({ id: "virtual", deleted: true, files: ["virtual.json"] });
    expect((await ask("DELETE", "/catalogue/files/virtual")).status).toBe(404);
    expect((await ask("GET", "/catalogue/files/openai")).json.content).toEqual(content);
    await clear();
  });
});

describe("a model of the catalogue", () => {
  const path = "/catalogue/models/openai:famA-4o-mini";

  test("is listed with its layers, changed by the fields that one sets, and goes back to what its plugin says", async () => {
    const { json: before } = await ask("GET", path);
    const id = "openai:famA-4o-mini";
    expect(before).toMatchObject({
      id,
      object: "organization.catalogue.model",
      plugin: "openai",
      model: "famA-4o-mini",
      name: "gpt-4o-mini",
      own: null,
      signed: null,
    });
    expect(before.routes).toEqual([{ plugin: "openai", state: "closed", priority: 100, weight: 1 }]);
    expect(before.unserved_reason).toBeNull();
    const plan = await ask("POST", `${path}?dry_run=true`, { row: { aliases: ["tiny"] } });
    expect(plan.json).toMatchObject({ id, own: null, dry_run: true, files: ["openai.json"] });
    expect(await served("tiny")).toBe(404);

    const { revision } = await read();
    const set = await ask("POST", path, { row: { aliases: ["tiny"], disabled: false }, revision });
    expect(set.json).toMatchObject({ id, dry_run: false, own_files: ["catalogue/openai.json"] });
    expect([set.json.own, set.json.row.aliases, set.json.base]).toEqual([
      { id: "famA-4o-mini", aliases: ["tiny"], disabled: false },
      ["tiny"],
      before.base,
    ]);
    expect(await served("tiny")).toBe(200);
    expect((await ask("POST", path, { row: {}, revision })).refusal).toEqual([409, "conflict", "revision"]);
    const wrong = await ask("POST", path, { row: { premum: true } });
    expect(wrong.refusal).toEqual([400, "invalid_request", "row"]);
    expect(wrong.text).toContain("Cannot use catalogue/openai.json: models[0]");
    const other = await ask("POST", path, { row: { id: "famA-5", premium: true } });
    expect(other.refusal).toEqual([400, "invalid_request", "row.id"]);
    // In place of what was said before: the alias is gone.
    await ask("POST", path, { row: { disabled: true } });
    expect((await ask("GET", path)).json).toMatchObject({
      routes: [],
      own: { disabled: true },
      row: { disabled: true },
    });
    expect([await served("tiny"), await served("famA-4o-mini")]).toEqual([404, 404]);

    for (const query of [`revision=${revision}`, `revision=${revision}&dry_run=true`]) {
      expect((await ask("DELETE", `${path}?${query}`)).refusal).toEqual([409, "conflict", "revision"]);
    }
    const present = (await read()).revision;
    expect((await ask("DELETE", `${path}?revision=${present}`)).json).toMatchObject({ id, deleted: true });
    expect((await ask("DELETE", path)).status).toBe(404);
    expect((await ask("GET", path)).json).toEqual(before);
    expect(await read()).toMatchObject({ files: {} });
  });

  test("is added under any name that its provider may have, and a list has it on one of its pages", async () => {
    const row = { premium: false, upstreamId: "x", ownedBy: "acme", created: 0, capability: "chat" };
    const name = "house/model:1";
    const added = await ask("POST", `/catalogue/models/${encodeURIComponent(`openai:${name}`)}`, { row });
    expect(added.json).toMatchObject({ id: `openai:${name}`, model: name, base: null, own: { id: name } });
    const all: string[] = [];
    let after = "";
    do {
      const { json } = await ask("GET", `/catalogue/models?limit=300${after}`);
      all.push(...json.data.map(({ id }: { id: string }) => id));
      after = json.has_more ? `&after=${encodeURIComponent(json.last_id)}` : "";
      expect([json.shared, json.warnings]).toEqual([false, []]);
    } while (after !== "");
    expect(new Set(all).size).toBe(all.length);
    expect((await ask("GET", "/catalogue/models?limit=1000")).json.data).toHaveLength(Math.min(1000, all.length));
    expect(all).toContain(`openai:${name}`);
    const plan = await ask("POST", "/catalogue/models/openai:other?dry_run=true", { row });
    expect(plan.json).toMatchObject({ id: "openai:other", dry_run: true });
    for (const id of ["nobody:model", "openai", "openai:", ":model"]) {
      expect([id, (await ask("POST", `/catalogue/models/${id}`, { row })).status]).toEqual([id, 404]);
    }
    expect((await ask("DELETE", `/catalogue/models/${encodeURIComponent(`openai:${name}`)}`)).status).toBe(200);
    expect((await ask("GET", `/catalogue/models/${encodeURIComponent(`openai:${name}`)}`)).status).toBe(404);
  });
});

describe("models without a row", () => {
  const path = "/catalogue/unlisted/openai";
  const rate = { usd: "1", per: 1_000_000 };
  const terms = { premium: false, price: { inputToken: rate, outputToken: rate } };
  const find = async () =>
    (await ask("GET", "/catalogue/unlisted?limit=100")).json.data.find(({ id }: { id: string }) => id === "openai");

  test("are sold at the operator's terms, and no longer once they are taken back", async () => {
    expect(await find()).toEqual({ id: "openai", object: "organization.catalogue.unlisted", terms: null, own: false });
    expect((await ask("DELETE", path)).status).toBe(404);
    const wrong = await ask("POST", path, { terms: { premium: false } });
    expect(wrong.refusal).toEqual([400, "invalid_request", "terms"]);
    const set = await ask("POST", path, { terms });
    expect(set.json).toMatchObject({ id: "openai", terms, own: true, dry_run: false, files: ["openai.json"] });
    expect(await find()).toMatchObject({ terms, own: true });
    const found = await ask("GET", "/catalogue/models/openai:model-of-tomorrow");
    expect(found.json).toMatchObject({ base: null, own: null, row: { premium: false } });
    expect((await ask("DELETE", `${path}?revision=older`)).refusal).toEqual([409, "conflict", "revision"]);
    expect(await find()).toMatchObject({ own: true });
    expect((await ask("DELETE", path)).json).toMatchObject({ deleted: true });
    expect(await find()).toMatchObject({ terms: null, own: false });
    expect((await ask("POST", "/catalogue/unlisted/nobody", { terms: null })).status).toBe(404);
    expect(await read()).toMatchObject({ files: {} });
  });
});

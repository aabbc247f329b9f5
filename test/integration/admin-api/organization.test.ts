import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { until } from "../../support/until.ts";

let gateway: InProcessGateway;
let adminKey: string;
let client: OpenAI;
const clock = { offset: 0 };

const makeAdminKey = async (...scopes: string[]) =>
  (await createAdminKey(gateway.store, commandLine, { name: `test ${scopes}`, scopes }, Date.now())).key;

beforeAll(async () => {
  const now = () => Date.now() + clock.offset;
  gateway = await startInProcess({ env: { SANDBOX: "on", REQUESTS_PER_MINUTE: "1000" }, now });
  adminKey = await makeAdminKey("all");
  client = new OpenAI({ adminAPIKey: adminKey, apiKey: null as never, baseURL: gateway.baseUrl, maxRetries: 0 });
});
afterAll(() => gateway.stop());

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  readonly json: any;
}

async function ask(
  method: string,
  path: string,
  { body, key = adminKey, headers = {} }: { body?: unknown; key?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

const newProject = async (fields = {}) =>
  (await ask("POST", "/organization/projects", { body: { name: "Search", ...fields } })).json;
const chat = (key: string, model = "gpt-4.1-nano", more = {}) =>
  ask("POST", "/chat/completions", { key, body: { model, messages: [{ role: "user", content: "Hi" }] }, ...more });
const projects = () => client.admin.organization.projects;

describe("projects", () => {
  test("are created, retrieved, modified, listed page by page and archived by OpenAI's client", async () => {
    const made = await projects().create({ name: "Search team" });
    expect(made).toMatchObject({
      object: "organization.project",
      name: "Search team",
      status: "active",
      archived_at: null,
    });
    expect(await projects().retrieve(made.id)).toEqual(made);
    expect(await projects().update(made.id, { name: "Search and find" })).toMatchObject({ name: "Search and find" });
    const other = await projects().create({ name: "Other" });
    const listed: string[] = [];
    for await (const { id } of projects().list({ limit: 1 })) listed.push(id);
    expect(listed).toContain(made.id);
    expect(listed.indexOf(made.id)).toBeLessThan(listed.indexOf(other.id));
    expect(new Set(listed).size).toBe(listed.length);
    const archived = await projects().archive(other.id);
    expect(archived.status).toBe("archived");
    expect(archived.archived_at).toBeGreaterThan(0);
    const ids = async (query = {}) => (await projects().list({ limit: 100, ...query })).data.map(({ id }) => id);
    expect(await ids()).not.toContain(other.id);
    expect(await ids({ include_archived: true })).toContain(other.id);
    expect((await ask("POST", `/organization/projects/${other.id}`, { body: { status: "active" } })).json.status).toBe(
      "active",
    );
  });

  test("and their keys may name models by any of their names, and show those that clients write", async () => {
    const allowed_models = ["gpt-4.1-nano", "gpt-4o-mini"];
    const { id } = await newProject({ allowed_models, free_tokens_per_day: 100_000 });
    const path = `/organization/projects/${id}`;
    const listed = { name: "listed", allowed_models: ["gpt-4.1-nano", "no-model"] };
    const { json: key } = await ask("POST", `${path}/api_keys`, { body: listed });
    expect(key).toMatchObject({ allowed_models: ["gpt-4.1-nano", "no-model"] });
    expect([await chat(key.value), await chat(key.value, "gpt-4o-mini")].map(({ status }) => status)).toEqual([
      200, 403,
    ]);
    const change = { allowed_models: ["gpt-4o-mini"] };
    expect((await ask("POST", `${path}/api_keys/${key.id}`, { body: change })).json).toMatchObject(change);
    expect([await chat(key.value), await chat(key.value, "gpt-4o-mini")].map(({ status }) => status)).toEqual([
      403, 200,
    ]);
    expect((await ask("POST", path, { body: { allowed_models: ["gpt-4.1-nano"] } })).json).toMatchObject({
      allowed_models: ["gpt-4.1-nano"],
    });
    expect((await chat(key.value, "gpt-4o-mini")).json.error.message).toBe(
      "This account may not use the model 'gpt-4o-mini'; it may use: gpt-4.1-nano",
    );
  });

  test("have wallet, budget, quota, limits and models as further fields, whose money is exact", async () => {
    const made = await newProject({
      email: `${crypto.randomUUID()}@example.org`,
      allowed_models: ["gpt-4.1-nano"],
      free_tokens_per_day: 7,
      requests_per_minute: 3,
      concurrent_calls: 2,
      budget_usd: "12.000000001",
      budget_period: "week",
    });
    expect(made).toMatchObject({
      allowed_models: ["gpt-4.1-nano"],
      free_tokens_per_day: 7,
      requests_per_minute: 3,
      tokens_per_minute: null,
      concurrent_calls: 2,
      wallet: { balance_usd: "0", held_usd: "0" },
      budget: { budget_usd: "12.000000001", budget_period: "week", used_usd: "0" },
    });
    const path = `/organization/projects/${made.id}`;
    const credit = { body: { usd: "0.000000003", note: "a gift", reference: "r1" } };
    expect((await ask("POST", `${path}/credits`, credit)).json).toMatchObject({
      balance_usd: "0.000000003",
      repeated: false,
    });
    expect((await ask("POST", `${path}/credits`, credit)).json).toMatchObject({
      balance_usd: "0.000000003",
      repeated: true,
    });
    const limits = await client.admin.organization.projects.rateLimits.listRateLimits(made.id);
    expect(limits.data).toMatchObject([{ id: "all", model: "*", max_requests_per_1_minute: 3 }]);
    await client.admin.organization.projects.rateLimits.updateRateLimit("all", {
      project_id: made.id,
      max_tokens_per_1_minute: 99,
    });
    const unset = {
      allowed_models: null,
      free_tokens_per_day: null,
      requests_per_minute: null,
      concurrent_calls: null,
    };
    const body = { ...unset, budget_usd: null };
    expect((await ask("POST", path, { body })).json).toMatchObject({ ...unset, budget: null, tokens_per_minute: 99 });
    expect((await ask("GET", path)).json.wallet).toEqual({ balance_usd: "0.000000003", held_usd: "0" });
  });

  test("refuse what is wrong and change nothing then", async () => {
    const made = await newProject();
    const path = `/organization/projects/${made.id}`;
    for (const [body, param] of [
      [{ budget_usd: "much" }, "budget_usd"],
      [{ budget_period: "day" }, "budget_usd"],
      [{ requests_per_minute: 0 }, "requests_per_minute"],
      [{ name: "Other", email: "nobody" }, "email"],
      [{ balance_usd: "9" }, "balance_usd"],
    ] as const) {
      const { status, json } = await ask("POST", path, { body });
      expect([param, status, json.error.param]).toEqual([param, 400, param]);
    }
    expect((await ask("GET", path)).json).toEqual(made);
    expect((await ask("GET", "/organization/projects/acc_unknown")).status).toBe(404);
    expect((await ask("GET", "/organization/projects?after=acc_unknown")).json.error.param).toBe("after");
    expect((await ask("GET", "/organization/projects?limit=0")).json.error.param).toBe("limit");
  });
});

describe("API keys of a project", () => {
  test("are created with limits, work, are changed and are revoked", async () => {
    const { id: project } = await newProject();
    const path = `/organization/projects/${project}/api_keys`;
    const body = { name: "app", expires_in_seconds: 3600, allowed_models: ["gpt-4.1-nano"], budget_usd: "1.00" };
    const { json: made } = await ask("POST", path, { body });
    expect(made).toMatchObject({
      object: "organization.project.api_key",
      name: "app",
      budget_usd: "1",
      budget_used_usd: "0",
    });
    expect(made.value).toStartWith(`sk-mg-${made.id}-`);
    expect((await ask("GET", "/key", { key: made.value })).status).toBe(200);
    const { apiKeys } = client.admin.organization.projects;
    const found = await apiKeys.retrieve(made.id, { project_id: project });
    expect(found).toMatchObject({
      id: made.id,
      redacted_value: `sk-mg-${made.id}-***`,
      owner: { user: { id: project } },
    });
    expect(JSON.stringify(found)).not.toContain(made.value.split("-").at(-1));
    await ask("POST", `${path}/${made.id}`, { body: { name: "app 2", allowed_models: null, expires_at: null } });
    expect((await apiKeys.list(project)).data).toMatchObject([
      { name: "app 2", allowed_models: null, expires_at: null },
    ]);
    expect(await apiKeys.delete(made.id, { project_id: project })).toMatchObject({ deleted: true });
    expect((await ask("GET", "/key", { key: made.value })).status).toBe(401);
    expect((await apiKeys.list(project)).data).toEqual([]);
    expect((await ask("GET", `${path}?include_ended=true`)).json.data).toHaveLength(1);
    expect((await ask("GET", `/organization/projects/${(await newProject()).id}/api_keys/${made.id}`)).status).toBe(
      404,
    );
  });

  test("are rotated: the old secret works until the grace ends, and no longer", async () => {
    const { id: project } = await newProject();
    const path = `/organization/projects/${project}/api_keys`;
    const { json: made } = await ask("POST", path, { body: { name: "app", concurrent_calls: 2 } });
    const { json: rotated } = await ask("POST", `${path}/${made.id}/rotate`, { body: { grace_seconds: 60 } });
    expect(rotated).toMatchObject({ id: made.id, concurrent_calls: 2 });
    expect(rotated.value).not.toBe(made.value);
    expect(rotated.previous_until).toBeGreaterThan(made.created_at + 58);
    const statusOf = async (key: string) => (await ask("GET", "/key", { key })).status;
    expect([await statusOf(made.value), await statusOf(rotated.value)]).toEqual([200, 200]);
    clock.offset += 61_000;
    expect([await statusOf(made.value), await statusOf(rotated.value)]).toEqual([401, 200]);
    clock.offset -= 61_000;
  });

  test("are rotated once by a job that is run again with the same Idempotency-Key", async () => {
    const { id: project } = await newProject();
    const path = `/organization/projects/${project}/api_keys`;
    const { json: made } = await ask("POST", path, { body: { name: "app" } });
    const rotate = () =>
      ask("POST", `${path}/${made.id}/rotate`, {
        body: { grace_seconds: 60 },
        headers: { "idempotency-key": "rotate-today" },
      });
    const { json: first } = await rotate();
    const again = await rotate();
    expect([again.status, again.json]).toEqual([200, first]);
    expect((await ask("GET", "/key", { key: first.value })).status).toBe(200);
    expect((await ask("GET", "/key", { key: made.value })).status).toBe(200);
  });

  test("are refused from networks that are not allowed, also for paid calls", async () => {
    const { id: project } = await newProject();
    const path = `/organization/projects/${project}/api_keys`;
    const { json: made } = await ask("POST", path, { body: { name: "app", allowed_networks: ["192.0.2.0/24"] } });
    const from = (address: string) => ({ headers: { "x-forwarded-for": address } });
    const refused = await chat(made.value, "gpt-4.1-nano", from("198.51.100.7"));
    expect([refused.status, refused.json.error.code]).toEqual([401, "invalid_api_key"]);
    expect(refused.json.error.message).toContain("is not allowed from the address 198.51.100.7");
    expect((await ask("GET", "/key", { key: made.value })).status).toBe(401);
    expect((await ask("GET", "/key", { key: made.value, ...from("192.0.2.200") })).status).toBe(200);
    const wrong = await ask("POST", path, { body: { name: "app", allowed_networks: ["everywhere"] } });
    expect([wrong.status, wrong.json.error.param]).toEqual([400, "allowed_networks"]);
  });

  test("have the gateway's marks for prompt caches off and on again", async () => {
    const { id: project } = await newProject();
    const path = `/organization/projects/${project}/api_keys`;
    const { json: made } = await ask("POST", path, { body: { name: "app", cache_marks: "off" } });
    expect(made).toMatchObject({ cache_marks: "off" });
    const { json: changed } = await ask("POST", `${path}/${made.id}`, { body: { cache_marks: "auto" } });
    expect(changed).toMatchObject({ cache_marks: "auto" });
    const wrong = await ask("POST", path, { body: { name: "app", cache_marks: "on" } });
    expect([wrong.status, wrong.json.error.param]).toEqual([400, "cache_marks"]);
  });

  test("of a service account are given with it, belong to it and end with it", async () => {
    const { id: project } = await newProject();
    const { serviceAccounts, apiKeys } = client.admin.organization.projects;
    const made = await serviceAccounts.create(project, { name: "nightly job" });
    const value = made.api_key?.value as string;
    expect((await ask("GET", "/key", { key: value })).json).toMatchObject({ account: project });
    const more = await ask("POST", `/organization/projects/${project}/service_accounts/${made.id}/api_keys`, {
      body: { name: "b" },
    });
    const listed = (await apiKeys.list(project)).data;
    expect(listed.map(({ owner }) => owner.service_account?.id)).toEqual([made.id, made.id]);
    expect(await serviceAccounts.retrieve(made.id, { project_id: project })).toMatchObject({ name: "nightly job" });
    expect((await serviceAccounts.list(project)).data.map(({ id }) => id)).toEqual([made.id]);
    await serviceAccounts.delete(made.id, { project_id: project });
    for (const key of [value, more.json.value]) expect((await ask("GET", "/key", { key })).status).toBe(401);
    expect((await serviceAccounts.list(project)).data).toEqual([]);
  });
});

describe("people", () => {
  test("are invited with a role and projects, listed, changed, removed and disabled", async () => {
    const { id: project } = await newProject();
    const email = `${crypto.randomUUID()}@example.org`;
    const { organization } = client.admin;
    const invited = await organization.invites.create({
      email,
      role: "reader",
      projects: [{ id: project, role: "member" }],
    });
    expect(invited).toMatchObject({ email, status: "pending", projects: [{ id: project, role: "member" }] });
    const { url } = invited as unknown as { url: string };
    expect(url).toContain("#invitation=");
    expect((await organization.invites.list()).data.map(({ id }) => id)).toContain(invited.id);
    const accept = await fetch(new URL("/dashboard/api/invitations/accept", gateway.baseUrl), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: url.split("=")[1], password: "correct horse battery" }),
    });
    expect(await accept.json()).toEqual({ email });
    const { data: users } = await organization.users.list({ emails: [email] });
    expect(users).toMatchObject([{ email, role: "member" }]);
    const id = users[0]?.id as string;
    expect(await organization.users.update(id, { role: "viewer" })).toMatchObject({ role: "viewer" });
    const ofProject = organization.projects.users;
    expect((await ofProject.list(project)).data).toMatchObject([{ id, role: "member" }]);
    expect(await ofProject.update(id, { project_id: project, role: "owner" })).toMatchObject({ role: "owner" });
    await ofProject.delete(id, { project_id: project });
    expect((await ofProject.list(project)).data).toEqual([]);
    expect(await ofProject.create(project, { user_id: id, role: "member" })).toMatchObject({ id, role: "member" });
    expect((await ask("POST", "/organization/invites", { body: { email, role: "reader" } })).status).toBe(409);
    await organization.users.delete(id);
    expect((await organization.users.retrieve(id)) as unknown).toMatchObject({ disabled: true });
  });

  test("who were invited and have not come can be uninvited", async () => {
    const email = `${crypto.randomUUID()}@example.org`;
    const { invites } = client.admin.organization;
    const { id } = await invites.create({ email, role: "owner" });
    expect(await invites.retrieve(id)).toMatchObject({ email, role: "owner" });
    await invites.delete(id);
    expect((await ask("GET", `/organization/invites/${id}`)).status).toBe(404);
  });
});

describe("admin keys", () => {
  test("make others that can do no more, which are listed without their secret and revoked at once", async () => {
    const key = await makeAdminKey("accounts:write", "usage:read");
    const made = await ask("POST", "/organization/admin_api_keys", {
      key,
      body: { name: "child", scopes: ["usage:read"] },
    });
    expect(made.json).toMatchObject({ object: "organization.admin_api_key", scopes: ["usage:read"] });
    const path = `/organization/costs?start_time=${Math.floor(Date.now() / 1000)}`;
    expect((await ask("GET", path, { key: made.json.value })).status).toBe(200);
    expect((await ask("GET", "/organization/projects", { key: made.json.value })).status).toBe(403);
    const wider = await ask("POST", "/organization/admin_api_keys", { key, body: { name: "child", scopes: ["all"] } });
    expect([wider.status, wider.json.error.code]).toEqual([403, "forbidden"]);
    const { adminAPIKeys } = client.admin.organization;
    const found = await adminAPIKeys.retrieve(made.json.id);
    expect(JSON.stringify(found)).not.toContain(made.json.value.split("-").at(-1));
    expect(await adminAPIKeys.delete(made.json.id)).toMatchObject({ deleted: true });
    expect((await ask("GET", path, { key: made.json.value })).status).toBe(401);
  });

  test("end with the key that made them, and so do its invitations; the answer says how many, and which API keys are left", async () => {
    const parent = await makeAdminKey("all");
    const mint = (key: string, fields = {}) =>
      ask("POST", "/organization/admin_api_keys", { key, body: { name: "child", scopes: ["all"], ...fields } });
    const child = (await mint(parent)).json.value;
    const { value: grandchild } = (await mint(child)).json;
    const email = `${crypto.randomUUID()}@example.org`;
    const invited = await ask("POST", "/organization/invites", { key: child, body: { email, role: "owner" } });
    const project = await newProject();
    const keys = `/organization/projects/${project.id}/api_keys`;
    const apiKey = await ask("POST", keys, { key: grandchild, body: { name: "theirs" } });
    const own = (await ask("GET", "/organization/admin_api_keys?limit=100&order=desc")).json.data;
    const id = own.find((key: { redacted_value: string }) => parent.startsWith(key.redacted_value.slice(0, -3))).id;
    const accept = () =>
      fetch(new URL("/dashboard/api/invitations/accept", gateway.baseUrl), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token: invited.json.url.split("=")[1], password: "correct horse battery" }),
      });
    const revoked = await ask("DELETE", `/organization/admin_api_keys/${id}`);
    expect(revoked.json).toEqual({
      id,
      object: "organization.admin_api_key.deleted",
      deleted: true,
      admin_keys: 3,
      invitations: 1,
      api_keys: [{ id: apiKey.json.id, name: "theirs", project_id: project.id }],
    });
    for (const key of [parent, child, grandchild]) {
      expect((await ask("GET", "/organization/users", { key })).status).toBe(401);
      expect((await mint(key)).status).toBe(401);
    }
    expect((await accept()).status).toBe(404);
    expect((await chat(apiKey.json.value)).status).toBe(200);
    await ask("DELETE", `/organization/admin_api_keys/${id}?revoke_keys=true`);
    expect((await chat(apiKey.json.value)).status).toBe(401);
    const states = (await ask("GET", "/organization/admin_api_keys?limit=100&order=desc")).json.data;
    expect(
      states.filter(
        (key: { name: string; revoked_at: number | null }) => key.name === "child" && key.revoked_at === null,
      ),
    ).toEqual([]);
  });

  test("that have expired invite nobody any more: their links end, and their invitations are shown as ended", async () => {
    const body = { name: "short", scopes: ["all"], expires_in_seconds: 600 };
    const { value: key } = (await ask("POST", "/organization/admin_api_keys", { body })).json;
    const email = `${crypto.randomUUID()}@example.org`;
    const invited = (await ask("POST", "/organization/invites", { key, body: { email, role: "owner" } })).json;
    const status = async () => (await ask("GET", `/organization/invites/${invited.id}`)).json.status;
    const open = async () => {
      const url = new URL("/dashboard/api/invitations/account", gateway.baseUrl);
      const token = invited.url.split("=")[1];
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) };
      return (await fetch(url, init)).status;
    };
    expect([await status(), await open()]).toEqual(["pending", 200]);
    clock.offset += 601_000;
    expect([await status(), await open()]).toEqual(["expired", 404]);
    clock.offset = 0;
  });

  test("are refused without a scope before their body is read, and API keys with a sentence that says why", async () => {
    const key = await makeAdminKey("keys:read");
    const { id } = await newProject();
    const path = `/organization/projects/${id}/api_keys`;
    expect((await ask("GET", path, { key })).status).toBe(200);
    const refused = await fetch(gateway.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: "{ this is no JSON",
    });
    expect([refused.status, (await refused.json()).error.message]).toEqual([
      403,
      expect.stringContaining("lacks the scope keys:write"),
    ]);
    const ofCalls = await ask("GET", path, { key: gateway.key });
    expect([ofCalls.status, ofCalls.json.error.message]).toEqual([
      401,
      expect.stringContaining("This is not an admin key"),
    ]);
    const call = await chat(adminKey);
    expect([call.status, call.json.error.message]).toEqual([
      401,
      expect.stringContaining("is an admin key, which cannot make calls"),
    ]);
  });
});

describe("a write with an Idempotency-Key", () => {
  test("is done once, and repeated with the same secret, which the database alone does not give away", async () => {
    const { id } = await newProject();
    const path = `/organization/projects/${id}/api_keys`;
    const once = { body: { name: "app" }, headers: { "idempotency-key": "the-key-1" } };
    const first = await ask("POST", path, once);
    const second = await ask("POST", path, once);
    expect(second.json).toEqual(first.json);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect((await ask("GET", path)).json.data).toHaveLength(1);
    const other = await ask("POST", path, { ...once, body: { name: "another" } });
    expect([other.status, other.json.error.param]).toEqual([409, "Idempotency-Key"]);
    // Nothing is planned by a parameter that the operation does not have, and nothing is done.
    const planned = await ask("POST", `${path}?dry_run=true`, { body: { name: "another" } });
    expect([planned.status, planned.json.error.param]).toEqual([400, "dry_run"]);
    expect((await ask("GET", path)).json.data).toHaveLength(1);
    const elsewhere = await ask("POST", path, { ...once, key: await makeAdminKey("all") });
    expect(elsewhere.json.id).not.toBe(first.json.id);
    const rows = await gateway.store.db.selectFrom("idempotency_keys").select("answer").execute();
    expect(rows.length).toBeGreaterThan(0);
    for (const { answer } of rows) expect(Buffer.from(answer ?? []).toString("latin1")).not.toContain(first.json.value);
  });

  test("that was refused may be sent again", async () => {
    const { id } = await newProject();
    const path = `/organization/projects/${id}/credits`;
    const send = (usd: string) =>
      ask("POST", path, { body: { usd, note: "x" }, headers: { "idempotency-key": "the-key-2" } });
    expect((await send("nothing")).status).toBe(400);
    expect((await send("1.00")).json.balance_usd).toBe("1");
    expect((await send("1.00")).json.balance_usd).toBe("1");
  });
});

describe("the audit log", () => {
  test("names the admin key that did something, and is filtered and read page by page", async () => {
    const { id } = await newProject();
    await ask("POST", `/organization/projects/${id}/archive`);
    const { auditLogs } = client.admin.organization;
    const found: unknown[] = [];
    for await (const entry of auditLogs.list({ project_ids: [id], limit: 1 })) found.push(entry);
    const actor = { type: "api_key", api_key: { id: adminKey.split("-")[3], name: "test all" } };
    expect(found).toMatchObject([
      { type: "account.disabled", actor, project: { id } },
      { type: "account.create", actor, project: { id } },
    ]);
    const created = await ask("GET", `/organization/audit_logs?event_types[]=account.create&project_ids[]=${id}`);
    expect(created.json.data).toHaveLength(1);
    const later = await ask("GET", `/organization/audit_logs?effective_at[gte]=${Math.floor(Date.now() / 1000) + 60}`);
    expect(later.json.data).toEqual([]);
  });
});

describe("usage and costs", () => {
  test("are what the calls were charged, by project, key and model", async () => {
    const { id: project } = await newProject();
    await ask("POST", `/organization/projects/${project}/credits`, { body: { usd: "5.00", note: "x" } });
    const path = `/organization/projects/${project}/api_keys`;
    const [one, other] = [
      (await ask("POST", path, { body: { name: "a" } })).json,
      (await ask("POST", path, { body: { name: "b" } })).json,
    ];
    const premium = [...gateway.app.kernel.registry.modelEntries].find(
      ({ model }) => model.capability === "chat" && model.premium,
    )?.model.id as string;
    for (const key of [one, one, other]) expect((await chat(key.value, premium)).status).toBe(200);
    const embedded = await ask("POST", "/embeddings", {
      key: other.value,
      body: { model: "text-embedding-3-small", input: "Hi" },
    });
    expect(embedded.status).toBe(200);
    const start = Math.floor(Date.now() / 1000) - 7200;
    const of = { start_time: start, project_ids: [project] };
    const { usage } = client.admin.organization;
    const results = (page: { data: { results: unknown[] }[] }) =>
      page.data.flatMap((bucket) => bucket.results as Record<string, unknown>[]);
    // What nobody looks at is written some seconds later.
    await until(async () => results(await usage.embeddings(of)).length > 0);
    const [all, ...none] = results(await usage.completions(of));
    expect(none).toEqual([]);
    expect(all).toMatchObject({ num_model_requests: 3, project_id: null, api_key_id: null, model: null });
    const byKey = results(await usage.completions({ ...of, bucket_width: "1h", group_by: ["api_key_id", "model"] }));
    const requests = (id: string) =>
      byKey.filter((row) => row.api_key_id === id).reduce((sum, row) => sum + Number(row.num_model_requests), 0);
    expect([requests(one.id), requests(other.id)]).toEqual([2, 1]);
    expect(new Set(byKey.map((row) => row.model))).toEqual(new Set([premium]));
    const { aliases = [] } = (await ask("GET", `/models/${premium}`, { key: one.value })).json;
    for (const name of [premium, ...aliases]) {
      expect(results(await usage.completions({ ...of, models: [name] }))).toMatchObject([{ num_model_requests: 3 }]);
    }
    expect(aliases.length).toBeGreaterThan(0);
    expect(results(await usage.embeddings({ ...of, group_by: ["project_id"] }))).toMatchObject([
      { project_id: project, num_model_requests: 1 },
    ]);
    const calls = await gateway.store.db
      .selectFrom("calls")
      .select("charged_nanodollars")
      .where("account_id", "=", project)
      .execute();
    const charged = calls.reduce((sum, call) => sum + Number(call.charged_nanodollars ?? 0), 0);
    expect(charged).toBeGreaterThan(0);
    const [cost] = results(await usage.costs({ ...of, group_by: ["project_id"] }));
    expect(cost).toMatchObject({
      object: "organization.costs.result",
      amount: { value: charged / 1e9, currency: "usd" },
    });
    const ofKey = await ask("GET", `/key/usage?start_time=${start}&group_by=model`, { key: one.value });
    expect(results(ofKey.json)).toMatchObject([{ object: "key.usage.result", num_model_requests: 2, model: premium }]);
    expect(
      (await ask("GET", `/key/usage?start_time=${start}&api_key_ids=${other.id}`, { key: one.value })).json,
    ).toEqual((await ask("GET", `/key/usage?start_time=${start}`, { key: one.value })).json);
    const { wallet } = (await ask("GET", `/organization/projects/${project}`)).json;
    const toNano = (usd: string) => Math.round(Number(usd) * 1e9);
    expect(toNano(cost?.charged_usd as string)).toBe(charged);
    expect(toNano(wallet.balance_usd)).toBe(5_000_000_000 - charged);
    const lines = results(await usage.costs({ ...of, group_by: ["line_item"] }));
    expect(lines.map((line) => line.line_item).sort()).toEqual(["text-embedding-3-small", premium].sort());
  });

  test("come in buckets without gaps, page by page", async () => {
    const day = 86_400;
    const start = Math.floor(Date.now() / 1000 / day) * day - 4 * day;
    const path = `/organization/usage/completions?start_time=${start}&end_time=${start + 4 * day}&limit=3`;
    const first = (await ask("GET", path)).json;
    expect(first.data.map((bucket: { start_time: number }) => bucket.start_time)).toEqual(
      [0, 1, 2].map((n) => start + n * day),
    );
    expect(first).toMatchObject({ object: "page", has_more: true });
    const second = (await ask("GET", `${path}&page=${first.next_page}`)).json;
    expect(second).toMatchObject({
      has_more: false,
      next_page: null,
      data: [{ start_time: start + 3 * day, end_time: start + 4 * day }],
    });
  });

  test("that are not kept are refused by name", async () => {
    for (const [query, param] of [
      ["", "start_time"],
      ["start_time=1&bucket_width=1m", "bucket_width"],
      ["start_time=1&group_by=user_id", "group_by"],
      ["start_time=1&user_ids=x", "user_ids"],
      ["start_time=1&limit=1000", "limit"],
      ["start_time=1&page=next", "page"],
      ["start_time=9&end_time=8", "end_time"],
    ] as const) {
      const { status, json } = await ask("GET", `/organization/usage/completions?${query}`);
      expect([query, status, json.error?.param]).toEqual([query, 400, param]);
    }
  });
});

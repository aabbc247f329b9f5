import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let adminKey: string;
/** It stands still, so that no minute goes by while a test runs. */
const at = Date.UTC(2030, 0, 2, 12);

beforeAll(async () => {
  const rows = [{ id: "either", models: ["famA-4.1-nano", "famA-4.1-mini"] }];
  gateway = await startInProcess({ env: { SANDBOX: "on", FREE_TOKENS_PER_DAY: "1000000000" }, now: () => at });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, at)).key;
  await ask("PUT", "/organization/config", { virtual_models: rows });
});
afterAll(() => gateway.stop());

// biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
type Answer = { readonly status: number; readonly headers: Headers; readonly json: any };

async function ask(method: string, path: string, body?: unknown, key = adminKey): Promise<Answer> {
  const response = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

/** A project with money and two keys, and the path of its limits. */
async function newProject() {
  const { id } = (await ask("POST", "/organization/projects", { name: "Search" })).json;
  await ask("POST", `/organization/projects/${id}/credits`, { usd: "10.00", note: "test" });
  const keys = ["a", "b"].map((name) => ask("POST", `/organization/projects/${id}/api_keys`, { name }));
  const [one, other] = (await Promise.all(keys)).map(({ json }) => json) as [Answer["json"], Answer["json"]];
  return { id, path: `/organization/projects/${id}/rate_limits`, one, other };
}

const model = "gpt-4.1";
/** The id of the model. */
const id = "famA-4.1";
const chat = (key: { value: string }, name = model) =>
  ask("POST", "/chat/completions", { model: name, messages: [{ role: "user", content: "Hi" }] }, key.value);

describe("limits of a model", () => {
  test("are set, read, changed and deleted, also by OpenAI's client", async () => {
    const { id, path, one } = await newProject();
    const { status, json: made } = await ask("POST", path, { model, max_requests_per_1_minute: 5 });
    const shown = { object: "project.rate_limit", model, api_key_id: null, max_concurrent_calls: null };
    const whole = { ...shown, id: made.id, max_requests_per_1_minute: 5, max_tokens_per_1_minute: null };
    expect([status, made]).toEqual([200, whole]);
    expect((await ask("POST", path, { model, max_tokens_per_1_minute: 900 })).json).toEqual({
      ...whole,
      max_requests_per_1_minute: null,
      max_tokens_per_1_minute: 900,
    });
    await ask("POST", path, { model, api_key_id: one.id, max_concurrent_calls: 2 });

    const client = new OpenAI({ adminAPIKey: adminKey, apiKey: "none", baseURL: gateway.baseUrl });
    const { rateLimits } = client.admin.organization.projects;
    const changed = await rateLimits.updateRateLimit(made.id, { project_id: id, max_requests_per_1_minute: 7 });
    expect([changed.max_requests_per_1_minute, changed.max_tokens_per_1_minute]).toEqual([7, 900]);
    const listed: [string, string][] = [];
    for await (const limit of rateLimits.listRateLimits(id, { limit: 1 })) listed.push([limit.id, limit.model]);
    expect(listed).toEqual([
      ["all", "*"],
      [made.id, model],
      [expect.any(String), model],
    ]);

    expect((await ask("POST", `${path}/${made.id}`, { max_requests_per_1_minute: null })).json).toMatchObject({
      max_requests_per_1_minute: null,
      max_tokens_per_1_minute: 900,
    });
    expect((await ask("DELETE", `${path}/${made.id}`)).json).toMatchObject({ id: made.id, deleted: true });
    expect((await ask("DELETE", `${path}/${made.id}`)).status).toBe(404);
    expect((await ask("GET", path)).json.data.length).toBe(2);
    const { entries } = await readAudit(gateway.store, { subject: made.id });
    expect(entries.map(({ action }) => action).toSorted()).toEqual([
      "model_limit.delete",
      ...Array.from({ length: 4 }, () => "model_limit.set"),
    ]);
  });

  test("refuse a call by name, in its message and its headers, and leave other models and keys alone", async () => {
    const { path, one, other } = await newProject();
    await ask("POST", path, { model, api_key_id: one.id, max_requests_per_1_minute: 1 });
    const { headers } = await chat(one);
    expect(headers.get("x-ratelimit-limit-requests")).toBe("1");
    const refused = await chat(one);
    expect(refused.json.error).toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
    expect(refused.json.error.message).toStartWith(
      `Request limit reached: 1 requests a minute of the model "${model}" for this key`,
    );
    const names = ["x-modelgate-limit", "retry-after", "x-ratelimit-remaining-requests", "x-ratelimit-limit-requests"];
    expect([refused.status, ...names.map((name) => refused.headers.get(name))]).toEqual([
      429,
      `requests_per_minute;owner=key;model="${model}"`,
      "60",
      "0",
      "1",
    ]);
    expect([(await chat(one, "famA-4.1-nano")).status, (await chat(other)).status]).toEqual([200, 200]);
    expect((await ask("GET", "/key", undefined, one.value)).json.limits.models).toEqual([
      { model, of: "key", requests_per_minute: 1, tokens_per_minute: null, concurrent_calls: null },
    ]);
  });

  test("count the calls of a model by all of its names, and say the name that the call has", async () => {
    const { path, one } = await newProject();
    await ask("POST", path, { model, max_requests_per_1_minute: 1 });
    expect([(await chat(one)).status, (await chat(one, id)).status]).toEqual([200, 429]);
    for (const name of [model, id, "gpt-4.1-2025-04-14"]) {
      const refused = await chat(one, name);
      expect(refused.headers.get("x-modelgate-limit")).toBe(`requests_per_minute;owner=account;model="${name}"`);
      expect(refused.json.error.message).toContain(`the model "${name}"`);
    }
  });

  test("of an account are for all of its keys together, and those for each account give way to them", async () => {
    const [{ path, one, other }, neighbour] = [await newProject(), await newProject()];
    const shared = (await ask("POST", "/organization/rate_limits", { model, max_requests_per_1_minute: 1 })).json;
    try {
      expect((await ask("GET", "/organization/rate_limits")).json.data).toEqual([shared]);
      expect([(await chat(neighbour.one)).status, (await chat(neighbour.other)).status]).toEqual([200, 429]);
      await ask("POST", path, { model, max_requests_per_1_minute: 3 });
      const calls = [await chat(one), await chat(other), await chat(one), await chat(other)];
      expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
      expect(calls[3]?.headers.get("x-modelgate-limit")).toBe(`requests_per_minute;owner=account;model="${model}"`);
      const changed = await ask("POST", `/organization/rate_limits/${shared.id}`, { max_requests_per_1_minute: 2 });
      expect(changed.json.max_requests_per_1_minute).toBe(2);
      // What was counted before counts on by its share of the minute.
      expect((await chat(neighbour.one)).status).toBe(429);
    } finally {
      expect((await ask("DELETE", `/organization/rate_limits/${shared.id}`)).json.deleted).toBe(true);
    }
    expect((await chat(neighbour.one)).status).toBe(200);
  });

  test("send a call of a virtual model on to its next member", async () => {
    const { path, one } = await newProject();
    await ask("POST", path, { model: "famA-4.1-nano", max_requests_per_1_minute: 1 });
    await chat(one, "either");
    const { status, headers } = await chat(one, "either");
    expect([status, headers.get("x-modelgate-model"), headers.get("x-modelgate-failed")]).toEqual([
      200,
      "famA-4.1-mini",
      "famA-4.1-nano=rate_limit_exceeded",
    ]);
    await ask("POST", path, { model: "famA-4.1-mini", max_requests_per_1_minute: 1 });
    await chat(one, "either");
    const refused = await chat(one, "either");
    expect([refused.status, refused.headers.get("x-modelgate-limit")]).toEqual([
      429,
      'requests_per_minute;owner=account;model="famA-4.1-mini"',
    ]);
    await ask("POST", `${path}/all`, { max_requests_per_1_minute: 1 });
    const all = await chat(one, "either");
    expect([all.status, all.headers.get("x-modelgate-limit")]).toEqual([429, "requests_per_minute;owner=account"]);
  });

  test.each<[string, object, string]>([
    ["without a limit", { model }, "requests_per_minute"],
    ["of a virtual model", { model: "either", max_requests_per_1_minute: 1 }, "model"],
    ["of a key of nobody", { model, api_key_id: "key_x", max_requests_per_1_minute: 1 }, "api_key_id"],
    ["of nothing a minute", { model, max_requests_per_1_minute: 0 }, "max_requests_per_1_minute"],
  ])("%s are refused", async (_, body, param) => {
    const { path } = await newProject();
    const { status, json } = await ask("POST", path, body);
    expect([status, json.error.param]).toEqual([400, param]);
    if (param === "model") expect(json.error.message).toContain('"either" is a virtual model');
  });

  test("for all models together are those of the project, which has concurrent calls of its own too", async () => {
    const { path } = await newProject();
    const { status, json } = await ask("POST", `${path}/all`, { max_concurrent_calls: 3 });
    expect([status, json.max_concurrent_calls]).toEqual([200, 3]);
    expect((await ask("GET", path)).json.data[0].max_concurrent_calls).toBe(3);
  });
});

describe("limits of a role", () => {
  const path = "/organization/role_limits";

  test("are listed for each role, refuse the next call, and are shown as those of its projects", async () => {
    const { path: ofProject, one } = await newProject();
    expect((await ask("GET", `${ofProject}/all`)).json).toMatchObject({ id: "all", model: "*" });
    expect((await ask("GET", ofProject.replace(/projects\/[^/]+/, "projects/unknown").concat("/all"))).status).toBe(
      404,
    );
    const unset = { max_requests_per_1_minute: null, max_tokens_per_1_minute: null, max_concurrent_calls: null };
    const roles = ["owner", "admin", "viewer", "member", "none"];
    expect((await ask("GET", path)).json.data).toEqual(
      roles.map((id) => ({ id, object: "organization.role_limit", role: id, ...unset, free_tokens_per_day: null })),
    );
    expect((await ask("GET", `${path}/none`)).json).toMatchObject({ id: "none", ...unset });
    expect((await ask("GET", `${path}/guest`)).status).toBe(404);
    const { status, json } = await ask("POST", `${path}/none`, {
      max_requests_per_1_minute: 1,
      max_concurrent_calls: 9,
    });
    try {
      expect([status, json]).toMatchObject([
        200,
        { id: "none", max_requests_per_1_minute: 1, free_tokens_per_day: null },
      ]);
      const all = { id: "all", max_requests_per_1_minute: 1, max_concurrent_calls: 9 };
      expect((await ask("GET", ofProject)).json.data).toMatchObject([all]);
      const calls = [await chat(one), await chat(one)];
      expect(calls.map(({ status }) => status)).toEqual([200, 429]);
      expect(calls[1]?.headers.get("x-modelgate-limit")).toBe("requests_per_minute;owner=account");
    } finally {
      const back = { max_requests_per_1_minute: null, max_concurrent_calls: null };
      expect((await ask("POST", `${path}/none`, back)).json).toMatchObject(unset);
    }
  });

  test("are refused for a role that there is not, and for numbers that cannot be", async () => {
    expect((await ask("POST", `${path}/guest`, { max_requests_per_1_minute: 1 })).status).toBe(404);
    const { status, json } = await ask("POST", `${path}/member`, { free_tokens_per_day: -1 });
    expect([status, json.error.param]).toEqual([400, "free_tokens_per_day"]);
  });
});

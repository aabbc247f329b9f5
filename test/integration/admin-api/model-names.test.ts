import { afterAll, beforeAll, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let adminKey: string;
let project: string;
let key: string;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  const at = Date.now();
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, at)).key;
  project = `/organization/projects/${(await ask("POST", "/organization/projects", { name: "Search" })).json.id}`;
  key = (await ask("POST", `${project}/api_keys`, { name: "one" })).json.id;
});
afterAll(() => gateway.stop());

// biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> {
  const response = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

const limit = (model: string) => ({ model, max_requests_per_1_minute: 1 });
const budget = (name: string) => ({ subject: "model", name, budget_usd: "1.00", budget_period: "day" });
const policy = (model: string) => ({ policy: "guard", model, order: 1, on_failure: "closed" });
const list = (model: string) => ({ name: "k", allowed_models: ["gpt-4.1", model] });

/** Every place where an operator names the model of a rule: its method, its path and the body for a name. */
const places: readonly [string, string, () => string, (name: string) => unknown][] = [
  ["the limits of a project", "POST", () => `${project}/rate_limits`, limit],
  [
    "the limits of the document",
    "PUT",
    () => "/organization/config",
    (name) => ({ rate_limits: [{ model: name, requests_per_minute: 1 }] }),
  ],
  ["the budgets of a project", "POST", () => `${project}/budgets`, budget],
  ["the budgets of the gateway", "POST", () => "/organization/budgets", budget],
  ["the budgets of the document", "PUT", () => "/organization/config", (name) => ({ budgets: [budget(name)] })],
  ["the policies of a project", "POST", () => `${project}/policies`, policy],
  ["the policies of the gateway", "POST", () => "/organization/policies", policy],
  ["the policies of the document", "PUT", () => "/organization/config", (name) => ({ policies: [policy(name)] })],
  ["a new key", "POST", () => `${project}/api_keys`, list],
  ["a changed key", "POST", () => `${project}/api_keys/${key}`, list],
  ["a new project", "POST", () => "/organization/projects", list],
  ["a changed project", "POST", () => project, list],
  [
    "a service account",
    "POST",
    () => `${project}/service_accounts`,
    (name) => ({ name: "bot", allowed_models: [name] }),
  ],
];

const patterns = ["*", "gpt-4.1-*", "openai/*", "*-mini"];

test.each(places)("%s: a pattern is refused, because it would bind no call", async (_, method, path, bodyOf) => {
  for (const name of patterns) {
    const { status, json } = await ask(method, path(), bodyOf(name));
    expect([name, status]).toEqual([name, 400]);
    const problem = `${JSON.stringify(name)} is a pattern, but names of models are exact; name each model`;
    expect(json.error.message).toContain(problem);
  }
});

test.each(places)("%s: white space around a name is refused", async (_, method, path, bodyOf) => {
  for (const name of ["gpt-4.1 ", " gpt-4.1"]) {
    const { status, json } = await ask(method, path(), bodyOf(name));
    expect([name, status]).toEqual([name, 400]);
    expect(json.error.message).toContain("has white space around it; leave that out");
  }
});

test("a name that a later plugin may have is kept", async () => {
  expect((await ask("POST", `${project}/rate_limits`, limit("acme/later"))).status).toBe(200);
  expect((await ask("POST", `${project}/api_keys`, list("acme/later"))).status).toBe(200);
});

test("the document of a gateway with limits for all models together is accepted as it is", async () => {
  const { json } = await ask("GET", "/organization/config");
  expect((await ask("PUT", "/organization/config", json)).status).toBe(200);
});

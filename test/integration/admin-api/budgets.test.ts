import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { creditWallet, verifyLedger } from "../../../src/ledger/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let adminKey: string;
/** Noon of a Wednesday: no period ends while a test runs. */
const clock = { offset: Date.UTC(2030, 0, 2, 12) - Date.now() };
const now = () => Date.now() + clock.offset;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" }, now });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, now())).key;
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
  body?: unknown,
  { key = adminKey, headers = {} } = {},
): Promise<Answer> {
  const response = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

/** A project with money and a key, and the path of its budgets. */
async function newProject() {
  const { id } = (await ask("POST", "/organization/projects", { name: "Search" })).json;
  await creditWallet(gateway.store, { accountId: id, nanodollars: 10_000_000_000, note: "test" });
  gateway.store.bumpRevision();
  const { json: key } = await ask("POST", `/organization/projects/${id}/api_keys`, { name: "app" });
  return { id, path: `/organization/projects/${id}/budgets`, key: key.value as string, keyId: key.id as string };
}

const premium = "gpt-4.1";
const chat = (key: string, more: object = {}, headers = {}) => {
  const body = { model: premium, messages: [{ role: "user", content: "Hi" }], ...more };
  return ask("POST", "/chat/completions", body, { key, headers });
};

describe("budgets by subject", () => {
  test("are created, read, changed, listed page by page and deleted", async () => {
    const { path, keyId } = await newProject();
    const fields = { subject: "end_user", budget_usd: "1.00", budget_period: "day" };
    const { status, json: made } = await ask("POST", path, fields);
    expect([status, made]).toEqual([
      200,
      {
        id: made.id,
        object: "organization.project.budget",
        subject: "end_user",
        name: null,
        api_key_id: null,
        budget_usd: "1",
        budget_period: "day",
        raise_usd: null,
        raise_until: null,
        used_usd: null,
        created_at: made.created_at,
        resets_at: expect.stringMatching(/T00:00:00\.000Z$/),
      },
    ]);
    const ofAda = (await ask("POST", path, { ...fields, name: "ada", budget_period: "lifetime" })).json;
    expect(ofAda).toMatchObject({ name: "ada", used_usd: "0", resets_at: null });
    const ofKey = (await ask("POST", path, { ...fields, subject: "tag", api_key_id: keyId })).json;
    const page = (await ask("GET", `${path}?limit=2`)).json;
    expect([page.data.map(({ id }: { id: string }) => id), page.has_more]).toEqual([[made.id, ofAda.id], true]);
    expect((await ask("GET", `${path}?after=${page.last_id}`)).json.data).toEqual([ofKey]);
    const until = Math.floor(now() / 1000) + 60;
    const raised = { budget_usd: "2.50", raise_usd: "5.00", raise_until: until };
    expect((await ask("POST", `${path}/${made.id}`, raised)).json).toMatchObject({ budget_usd: "2.5", raise_usd: "5" });
    expect((await ask("POST", `${path}/${made.id}`, { raise_usd: null, raise_until: null })).json).toEqual({
      ...made,
      budget_usd: "2.5",
    });
    expect((await ask("DELETE", `${path}/${made.id}`)).json).toEqual({
      id: made.id,
      object: "organization.project.budget.deleted",
      deleted: true,
    });
    expect((await ask("GET", `${path}/${made.id}`)).status).toBe(404);
    const actions = (await ask("GET", "/organization/audit_logs?limit=4")).json.data.map(
      ({ type }: { type: string }) => type,
    );
    expect(actions).toEqual(["budget.delete", "budget.change", "budget.change", "budget.create"]);
  });

  test.each<[string, Record<string, unknown>, number, string | null]>([
    ["no subject", { subject: "person" }, 400, "subject"],
    ["an account with a name", { subject: "account", name: "a" }, 400, "name"],
    ["a key of a key", { subject: "key", api_key_id: "k" }, 400, "api_key_id"],
    ["a key that is not there", { subject: "key", name: "k" }, 400, "name"],
    ["each of endless names without an end", { budget_period: "lifetime" }, 400, "budget_period"],
    ["an amount below 0", { budget_usd: "-1" }, 400, "budget_usd"],
    ["half a raise", { raise_usd: "1" }, 400, "raise_until"],
    ["a raise that is over", { raise_usd: "1", raise_until: 1 }, 400, "raise_until"],
    ["a second one of the same", {}, 409, null],
  ])("are refused: %s", async (_, fields, status, param) => {
    const { path } = await newProject();
    const body = { subject: "end_user", budget_usd: "1.00", budget_period: "day" };
    await ask("POST", path, body);
    const { status: answered, json } = await ask("POST", path, { ...body, ...fields });
    expect([answered, json.error?.param]).toEqual([status, param]);
  });

  test("bind the calls of each end user at once, name them, and are seen by the key and the operator", async () => {
    const { path, key, id } = await newProject();
    const made = await ask("POST", path, { subject: "end_user", budget_usd: "0.000001", budget_period: "day" });
    const refused = await chat(key, { user: "ada", max_tokens: 50 });
    expect([refused.status, refused.json.error.code]).toEqual([403, "budget_exceeded"]);
    expect(refused.json.error.message).toStartWith('Daily budget of end user "ada" reached: 0.000001 USD');
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await ask("POST", `${path}/${made.json.id}`, { budget_usd: "0.01" });
    expect((await chat(key, { user: "ada", max_tokens: 50 })).status).toBe(200);
    expect((await chat(key, { max_tokens: 50 }, { "x-modelgate-end-user": "ben" })).status).toBe(200);
    expect((await chat(key, { max_tokens: 50 })).status).toBe(200);
    const { data, has_more: more } = (await ask("GET", `${path}/${made.json.id}/usage`)).json;
    expect(data.map(({ name }: { name: string | null }) => name).toSorted()).toEqual(["ada", "ben", null]);
    expect([more, data.every(({ used_usd: used }: { used_usd: string }) => Number(used) > 0)]).toEqual([false, true]);
    await ask("POST", path, { subject: "model", name: premium, budget_usd: "5", budget_period: "week" });
    await chat(key, { user: "ada", max_tokens: 50 });
    const { budgets } = (await ask("GET", "/key", undefined, { key })).json;
    expect(budgets).toMatchObject([
      { subject: "end_user", name: null, period: "day", limit_usd: "0.01", used_usd: null, resets_at: null },
      { subject: "model", name: expect.stringContaining("4.1"), period: "week", limit_usd: "5", held_usd: "0" },
    ]);
    expect(Number(budgets[1].used_usd)).toBeGreaterThan(0);
    const listed = (await ask("GET", path)).json.data[1];
    expect(listed.used_usd).toBe(budgets[1].used_usd);
    expect((await verifyLedger(gateway.store)).differences).toEqual([]);
    expect(id).toBeString();
  });

  test("are raised for a time, and only for that", async () => {
    const { path, key } = await newProject();
    const until = Math.floor(now() / 1000) + 3600;
    const tag = { "x-modelgate-tag": "nightly" };
    const body = { subject: "tag", name: "nightly", budget_usd: "0", budget_period: "lifetime" };
    await ask("POST", path, { ...body, raise_usd: "1.00", raise_until: until });
    expect((await chat(key, { max_tokens: 50 }, tag)).status).toBe(200);
    expect((await ask("GET", "/key", undefined, { key })).json.budgets).toMatchObject([{ limit_usd: "1" }]);
    clock.offset += 3_600_000;
    const refused = await chat(key, { max_tokens: 50 }, tag);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([403, null]);
    expect(refused.json.error.message).toStartWith('Lifetime budget of tag "nightly" reached: 0 USD');
    expect((await chat(key, { max_tokens: 50 })).status).toBe(200);
  });
});

describe("budgets of the gateway", () => {
  test("bind each project beside its own, count what was spent before, and tell who spent the most", async () => {
    const [one, other] = [await newProject(), await newProject()];
    expect((await chat(one.key)).status).toBe(200);
    const fields = { subject: "account", budget_usd: "0.000001", budget_period: "day" };
    const made = (await ask("POST", "/organization/budgets", fields)).json;
    expect(made).toMatchObject({ object: "organization.budget", subject: "account", used_usd: null });
    try {
      const refused = await chat(one.key);
      expect([refused.status, refused.json.error.code]).toEqual([403, "budget_exceeded"]);
      expect(refused.json.error.message).toContain("Daily budget of this account reached");
      const changed = await ask("POST", `/organization/budgets/${made.id}`, { budget_usd: "5", budget_period: "week" });
      expect(changed.json).toMatchObject({ budget_usd: "5", budget_period: "week" });
      expect((await chat(one.key)).status).toBe(200);
      const { data } = (await ask("GET", `/organization/budgets/${made.id}/usage`)).json;
      const of = ({ id }: { id: string }) => data.find(({ project_id }: { project_id: string }) => project_id === id);
      expect([of(one)?.name, of(other)]).toEqual([null, undefined]);
      expect((await ask("GET", "/organization/budgets")).json.data.map(({ id }: { id: string }) => id)).toEqual([
        made.id,
      ]);
      expect((await ask("GET", "/key", undefined, { key: other.key })).json.budgets).toMatchObject([{ used_usd: "0" }]);
    } finally {
      expect((await ask("DELETE", `/organization/budgets/${made.id}`)).json.deleted).toBe(true);
    }
    expect((await ask("GET", "/key", undefined, { key: one.key })).json.budgets).toEqual([]);
  });

  test("over each team leave the accounts of people alone, and say what they cannot count", async () => {
    const made = (
      await ask("POST", "/organization/budgets", { subject: "team", budget_usd: "0", budget_period: "month" })
    ).json;
    const team = await newProject();
    const { id } = (await ask("POST", "/organization/projects", { email: "grace@example.org" })).json;
    await creditWallet(gateway.store, { accountId: id, nanodollars: 10_000_000_000, note: "test" });
    gateway.store.bumpRevision();
    const { value: key } = (await ask("POST", `/organization/projects/${id}/api_keys`, { name: "app" })).json;
    expect((await chat(team.key)).json.error.message).toContain("Monthly budget of this team reached");
    expect((await chat(key)).status).toBe(200);
    expect((await ask("DELETE", `/organization/budgets/${made.id}`)).status).toBe(200);
    for (const [body, param] of [
      [{ subject: "key", name: "k", budget_usd: "1", budget_period: "day" }, "name"],
      [{ subject: "session", budget_usd: "1", budget_period: "day" }, "budget_period"],
      [{ subject: "tag", budget_usd: "1", budget_period: "session" }, "budget_period"],
      [{ subject: "tag", api_key_id: "k", budget_usd: "1", budget_period: "day" }, "api_key_id"],
    ] as const) {
      const answer = await ask("POST", "/organization/budgets", body);
      expect([answer.status, answer.json.error.param]).toEqual([400, param]);
    }
    const ofProject = await ask("POST", team.path, { subject: "team", budget_usd: "1", budget_period: "day" });
    expect([ofProject.status, ofProject.json.error.param]).toEqual([400, "subject"]);
  });
});

test("budget_usd of a key and a project is the budget that has this subject", async () => {
  const { id, path, key, keyId } = await newProject();
  expect((await chat(key)).status).toBe(200);
  const ofKey = await ask("POST", `/organization/projects/${id}/api_keys/${keyId}`, {
    budget_usd: "5",
    budget_period: "day",
  });
  const used = ofKey.json.budget_used_usd;
  expect(Number(used)).toBeGreaterThan(0);
  await ask("POST", `/organization/projects/${id}`, { budget_usd: "9" });
  const { data } = (await ask("GET", path)).json;
  expect(data).toMatchObject([
    { subject: "key", name: keyId, budget_usd: "5", budget_period: "day", used_usd: used },
    { subject: "account", name: null, budget_usd: "9", budget_period: "month", used_usd: used },
  ]);
  await ask("POST", `${path}/${data[0].id}`, { budget_usd: "6", budget_period: "month" });
  const { json } = await ask("GET", `/organization/projects/${id}/api_keys/${keyId}`);
  expect(json).toMatchObject({ budget_usd: "6", budget_period: "month", budget_used_usd: used });
  const more = await ask("POST", path, { subject: "key", name: keyId, budget_usd: "1", budget_period: "day" });
  expect(more.status).toBe(200);
  const clash = await ask("POST", `/organization/projects/${id}/api_keys/${keyId}`, { budget_period: "day" });
  expect([clash.status, clash.json.error.param]).toEqual([409, "budget_period"]);
  expect((await ask("GET", "/key", undefined, { key })).json).toMatchObject({
    budget: { limit_usd: "6", used_usd: used },
    account_budget: { limit_usd: "9", used_usd: used },
  });
  expect((await ask("DELETE", `${path}/${data[0].id}`)).status).toBe(200);
  expect((await ask("GET", `/organization/projects/${id}/api_keys/${keyId}`)).json.budget_usd).toBeNull();
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
});

test("a project that is billed afterwards needs a budget, and owes what it spends of it", async () => {
  const { id } = (await ask("POST", "/organization/projects", { name: "Billed" })).json;
  const { value: key } = (await ask("POST", `/organization/projects/${id}/api_keys`, { name: "app" })).json;
  const without = await ask("POST", `/organization/projects/${id}`, { billed_afterwards: true });
  expect([without.status, without.json.error.param]).toEqual([400, "billed_afterwards"]);
  const set = await ask("POST", `/organization/projects/${id}`, { billed_afterwards: true, budget_usd: "3" });
  expect(set.json).toMatchObject({ billed_afterwards: true, budget: { budget_usd: "3" } });
  expect((await chat(key)).status).toBe(200);
  const { wallet } = (await ask("GET", `/organization/projects/${id}`)).json;
  expect(Number(wallet.balance_usd)).toBeLessThan(0);
  const kept = await ask("POST", `/organization/projects/${id}`, { budget_usd: null });
  expect([kept.status, kept.json.error.param]).toEqual([409, "budget_usd"]);
  expect(
    (await ask("POST", `/organization/projects/${id}`, { billed_afterwards: false, budget_usd: null })).status,
  ).toBe(200);
  expect((await chat(key)).json.error.code).toBe("insufficient_balance");
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
});

test("a session's budget counts the calls that name it by header, and no others", async () => {
  const { path, key } = await newProject();
  const of = (session: string) => chat(key, {}, { "session-id": session });
  expect((await of("one")).status).toBe(200);
  const made = await ask("POST", path, { subject: "session", budget_usd: "0.000001", budget_period: "session" });
  expect(made.json).toMatchObject({ budget_period: "session", resets_at: null });
  const refused = await of("one");
  expect([refused.status, refused.json.error.code]).toEqual([403, "budget_exceeded"]);
  expect(refused.json.error.message).toStartWith('Session budget of session "one" reached');
  const { data } = (await ask("GET", `${path}/${made.json.id}/usage`)).json;
  expect(data.map(({ name }: { name: string }) => name)).toEqual(["one"]);
  expect((await ask("POST", `${path}/${made.json.id}`, { budget_usd: "1" })).status).toBe(200);
  expect((await of("one")).status).toBe(200);
  const changed = await ask("POST", `${path}/${made.json.id}`, { budget_period: "day" });
  expect([changed.status, changed.json.error.param]).toEqual([400, "budget_period"]);
});

test("the document sets budgets over each account, shows them, changes them by what they count and removes them", async () => {
  const budget = { subject: "end_user", budget_usd: "2", budget_period: "day" };
  const put = async (entry: object) => (await ask("PUT", "/organization/config", { budgets: [entry] })).json;
  const shown = async () =>
    (await ask("GET", "/organization/config?sections=budgets")).json.budgets.filter(
      (one: { account?: string }) => one.account === undefined,
    );
  expect((await put(budget)).changes).toMatchObject([{ section: "budgets", action: "create" }]);
  expect(await shown()).toMatchObject([budget]);
  expect((await put(budget)).changes).toEqual([]);
  expect((await put({ ...budget, budget_usd: "3" })).changes).toMatchObject([{ action: "change" }]);
  expect((await put({ ...budget, budget_usd: undefined, status: "removed" })).changes).toMatchObject([
    { action: "remove" },
  ]);
  expect(await shown()).toEqual([]);
});

test("a project can be billed afterwards from the first", async () => {
  const fields = { name: "From the first", billed_afterwards: true, budget_usd: "1" };
  const { json } = await ask("POST", "/organization/projects", fields);
  expect(json).toMatchObject({ billed_afterwards: true, budget: { budget_usd: "1" } });
  const { data } = (await ask("GET", `/organization/projects/${json.id}/budgets`)).json;
  const kept = await ask("DELETE", `/organization/projects/${json.id}/budgets/${data[0].id}`);
  expect([kept.status, kept.json.error.param]).toEqual([409, "budget_usd"]);
  const without = await ask("POST", "/organization/projects", { name: "Without", billed_afterwards: true });
  expect([without.status, without.json.error.param]).toEqual([400, "billed_afterwards"]);
});

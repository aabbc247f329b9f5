import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Handlers } from "../../../src/provider/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const handlers: Handlers = {
  chat: async () => completionOf("Hello", { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }),
};
const plugin = createPlugin(handlers, { models: [{ ...chatModel, premium: false }] });

type Who = "owner" | "admin" | "viewer" | "ada";
let gateway: InProcessGateway;
const cookies = {} as Record<Who, string>;
const ids = {} as Record<Who, string>;
const keys = {} as Record<"owners" | "website", { id: string; key: string }>;

async function ask(who: Who, method: string, path: string, body?: object) {
  const response = await fetch(new URL(path.startsWith("/v1/") ? path : `/dashboard/api${path}`, gateway.baseUrl), {
    method,
    headers: { cookie: cookies[who], "content-type": "application/json", origin: new URL(gateway.baseUrl).origin },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

async function call(key: string): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: chatModel.id, messages: [{ role: "user", content: "Hi" }], metadata: { tag: "t1" } }),
  });
  await response.text();
  return response.status;
}

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "off", ACME_API_KEY: "sk-upstream" }, plugins: [plugin] });
  const { accounts } = gateway.app;
  for (const [who, role] of [
    ["owner", "owner"],
    ["admin", "admin"],
    ["viewer", "viewer"],
    ["ada", "member"],
  ] as const) {
    ids[who] = (await accounts.create({ email: `${who}@example.org` })).id;
    cookies[who] = await enterAs(gateway.store, { accountId: ids[who], role }, Date.now());
  }
  keys.owners = await accounts.createKey({ accountId: ids.owner, name: "owner's" });
  keys.website = await accounts.createKey({ accountId: ids.ada, name: "website", by: ids.ada });
  expect(await call(keys.website.key)).toBe(200);
  await accounts.saveLastUsed();
});
afterAll(() => gateway.stop());

describe("the API keys of all accounts", () => {
  test("are found by any part of the key, its name and its owner", async () => {
    const { key, id } = keys.website;
    const found = async (search: string) => {
      const { body } = await ask("viewer", "GET", `/admin/api-keys?search=${encodeURIComponent(search)}`);
      return body.data.map((each: { id: string }) => each.id);
    };
    for (const text of [key, `sk-mg-${id}-…`, `sk-mg-${id.slice(0, 4)}`, id.slice(2, 6), "WEBSITE", "ada@", ids.ada]) {
      expect([text, await found(text)]).toEqual([text, expect.arrayContaining([id])]);
    }
    expect(await found("%")).toEqual([]);
    expect((await ask("ada", "GET", "/admin/api-keys")).status).toBe(403);
  });

  test("tell owner, last use and what they cost, in the list and as a file", async () => {
    const { body } = await ask("viewer", "GET", "/admin/api-keys?search=website");
    expect(body.data).toMatchObject([
      { name: "website", email: "ada@example.org", account: ids.ada, spend_30_days_usd: "0.000007" },
    ]);
    expect(JSON.stringify(body)).not.toContain(keys.website.key);
    const file = await ask("viewer", "GET", "/admin/api-keys/file.csv?search=website");
    expect(file.body.split("\r\n")).toHaveLength(3);
    expect(file.body).toContain('"ada@example.org","active"');
  });

  test("are edited, rotated with a grace, made and revoked by administrators, not by viewers", async () => {
    const { id, key } = keys.website;
    const path = `/v1/organization/projects/${ids.ada}/api_keys/${id}`;
    expect((await ask("viewer", "DELETE", path)).status).toBe(403);
    expect((await ask("admin", "POST", path, { requests_per_minute: 5 })).status).toBe(200);
    const rotated = await ask("admin", "POST", `${path}/rotate`, { grace_seconds: 60 });
    expect([rotated.status, rotated.body.id]).toEqual([200, id]);
    expect([await call(rotated.body.value), await call(key)]).toEqual([200, 200]);
    const made = await ask("admin", "POST", `/v1/organization/projects/${ids.ada}/api_keys`, { name: "made for her" });
    expect(await call(made.body.value)).toBe(200);
    expect((await ask("admin", "DELETE", path)).status).toBe(200);
    expect([await call(key), await call(rotated.body.value)]).toEqual([401, 401]);
    const ended = await ask("admin", "GET", "/admin/api-keys?state=ended");
    expect(ended.body.data.map((each: { id: string }) => each.id)).toEqual([id]);
    const rows = await gateway.store.db
      .selectFrom("audit")
      .select("action")
      .where("account_id", "=", ids.admin)
      .execute();
    expect(rows.map(({ action }) => action).sort()).toEqual(["key.change", "key.create", "key.revoke", "key.rotate"]);
  });

  test("of an owner are rotated by owners alone, and revoked by any administrator when they leak", async () => {
    const project = `/v1/organization/projects/${ids.owner}`;
    const path = `${project}/api_keys/${keys.owners.id}`;
    expect((await ask("admin", "POST", `${path}/rotate`, {})).status).toBe(403);
    expect((await ask("admin", "POST", path, { name: "mine" })).status).toBe(403);
    expect((await ask("admin", "POST", `${project}/api_keys`, { name: "mine" })).status).toBe(403);
    expect((await ask("admin", "DELETE", path)).status).toBe(200);
    expect((await ask("admin", "DELETE", `${project}/api_keys/nobody`)).status).toBe(404);
  });
});

describe("accounts", () => {
  test("are sorted, narrowed and downloaded", async () => {
    const list = async (query: string) => {
      const { body } = await ask("viewer", "GET", `/admin/accounts?${query}`);
      return body.data.map(({ email }: { email: string }) => email.replace("@example.org", ""));
    };
    expect(await list("")).toEqual(["ada", "admin", "owner", "test", "viewer"]);
    expect(await list("kind=member")).toEqual(["ada"]);
    expect(await list("kind=none")).toEqual(["test"]);
    expect((await list("order=balance"))[0]).toBe("test");
    expect((await list("order=last_used"))[0]).toBe("ada");
    expect((await list("order=created")).toSorted()).toEqual(await list(""));
    expect((await ask("viewer", "GET", "/admin/accounts?page=2")).body).toMatchObject({ data: [], has_more: false });
    const file = await ask("viewer", "GET", "/admin/accounts.csv?kind=owner");
    expect(file.body).toContain('"owner@example.org"');
    expect(file.body.split("\r\n")).toHaveLength(3);
  });

  test("have limits of their own, and are made as teams without an e-mail", async () => {
    const path = `/admin/accounts/${ids.ada}`;
    const project = `/v1/organization/projects/${ids.ada}`;
    const set = await ask("admin", "POST", project, {
      requests_per_minute: 2,
      tokens_per_minute: null,
      concurrent_calls: 4,
    });
    expect(set.status).toBe(200);
    const { limits } = (await ask("viewer", "GET", path)).body;
    expect(limits).toMatchObject({ requests_per_minute: 2, own_requests_per_minute: 2, own_tokens_per_minute: null });
    expect(limits).toMatchObject({ concurrent_calls: 4, own_concurrent_calls: 4 });
    expect((await ask("admin", "POST", project, { concurrent_calls: null })).status).toBe(200);
    expect((await ask("viewer", "GET", path)).body.limits.concurrent_calls).toBeNull();
    expect((await ask("admin", "POST", project, { requests_per_minute: 0 })).status).toBe(400);
    const team = await ask("admin", "POST", "/v1/organization/projects", { name: "HR assistant" });
    expect(team).toMatchObject({ status: 200, body: { name: "HR assistant" } });
    const { body } = await ask("viewer", "GET", "/admin/accounts?kind=team");
    expect(body.data).toMatchObject([{ id: team.body.id, name: "HR assistant" }]);
    expect((await ask("admin", "POST", "/v1/organization/projects", {})).status).toBe(400);
  });
});

test("statistics and requests are files with the names of accounts and keys", async () => {
  const byKey = await ask("viewer", "GET", "/statistics.csv?group_by=key");
  expect(byKey.body.split("\r\n")[0]).toStartWith("from,to,group,value,name,account,account_name,email,requests");
  expect(byKey.body).toContain(`"website","${ids.ada}","ada@example.org","ada@example.org"`);
  const byTag = await ask("ada", "GET", "/statistics.csv?group_by=tag");
  expect(byTag.body).toContain('"tag","t1"');
  const requests = await ask("viewer", "GET", "/requests.csv");
  expect(requests.body).toContain('"ada@example.org"');
  expect(requests.body).toContain('"website"');
  expect((await ask("ada", "GET", "/requests.csv")).body).not.toContain("@example.org");
});

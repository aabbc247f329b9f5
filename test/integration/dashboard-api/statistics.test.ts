import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../src/contract/index.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const handlers: Handlers = {
  chat: async ({ request }) => {
    if (request.user === "unlucky") throw new UpstreamError("bad_request", "No", { status: 400 });
    return completionOf("Hello", { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 });
  },
};
const plugin = createPlugin(handlers, { models: [{ ...chatModel, premium: false }] });
const messages = [{ role: "user", content: "Say hello" }];

type Who = "member" | "other" | "viewer";
let gateway: InProcessGateway;
const cookies = {} as Record<Who, string>;
const accountIds = {} as Record<Who, string>;
const keys = {} as Record<"web" | "job" | "others", { id: string; key: string }>;

interface Group {
  value: string;
  [name: string]: unknown;
}

async function get(who: Who, path: string): Promise<Response> {
  return await fetch(new URL(path, gateway.baseUrl), { headers: { cookie: cookies[who] } });
}

async function groupsOf(who: Who, query: string): Promise<Record<string, unknown>> {
  const response = await get(who, `/dashboard/api/statistics?${query}`);
  const { groups } = (await response.json()) as { groups: Group[] };
  return Object.fromEntries(groups.map(({ value, requests }) => [value, requests]));
}

async function call(key: keyof typeof keys, body: object = {}, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys[key].key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: chatModel.id, messages, ...body }),
  });
  await response.text();
  return response.status;
}

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "off", ACME_API_KEY: "sk-upstream" }, plugins: [plugin] });
  const { accounts } = gateway.app;
  for (const who of ["member", "other", "viewer"] as const) {
    const { id } = await accounts.create({ email: `${who}@example.org` });
    accountIds[who] = id;
    const role = who === "viewer" ? "viewer" : "member";
    cookies[who] = await enterAs(gateway.store, { accountId: id, role }, Date.now());
  }
  keys.web = await accounts.createKey({ accountId: accountIds.member, name: "web" });
  keys.job = await accounts.createKey({ accountId: accountIds.member, name: "job" });
  keys.others = await accounts.createKey({ accountId: accountIds.other, name: "others" });
  const statuses = [
    await call("web", { metadata: { tag: "support" }, prompt_cache_key: "chat-7" }),
    await call("web", {}, { "x-modelgate-tag": "support" }),
    await call("job", { user: "unlucky" }),
    await call("job", { model: "no-such-model" }),
    await call("others", {}, { "x-modelgate-tag": "support" }),
  ];
  expect(statuses).toEqual([200, 200, 400, 400, 200]);
});
afterAll(() => gateway.stop());

describe("statistics", () => {
  test("of an account are over its own keys, also at once after a call", async () => {
    expect(await groupsOf("member", "group_by=key")).toEqual({ [keys.web.id]: 2, [keys.job.id]: 2 });
    expect(await groupsOf("member", "group_by=status")).toEqual({ 200: 2, 400: 2 });
    expect(await groupsOf("member", "group_by=tag")).toEqual({ support: 2 });
    expect(await groupsOf("member", "group_by=session")).toEqual({ "chat-7": 1 });
    expect(await groupsOf("member", `group_by=model&key=${keys.job.id}`)).toEqual({ [chatModel.id]: 1, "": 1 });
    expect(await groupsOf("other", "group_by=key")).toEqual({ [keys.others.id]: 1 });
  });

  test("of the gateway are over all accounts, for who sees all", async () => {
    const byAccount = { [accountIds.member]: 4, [accountIds.other]: 1 };
    expect(await groupsOf("viewer", "group_by=account")).toEqual(byAccount);
    expect(await groupsOf("viewer", "group_by=tag")).toEqual({ support: 3 });
    expect(await groupsOf("viewer", "group_by=plugin&account=other@example.org")).toEqual({ acme: 1 });
    expect((await get("member", `/dashboard/api/statistics?account=${accountIds.other}`)).status).toBe(403);
  });

  test("tell each group's figures of the period before, and earnings to operators alone", async () => {
    const response = await get("viewer", "/dashboard/api/statistics?group_by=key&metric=earned");
    const { groups, values } = await response.json();
    const before = { requests: 0, cost_usd: "0", earned_usd: "0", change_percent: { requests: null, cost_usd: null } };
    expect(groups[0].previous).toMatchObject(before);
    expect(values).toHaveLength(30);
    const own = await get("member", "/dashboard/api/statistics?group_by=key");
    expect((await own.json()).groups[0].previous.earned_usd).toBeNull();
    expect((await get("member", "/dashboard/api/statistics?metric=earned")).status).toBe(403);
  });

  test("tell figures, latencies and the values of a metric in buckets", async () => {
    const response = await get("member", "/dashboard/api/statistics?group_by=key&metric=tokens&interval=day");
    const { buckets, totals, values, groups, group_count: count } = await response.json();
    expect(totals).toMatchObject({ requests: 4, errors: 2, refused: 1, prompt_tokens: 60, completion_tokens: 4 });
    expect(totals).toMatchObject({ total_tokens: 64, cached_tokens: 0, cache_share: 0, charged_usd: "0" });
    expect(totals.duration_ms.p50).toBeGreaterThan(0);
    expect(buckets).toHaveLength(30);
    expect(values.at(-1)).toBe(64);
    expect(count).toBe(2);
    expect(groups[0]).toMatchObject({ value: keys.web.id, name: "web", email: null, total_tokens: 64 });
    expect(groups[0].values.at(-1)).toBe(64);
  });

  test("tell the share of errors by bucket, which is unknown where there were no requests", async () => {
    const response = await get("member", "/dashboard/api/statistics?group_by=key&metric=error_share&interval=day");
    const { values, groups } = await response.json();
    expect([values.at(-1), values.at(0)]).toEqual([0.5, null]);
    expect(groups.map(({ errors, requests }: Record<string, number>) => (errors ?? 0) / (requests ?? 0))).toEqual(
      groups.map(({ values }: { values: number[] }) => values.at(-1)),
    );
  });

  test.each([
    ["from=yesterday", "from"],
    ["from=2026-01-02&to=2026-01-01", "to"],
    ["from=2020-01-01&to=2026-01-01", "from"],
    ["from=2026-01-01&to=2026-02-01&interval=hour", "from"],
    ["group_by=tag&model=m", "model"],
    ["group_by=session&status=200", "status"],
  ])("of %s are 400 and name the parameter", async (query, param) => {
    const response = await get("member", `/dashboard/api/statistics?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });

  test("stand in GET /usage by what it is asked to group by, and its totals stay those of the ledger", async () => {
    const lists = async (query: string) => (await (await get("member", `/v1/usage?${query}`)).json()).totals;
    const byKey = await lists("group_by=key");
    expect(byKey).toMatchObject({ requests: 2, failures: 1, total_tokens: 64 });
    expect(byKey).not.toHaveProperty("by_model");
    expect(byKey.by_key).toEqual([
      expect.objectContaining({ key: keys.web.id, requests: 2, failures: 0, total_tokens: 64 }),
      expect.objectContaining({ key: keys.job.id, requests: 0, failures: 1, total_tokens: 0 }),
    ]);
    const byTag = await lists("group_by=tag&period=hourly&startDate=2026-01-01&endDate=2026-01-02");
    expect(byTag.by_tag).toEqual([]);
    expect((await lists("")).by_model).toEqual([expect.objectContaining({ model: chatModel.id, requests: 2 })]);
  });

  test("lead to the requests: the log is filtered by tag, and its file has it", async () => {
    const page = await (await get("viewer", "/dashboard/api/requests?tag=support")).json();
    expect(page.data.map(({ tag }: { tag: string }) => tag)).toEqual(["support", "support", "support"]);
    const csv = await (await get("member", "/dashboard/api/requests.csv?tag=support")).text();
    expect(csv.split("\r\n")).toHaveLength(4);
    expect(csv).toContain('"support"');
  });
});

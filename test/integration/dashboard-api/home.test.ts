import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { creditWallet } from "../../../src/ledger/index.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { makeAlertRow } from "../../support/alert-rows.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { until } from "../../support/until.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Wednesday in the middle of a month, so that every period has begun and none ends. */
let now = Date.parse("2026-11-18T12:30:00Z");

const handlers: Handlers = {
  chat: async () => completionOf("Hello", { prompt_tokens: 4999, completion_tokens: 1, total_tokens: 5000 }),
};
const price = { inputToken: { usd: "1", per: 5000 }, outputToken: { usd: "1", per: 5000 } };
const plugin = createPlugin(handlers, { models: [{ ...chatModel, premium: true, price, outputTokensMax: 1 }] });
const messages = [{ role: "user", content: "hello ".repeat(999) }];

let gateway: InProcessGateway;
const cookies = {} as Record<"owner" | "ada", string>;
const ids = {} as Record<"owner" | "ada", string>;
let key: { id: string; key: string };

async function get(who: keyof typeof cookies, path: string) {
  const response = await fetch(new URL(path, gateway.baseUrl), { headers: { cookie: cookies[who] } });
  return { status: response.status, body: await response.json() };
}

async function call(by = key.key): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${by}`, "content-type": "application/json" },
    body: JSON.stringify({ model: chatModel.id, messages, max_tokens: 1 }),
  });
  await response.text();
  return response.status;
}

/** A team whose only admin is disabled. */
async function createTeamOf(personId: string): Promise<string> {
  const { db } = gateway.store;
  const user = await db.selectFrom("users").select("id").where("account_id", "=", personId).executeTakeFirstOrThrow();
  const id = "acc_search";
  await db
    .insertInto("accounts")
    .values({ id, email: "search-1@teams.invalid", name: "Search", created_at: now })
    .execute();
  const membership = { account_id: id, user_id: user.id, role: "admin", joined_at: now } as const;
  await db.insertInto("memberships").values(membership).execute();
  return id;
}

beforeAll(async () => {
  gateway = await startInProcess({
    env: { SANDBOX: "off", ACME_API_KEY: "sk-upstream" },
    plugins: [plugin],
    now: () => now,
  });
  const { accounts } = gateway.app;
  for (const [who, role] of [
    ["owner", "owner"],
    ["ada", "member"],
  ] as const) {
    ids[who] = (await accounts.create({ email: `${who}@example.org` })).id;
    cookies[who] = await enterAs(gateway.store, { accountId: ids[who], role }, now);
  }
  const credit = { accountId: ids.ada, nanodollars: 30_000_000_000, note: "Welcome" };
  await creditWallet(gateway.store, credit, () => now);
  key = await accounts.createKey({
    accountId: ids.ada,
    name: "website",
    expiresAt: now + 5 * dayMs,
    bounds: { budgetNanodollars: 8_000_000_000, budgetPeriod: "month" },
  });
  // One call yesterday at the same hour, one in its evening, which is not compared, and four today, then the wallet is empty.
  now -= dayMs;
  expect(await call()).toBe(200);
  now += 8 * hourMs;
  expect(await call()).toBe(200);
  now += 16 * hourMs;
  for (let turn = 0; turn < 4; turn++) expect(await call()).toBe(200);
  await creditWallet(gateway.store, { ...credit, nanodollars: -23_500_000_000, note: "Taken back" }, () => now);
  expect(await call()).toBe(403);
  // Refused requests are written once a second.
  await until(async () => (await get("ada", "/dashboard/api/wallet")).body.is_refused === true);
  const { row } = makeAlertRow("alert-1", { since_at: now, seen_at: now });
  await gateway.store.db
    .insertInto("alerts")
    .values({ ...row, rule: "disk_full", text: "The disk is full" })
    .execute();
});
afterAll(() => gateway.stop());

describe("the home page of operators", () => {
  test("compares today with yesterday up to the same hour, refused requests included", async () => {
    const { body } = await get("owner", "/dashboard/api/admin/home");
    expect(body.today.now).toMatchObject({ requests: 5, errors: 1, refused: 1, cost_usd: "4" });
    expect(body.today.before).toMatchObject({ requests: 1, errors: 0, cost_usd: "1" });
    expect(body.month.now).toMatchObject({ requests: 7, cost_usd: "6" });
    expect(body.month.before).toMatchObject({ requests: 0, cost_usd: "0" });
  });

  test("lists movers, keys that expire, budgets that run out and wallets that are nearly empty", async () => {
    const { body } = await get("owner", "/dashboard/api/admin/home");
    expect(body.movers.accounts).toEqual([{ value: ids.ada, name: "ada@example.org", cost_usd: "6", before_usd: "0" }]);
    expect(body.movers.models).toMatchObject([{ value: chatModel.id, cost_usd: "6" }]);
    expect(body.expiring_keys).toMatchObject([{ id: key.id, name: "website", email: "ada@example.org" }]);
    // 6 dollars in 17.5 of 30 days.
    expect(body.budgets).toMatchObject([{ key: key.id, budget_usd: "8", spent_usd: "6", period: "month" }]);
    expect(Number(body.budgets[0].forecast_usd)).toBeCloseTo((6 * 30) / 17.52, 1);
    // Half a dollar at 6 dollars in two days, as ada is told herself.
    expect(body.low_wallets).toEqual([
      {
        account: ids.ada,
        account_name: "ada@example.org",
        email: "ada@example.org",
        balance_usd: "0.5",
        days_left: 0.1,
      },
    ]);
  });

  test("lists an empty wallet that paid for nothing lately, once a request was refused for it", async () => {
    const low = async () => (await get("owner", "/dashboard/api/admin/home")).body.low_wallets as { account: string }[];
    expect((await low()).map(({ account }) => account)).toEqual([ids.ada]);
    const { accounts } = gateway.app;
    const { id: accountId } = await accounts.create({ email: "empty@example.org" });
    const other = await accounts.createKey({ accountId, name: "own" });
    expect(await call(other.key)).toBe(403);
    await until(async () => (await low()).length === 2);
    expect((await low())[0]).toMatchObject({ account: accountId, balance_usd: "0", days_left: 0 });
  });

  test("has the active alerts, and the navigation counts those that are not muted", async () => {
    const read = async () => {
      const alerts = (await get("owner", "/v1/organization/alerts")).body.data as { text: string; muted: boolean }[];
      const { pages } = (await get("owner", "/dashboard/api/admin/attention")).body;
      return { alerts: alerts.map(({ text, muted }) => ({ text, muted })), count: pages["/admin/alerts"] };
    };
    expect(await read()).toEqual({ alerts: [{ text: "The disk is full", muted: false }], count: 1 });
    const mute = { alert_id: "alert-1", owner: gatewayOwner, until_at: now + dayMs, muted_by: ids.owner };
    await gateway.store.db.insertInto("alert_mutes").values(mute).execute();
    expect(await read()).toEqual({ alerts: [{ text: "The disk is full", muted: true }], count: 0 });
    await gateway.store.db.deleteFrom("alert_mutes").execute();
  });

  test("is for those who see all accounts", async () => {
    expect((await get("ada", "/dashboard/api/admin/home")).status).toBe(403);
  });
});

describe("the wallet of an account", () => {
  test("tells how long it lasts, whether a request was refused for it, and whom to ask", async () => {
    expect((await get("ada", "/dashboard/api/wallet")).body).toEqual({
      balance_usd: "0.5",
      daily_usd: "3",
      days_left: 0.1,
      is_low: true,
      is_refused: true,
      contact: "owner@example.org",
    });
  });

  test("that paid for nothing lately has no forecast", async () => {
    const { body } = await get("owner", "/dashboard/api/wallet");
    expect(body).toMatchObject({
      balance_usd: "0",
      daily_usd: null,
      days_left: null,
      is_low: false,
      is_refused: false,
    });
  });
});

describe("statistics", () => {
  test("tell the period before, as long as what has passed of this one, and why requests were refused", async () => {
    const { body } = await get("ada", "/dashboard/api/statistics?from=2026-11-18&to=2026-11-18");
    expect(body.totals).toMatchObject({ requests: 5, cost_usd: "4" });
    // From 11 o'clock of the day before: the running hour counts as a whole.
    expect(body.previous).toMatchObject({ from: "2026-11-17T11:00:00.000Z", requests: 2, cost_usd: "2" });
    expect(body.refusals).toEqual([{ code: "insufficient_balance", requests: 1 }]);
    const all = await get("owner", "/dashboard/api/statistics?from=2026-11-18&to=2026-11-18");
    expect(all.body.refusals).toEqual([]);
  });

  test("are summed by weeks and months", async () => {
    const read = async (interval: string) =>
      (await get("ada", `/dashboard/api/statistics?from=2026-10-30&to=2026-11-18&metric=requests&interval=${interval}`))
        .body;
    const weeks = await read("week");
    expect(weeks.buckets.map((start: string) => start.slice(0, 10))).toEqual([
      "2026-10-30",
      "2026-11-02",
      "2026-11-09",
      "2026-11-16",
    ]);
    expect(weeks.values).toEqual([0, 0, 0, 7]);
    const months = await read("month");
    expect(months.buckets.map((start: string) => start.slice(0, 10))).toEqual(["2026-10-30", "2026-11-01"]);
    expect(months.values).toEqual([0, 7]);
  });
});

describe("a wallet that did not cover a request", () => {
  test("is told of until it is credited, and again when it does not cover one after that", async () => {
    const { accounts } = gateway.app;
    ids.ada = (await accounts.create({ email: "ben@example.org" })).id;
    cookies.ada = await enterAs(gateway.store, { accountId: ids.ada, role: "member" }, now);
    const { key: benKey } = await accounts.createKey({ accountId: ids.ada, name: "app" });
    const wallet = async () => (await get("ada", "/dashboard/api/wallet")).body;
    const refuse = async () => {
      now += 1000;
      expect(await call(benKey)).toBe(403);
      await until(async () => (await wallet()).is_refused === true);
    };
    await refuse();
    now += 1000;
    await creditWallet(gateway.store, { accountId: ids.ada, nanodollars: 5e9, note: "First credit" }, () => now);
    expect(await wallet()).toMatchObject({ balance_usd: "5", is_refused: false, is_low: false });
    await creditWallet(gateway.store, { accountId: ids.ada, nanodollars: -5e9, note: "Taken back" }, () => now);
    await refuse();
  });
});

test("a team whose only admin is disabled is named on the first page, in the list of accounts and by the API", async () => {
  const team = await createTeamOf(ids.ada);
  const stateOf = async () => {
    const home = (await get("owner", "/dashboard/api/admin/home")).body.teams_without_admin;
    const accounts = (await get("owner", "/dashboard/api/admin/accounts?search=Search")).body.data;
    const project = (await get("owner", `/v1/organization/projects/${team}`)).body;
    return [home, accounts[0].without_admin, project.without_admin];
  };
  expect(await stateOf()).toEqual([[], false, false]);
  const disable = (at: number | null) =>
    gateway.store.db.updateTable("accounts").set({ disabled_at: at }).where("id", "=", ids.ada).execute();
  await disable(now);
  expect(await stateOf()).toEqual([[{ id: team, label: "Search" }], true, true]);
  await disable(null);
  expect(await stateOf()).toEqual([[], false, false]);
});

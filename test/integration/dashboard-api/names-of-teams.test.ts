import { afterAll, beforeAll, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { readSharedState } from "../../../src/modules/alerts/read-state.ts";
import { checkShared } from "../../../src/modules/alerts/rules.ts";
import { changeProject, createProject } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { makeBench } from "../cli/fixture.ts";

const hidden = "teams.invalid";
const name = "Data science";
let gateway: InProcessGateway;
let origin: string;
let team: string;
let call: string;
let cookie: string;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on", LOG_LEVEL: "silent" } });
  ({ origin } = new URL(gateway.baseUrl));
  const { store, app } = gateway;
  team = await createProject(
    store,
    { by: commandLine, name, changes: { budget: { limitNanodollars: 700_000_000, period: "month" } } },
    Date.now,
  );
  await creditWallet(store, { accountId: team, nanodollars: 900_000_000, note: "Welcome" });
  const { key } = await app.accounts.createKey({
    accountId: team,
    name: "batch",
    expiresAt: Date.now() + 432_000_000,
    by: team,
  });
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "session-id": "night" },
    body: JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "Hello" }], user: "eve" }),
  });
  expect(response.status).toBe(200);
  await response.json();
  call = response.headers.get("x-request-id") as string;
  const { id: owner } = await app.accounts.create({ email: "owner@example.org" });
  cookie = await enterAs(store, { accountId: owner, role: "owner" }, Date.now());
  // The owner works in the team too.
  const user = await store.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", owner)
    .executeTakeFirstOrThrow();
  const membership = { account_id: team, user_id: user.id, role: "admin", joined_at: Date.now() } as const;
  await store.db.insertInto("memberships").values(membership).execute();
  await app.accounts.createKey({ accountId: team, name: "by the owner", by: owner });
});
afterAll(() => gateway.stop());

test("the page's API and its files call a team by its name, and never by the address that nobody has", async () => {
  const routes = gateway.app.http.routes
    .filter(({ method, path }) => method === "GET" && /^\/(dashboard\/api|v1\/organization)\//.test(path))
    .map(({ path }) => path)
    .filter((path) => path !== "/v1/organization/config");
  const places: Record<string, string> = {
    ":project_id": team,
    ":request_id": call,
    ":session": "night",
    ":id": team,
    "/requests/:id": `/requests/${call}`,
  };
  const named: string[] = [];
  const leaking: string[] = [];
  for (const path of [...new Set(routes)]) {
    const filled = Object.entries(places)
      .sort(([one], [other]) => other.length - one.length)
      .reduce((text, [part, value]) => text.replaceAll(part, value), path);
    if (filled.includes(":")) continue;
    const query = path.endsWith("/audit_logs") ? "" : `?account=${team}&group_by=account`;
    for (const url of [filled, `${filled}${query}`]) {
      const response = await fetch(`${origin}${url}`, { headers: { cookie } });
      const text = await response.text();
      if (text.includes(hidden)) leaking.push(url);
      if (response.status === 200 && text.includes(name)) named.push(path);
    }
  }
  expect(leaking).toEqual([]);
  const expected = [
    ...["accounts", "accounts/:id", "accounts.csv", "api-keys", "api-keys/file.csv", "audit", "audit.csv", "home"].map(
      (page) => `/dashboard/api/admin/${page}`,
    ),
    ...["admin/statements", "admin/statements.csv", "requests", "requests.csv", "requests/:id", "statement"].map(
      (page) => `/dashboard/api/${page}`,
    ),
    ...["statistics", "statistics.csv", "call-sessions/:session", "teams"].map((page) => `/dashboard/api/${page}`),
    ...["projects", "projects/:project_id", "projects/:project_id/statement", "statements", "audit_logs"].map(
      (page) => `/v1/organization/${page}`,
    ),
  ];
  expect(expected.filter((path) => !named.includes(path))).toEqual([]);
});

test("the file of usage by account has the name of each account", async () => {
  const response = await fetch(`${origin}/dashboard/api/statistics.csv?group_by=account`, { headers: { cookie } });
  const [head = "", ...rows] = (await response.text()).trim().split("\r\n");
  const cells = rows.find((row) => row.includes(team))?.split(",") ?? [];
  const cell = (column: string) => cells[head.split(",").indexOf(column)];
  expect([cell("name"), cell("account_name"), cell("email")]).toEqual([`"${name}"`, `"${name}"`, ""]);
});

test("requests are found by the name of an account, and a name that none has is no empty list", async () => {
  const find = async (account: string) => {
    const url = `${origin}/dashboard/api/requests?account=${encodeURIComponent(account)}`;
    const json = await (await fetch(url, { headers: { cookie } })).json();
    return json.error?.message ?? json.data.map(({ id }: { id: string }) => id);
  };
  expect([await find("data SCIENCE"), await find(team)]).toEqual([[call], [call]]);
  expect(await find("zzz")).toBe('There is no account "zzz"');
  expect(await find("science")).toBe('There is no account "science"; there is Data science');
  expect(await find("owner@example.org")).toEqual([]);
  await createProject(gateway.store, { by: commandLine, name: "Twins", changes: {} }, Date.now);
  await createProject(gateway.store, { by: commandLine, name: "twins", changes: {} }, Date.now);
  expect(await find("twins")).toMatch(/^Several accounts have the name "twins": acc_\w+, acc_\w+; use an id$/);
  const byApi = await fetch(`${origin}/v1/organization/requests?project_id=Data%20science`, { headers: { cookie } });
  expect((await byApi.json()).data.map(({ id }: { id: string }) => id)).toEqual([call]);
});

test("alerts call a team by its name", async () => {
  const changes = { budget: { limitNanodollars: 1_000, period: "month" } } as const;
  await changeProject(gateway.store, { by: commandLine, accountId: team, changes }, Date.now);
  const state = await readSharedState(gateway.store, { walletBelow: 1e9, now: Date.now() });
  const texts = checkShared(state, { wallet_low: 1e9, budget: 50 }).map(({ text }) => text);
  expect(texts.filter((text) => text.includes(hidden))).toEqual([]);
  expect(texts.map((text) => text.replace(/[\d.]{4,}/g, "N"))).toEqual([
    `${name}: balance $N, below $N`,
    expect.stringContaining(`The account ${name} has spent`),
  ]);
});

test("commands call a team by its name", async () => {
  const bench = makeBench({ env: { MODELGATE_HOME: gateway.home }, now: Date.now, plugins: builtIns });
  const commands = [
    ["account", "list"],
    ["account", "show", name],
    ["key", "list"],
    ["request", "show", call],
    ["session", "show", "night", "--account", name],
    ["team", "list", name],
    ["team", "budget", team, "--usd", "5"],
    ["statement"],
    ["statement", "--account", name],
    ["budget", "list"],
    ["quota", "set", "--account", team, "--tokens", "5"],
  ];
  const said: string[] = [];
  for (const command of commands) {
    for (const json of [[], ["--json"]]) {
      const { code, stdout, stderr } = await bench.run(...command, ...json);
      expect([command.join(" "), code, stderr]).toEqual([command.join(" "), 0, ""]);
      said.push(stdout);
    }
  }
  expect(said.filter((text) => text.includes(hidden))).toEqual([]);
  expect(said.filter((text) => text.includes(name)).length).toBeGreaterThan(10);
  bench.remove();
});

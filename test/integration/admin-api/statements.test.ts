import { afterAll, beforeAll, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import { parseUsd } from "../../../src/contract/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { creditWallet, verifyLedger } from "../../../src/ledger/index.ts";
import { createProject } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { makeBench } from "../cli/fixture.ts";

let gateway: InProcessGateway;
let origin: string;
let adminKey: string;
let team: string;
let idle: string;
const cookies: Record<string, string> = {};
const month = new Date().toISOString().slice(0, 7);

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  ({ origin } = new URL(gateway.baseUrl));
  const { accounts } = gateway.app;
  const scopes = ["accounts:read"];
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "finance", scopes }, Date.now())).key;
  team = await createProject(gateway.store, { by: commandLine, name: "Data, science", changes: {} }, Date.now);
  idle = (await accounts.create({ email: "idle@example.org" })).id;
  // Before this month, and since it began.
  await creditWallet(gateway.store, { accountId: team, nanodollars: 3_000_000_000, note: "old" }, () => 86_400_000);
  const now = Date.now();
  await creditWallet(gateway.store, { accountId: team, nanodollars: 40_000_000_001, note: "new" }, () => now);
  await creditWallet(gateway.store, { accountId: team, nanodollars: -250_000_000, note: "back" }, () => now + 1);
  const { key } = await accounts.createKey({ accountId: team, name: "of the team" });
  for (const of of [gateway.key, key, key]) {
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${of}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "What do I owe?" }] }),
    });
    expect(response.status).toBe(200);
    await response.json();
  }
  for (const role of ["member", "viewer", "admin"] as const) {
    const { id } = await accounts.create({ email: `${role}@example.org` });
    cookies[role] = await enterAs(gateway.store, { accountId: id, role }, Date.now());
  }
});
afterAll(() => gateway.stop());

async function ask(url: string, headers: Record<string, string>) {
  const response = await fetch(url, { headers });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  return { status: response.status, text, json: (text.startsWith("{") ? JSON.parse(text) : undefined) as any };
}
const get = (path: string) => ask(`${gateway.baseUrl}/organization${path}`, { authorization: `Bearer ${adminKey}` });
const see = (who: string, path: string) => ask(`${origin}/dashboard/api${path}`, { cookie: cookies[who] ?? "" });

const nano = (usd: string) => parseUsd(usd) as number;

test("the statement of a project adds up exactly, and has its team by name and without an e-mail", async () => {
  const { status, json } = await get(`/projects/${team}/statement?month=${month}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    object: "organization.project.statement",
    project_id: team,
    project_name: "Data, science",
    email: null,
    month,
    open: true,
    opening_usd: "3",
    transactions_usd: "39.750000001",
  });
  const [charge] = json.charges;
  expect([json.charges.length, charge.requests, charge.model]).toEqual([1, 2, "gpt-4.1"]);
  expect(nano(charge.charged_usd)).toBeLessThan(0);
  expect(nano(json.opening_usd) + nano(json.transactions_usd) + nano(json.charges_usd)).toBe(nano(json.closing_usd));
  const { balanceNanodollars } = await gateway.app.ledger.readWalletState(team);
  expect(nano(json.closing_usd)).toBe(balanceNanodollars);
  expect((await get(`/projects/${team}/statement?month=2026-13`)).status).toBe(400);
  expect((await get("/projects/nobody/statement")).status).toBe(404);
});

test("the statements of all projects are one line each, page by page, and come to the wallets of the ledger", async () => {
  const lines: Record<string, string>[] = [];
  for (let after = ""; ; ) {
    const { json } = await get(`/statements?month=${month}&limit=1${after}`);
    lines.push(...json.data);
    if (!json.has_more) break;
    after = `&after=${json.last_id}`;
  }
  expect(lines.map(({ project_id: id }) => id)).not.toContain(idle);
  const names = lines.map(({ project_name: name, email }) => name ?? email);
  expect(names.sort()).toEqual(["Data, science", "test@example.org"]);
  for (const line of lines as Record<string, string>[]) {
    const { opening_usd, credits_usd, debits_usd, charges_usd, closing_usd } = line as Record<string, string>;
    const parts = [opening_usd, credits_usd, debits_usd, charges_usd].map((usd) => nano(usd as string));
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(nano(closing_usd as string));
  }
  const wallets = await gateway.store.db.selectFrom("wallets").selectAll().execute();
  const balances = wallets.map(({ account_id: id, balance_nanodollars: balance }) => [id, balance]);
  expect(lines.map(({ project_id: id, closing_usd: usd }) => [id, nano(usd as string)]).sort()).toEqual(
    balances.filter(([, balance]) => balance !== 0).sort(),
  );
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
  const { totals } = (await get(`/statements?month=${month}&limit=1`)).json;
  for (const name of ["opening_usd", "credits_usd", "debits_usd", "charges_usd", "closing_usd"]) {
    const sum = lines.reduce((all, line) => all + nano(line[name] as string), 0);
    expect([name, nano(totals[name])]).toEqual([name, sum]);
  }
  const ofTeam = lines.find(({ project_id: id }) => id === team);
  expect(ofTeam).toMatchObject({ opening_usd: "3", credits_usd: "40.000000001", debits_usd: "-0.25" });
  const before = async (month: string) => (await get(`/statements?month=${month}`)).json.data;
  expect([await before("1969-12"), await before("1970-01")]).toEqual([
    [],
    [expect.objectContaining({ opening_usd: "0", credits_usd: "3", closing_usd: "3", open: false })],
  ]);
});

test("the same lines are a file by API, on the dashboard and by the command line", async () => {
  const { json } = await get(`/statements?month=${month}`);
  const rows = json.data.map((line: Record<string, string | null>) =>
    [
      `"${line.month}"`,
      `"${line.project_id}"`,
      line.project_name === null ? "" : `"${line.project_name}"`,
      line.email === null ? "" : `"${line.email}"`,
      ...["opening_usd", "credits_usd", "debits_usd", "charges_usd", "closing_usd"].map((name) => `"${line[name]}"`),
    ].join(","),
  );
  const head = "month,account,name,email,opening_usd,credits_usd,debits_usd,charges_usd,closing_usd";
  const file = [head, ...rows, ""].join("\r\n");
  expect((await get(`/statements/csv?month=${month}`)).text).toBe(file);
  expect((await see("viewer", `/admin/statements.csv?month=${month}`)).text).toBe(file);
  const bench = makeBench({ env: { MODELGATE_HOME: gateway.home }, now: Date.now, plugins: builtIns });
  const { stdout } = await bench.run("statement", "--month", month, "--format", "csv");
  expect(stdout).toBe(file.replaceAll("\r\n", "\n"));
  const { totals } = (await see("viewer", `/admin/statements?month=${month}`)).json;
  const inAll = new RegExp(`in all +${totals.opening_usd} +${totals.credits_usd} +${totals.debits_usd} `);
  expect((await bench.run("statement", "--month", month)).stdout).toMatch(inAll);
  const own = await bench.json<{ closing_usd: string; account: { email: string | null } }>(
    ...["statement", "--account", "Data, science", "--month", month],
  );
  const { json: byApi } = await get(`/projects/${team}/statement?month=${month}`);
  expect([own.closing_usd, own.account.email]).toEqual([byApi.closing_usd, null]);
  const text = (await bench.run("statement", "--account", "Data, science", "--month", month)).stdout;
  expect(text).toContain("opening balance");
  expect(text).toContain(byApi.charges_usd);
  const wrong = await bench.run("statement", "--month", "November");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("expected a month such as 2026-11")]);
  bench.remove();
});

test("transactions of a project are listed newest first, page by page, without charges", async () => {
  const all = (await get(`/projects/${team}/transactions`)).json;
  expect(all.data.map(({ kind, amount_usd: usd, note }: Record<string, string>) => [kind, usd, note])).toEqual([
    ["debit", "-0.25", "back"],
    ["credit", "40.000000001", "new"],
    ["credit", "3", "old"],
  ]);
  const first = (await get(`/projects/${team}/transactions?limit=2`)).json;
  expect([first.data.length, first.has_more]).toEqual([2, true]);
  const rest = (await get(`/projects/${team}/transactions?limit=2&after=${encodeURIComponent(first.last_id)}`)).json;
  expect([...first.data, ...rest.data]).toEqual(all.data);
  expect(rest.has_more).toBe(false);
  expect((await get(`/projects/${idle}/transactions?after=${encodeURIComponent(first.last_id)}`)).status).toBe(400);
});

test("a credit is reversed once, with its audit entry, and the list says what cannot be", async () => {
  const { id } = await gateway.app.accounts.create({ email: "slip@example.org" });
  const slip = { accountId: id, nanodollars: 50_000_000_000_000, note: "Invoice 7", reference: "invoice-7" };
  await creditWallet(gateway.store, slip);
  const transactionId = `credit:${id}:invoice-7`;
  const reverse = async (body: object, cookie = cookies.admin as string, project = id) => {
    const headers = { cookie, origin, "content-type": "application/json" };
    const path = `${gateway.baseUrl}/organization/projects/${project}/reversals`;
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, json: await response.json() };
  };
  const slipOf = { transaction_id: transactionId };
  expect((await reverse(slipOf, cookies.viewer)).status).toBe(403);
  expect((await reverse(slipOf, cookies.admin, team)).status).toBe(404);
  const tries = await Promise.all([1, 2, 3].map(() => reverse({ ...slipOf, note: "Meant 5" })));
  expect(tries.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  expect(tries.find(({ status }) => status === 200)?.json).toEqual({
    id: `reversal:${transactionId}`,
    object: "organization.project.reversal",
    transaction_id: transactionId,
    amount_usd: "-50000",
    note: "Reversal: Meant 5",
    balance_usd: "0",
  });
  const refused = await reverse(slipOf);
  expect([refused.status, refused.json.error.param]).toEqual([409, "transaction_id"]);
  expect(refused.json.error.message).toContain("It was already reversed");
  const { data } = (await get(`/projects/${id}/transactions`)).json;
  expect(data.map(({ irreversible }: { irreversible: string | null }) => irreversible).toSorted()).toEqual([
    "debit",
    "reversed",
  ]);
  const { transactions, closing_usd: closing } = (await get(`/projects/${id}/statement`)).json;
  expect([transactions.length, closing]).toEqual([2, "0"]);
  const entries = await gateway.store.db.selectFrom("audit").selectAll().where("subject", "=", id).execute();
  const reversals = entries.filter(({ action }) => action === "account.reverse");
  expect(reversals.map(({ detail }) => JSON.parse(detail))).toEqual([
    { usd: "50000", note: "Reversal: Meant 5", transaction: transactionId },
  ]);
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
});

test("operators see the statement of any account on its page, and members only their own", async () => {
  const path = `/statement?month=${month}&account=${team}`;
  for (const who of ["viewer", "admin"]) {
    const { status, json } = await see(who, path);
    expect([status, json.account]).toEqual([200, { id: team, name: "Data, science", email: null }]);
  }
  expect((await see("member", path)).status).toBe(403);
  expect((await see("member", `/statement.csv?account=${team}`)).status).toBe(403);
  expect((await see("member", "/statement")).json.account.email).toBe("member@example.org");
  expect((await see("member", "/admin/statements")).status).toBe(403);
  expect((await see("viewer", "/statement?account=nobody")).status).toBe(404);
  const { json } = await see("viewer", `/admin/statements?month=${month}`);
  expect(json.data.map(({ account }: { account: { id: string } }) => account.id)).toContain(team);
});

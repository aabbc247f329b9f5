import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { commandLine } from "../../../src/audit/index.ts";
import { commands } from "../../../src/cli/commands/index.ts";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore, type Store } from "../../../src/db/index.ts";
import { signUp } from "../../../src/identity/sign-up.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { beginSession, enterAs, cheapPasswords as passwords } from "../../support/session-cookie.ts";
import { type Bench, benchNow, makeBench } from "../cli/fixture.ts";

/**
 * Where anybody may sign up, somebody may do so with an e-mail of somebody else. Every route, every section of the
 * configuration document and every command that names a person or an account by e-mail is tried with such an e-mail. The lists are
 * read from the program: a new one fails here until it is decided.
 */
const isAboutPeople = (name: string) =>
  /e-?mail|^accounts?$|people|person|subject|actor|user_id|holder|^user$/i.test(name);

interface Claimed {
  readonly id: string;
  readonly email: string;
}

/** Somebody signs up with an e-mail that is not theirs. */
async function claim(store: Store, now = Date.now()): Promise<Claimed> {
  const email = `${crypto.randomUUID()}@corp.example`;
  const fields = { email, password: "a long password of Eve", name: "Eve" };
  await signUp({ store, signUp: "open", now: () => now, passwords }, fields);
  const row = store.db.selectFrom("accounts").select(["id", "email"]).where("email", "=", email);
  return await row.executeTakeFirstOrThrow();
}

/** Rights and money of a claimed account: what a stranger has who signed up with somebody's e-mail. */
async function readGains({ db }: Store, { id }: Claimed) {
  const user = await db.selectFrom("users").selectAll().where("account_id", "=", id).executeTakeFirstOrThrow();
  const account = await db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  const count = async (table: "keys" | "budgets" | "model_limits") =>
    (await db.selectFrom(table).select("id").where("account_id", "=", id).execute()).length;
  const memberships = await db.selectFrom("memberships").selectAll().where("user_id", "=", user.id).execute();
  const wallet = await db.selectFrom("wallets").selectAll().where("account_id", "=", id).executeTakeFirst();
  const { role, email_verified } = user;
  const { name, free_tokens_per_day, allowed_models, requests_per_minute } = account;
  return {
    ...{ role, email_verified, name, free_tokens_per_day, allowed_models, requests_per_minute },
    ...{ keys: await count("keys"), budgets: await count("budgets"), limits: await count("model_limits") },
    memberships: memberships.length,
    balance: wallet?.balance_nanodollars ?? 0,
  };
}

const nothing: Awaited<ReturnType<typeof readGains>> = {
  ...{ role: "member", email_verified: 0, name: "Eve", free_tokens_per_day: null, allowed_models: null },
  ...{
    requests_per_minute: null,
    keys: 0,
    budgets: 0,
    limits: 0,
    memberships: 0,
    balance: 0,
  },
};

describe("an e-mail that was only claimed, in the APIs,", () => {
  let gateway: InProcessGateway;
  let adminKey: string;
  let owner: string;
  let origin: string;
  let project: string;
  beforeAll(async () => {
    gateway = await startInProcess({ env: { SANDBOX: "on", SIGNUP: "open", REQUESTS_PER_MINUTE: "5000" } });
    const { store, app } = gateway;
    adminKey = (await createAdminKey(store, commandLine, { name: "test", scopes: ["all"] }, Date.now())).key;
    origin = new URL(gateway.baseUrl).origin;
    const { id: accountId } = await app.accounts.create({ email: "owner@corp.example" });
    owner = await enterAs(store, { accountId, role: "owner" }, Date.now());
    project = JSON.parse((await ask("POST", "/projects", { name: "Production" })).text).id;
  });
  afterAll(() => gateway.stop());

  interface Reply {
    readonly status: number;
    readonly text: string;
  }

  const ask = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await fetch(`${gateway.baseUrl}/organization${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const visit = async (method: string, path: string, body?: unknown, cookie = owner): Promise<Reply> => {
    const response = await fetch(`${origin}/dashboard/api${path}`, {
      method,
      headers: { cookie, origin, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const apply = (document: object) => ask("PUT", "/config", document);
  const metricRule = {
    name: "watch",
    metric: "spend",
    scope: "account",
    comparison: "above",
    threshold: "5",
    minutes: 60,
  };

  /** Gives nothing, and says what to do. */
  const refused = (act: (claimed: Claimed) => Promise<Reply>) => ({ act, outcome: "refused" as const });
  /** Reads, or watches: whoever is behind the e-mail gets nothing by it. */
  const reads = (act: (claimed: Claimed) => Promise<Reply>) => ({ act, outcome: "reads" as const });
  /** Names no account by an e-mail. */
  const other = (why: string) => ({ why });

  type Row = { act(claimed: Claimed): Promise<Reply>; outcome: "refused" | "reads" | "taken back" } | { why: string };

  const rows: Readonly<Record<string, Row>> = {
    "POST /v1/organization/projects email": refused(({ email }) => ask("POST", "/projects", { email })),
    "POST /v1/organization/projects/:project_id email": {
      outcome: "reads",
      // Taken, as any other e-mail of an account.
      act: async ({ email }) => ({ ...(await ask("POST", `/projects/${project}`, { email })), status: 200 }),
    },
    "POST /v1/organization/projects/:project_id/users email": refused(({ email }) =>
      ask("POST", `/projects/${project}/users`, { email, role: "owner" }),
    ),
    "POST /v1/organization/projects/:project_id/users user_id": refused(({ id }) =>
      ask("POST", `/projects/${project}/users`, { user_id: id, role: "member" }),
    ),
    "POST /v1/organization/invites email": {
      outcome: "taken back",
      act: ({ email }) => ask("POST", "/invites", { email, role: "admin", projects: [{ id: project, role: "owner" }] }),
    },
    "GET /v1/organization/users ?emails": reads(({ email }) => ask("GET", `/users?emails=${email}`)),
    "GET /v1/organization/audit_logs ?actor_emails": reads(({ email }) =>
      ask("GET", `/audit_logs?actor_emails=${email}`),
    ),
    "GET /v1/organization/audit_logs ?actor_ids": other("an id"),
    "POST /v1/organization/budgets subject": other("a kind of subject"),
    "POST /v1/organization/projects/:project_id/budgets subject": other("a kind of subject"),
    "PUT /v1/organization/jwt_issuers issuers[].accounts": other("looked up at a call: see the tests of tokens"),
    "POST /v1/organization/jwt_issuers accounts": other("looked up at a call: see the tests of tokens"),
    "POST /v1/organization/jwt_issuers/:issuer accounts": other("looked up at a call: see the tests of tokens"),
    "PUT /v1/organization/mail_server user": other("the login of the mail server"),
    "POST /v1/organization/alerts/metric_rules subject": reads(({ email }) =>
      ask("POST", "/alerts/metric_rules", { ...metricRule, subject: email }),
    ),
    "POST /v1/organization/alerts/metric_rules/:metric_rule_id subject": reads(async ({ email }) => {
      const { id } = JSON.parse((await ask("POST", "/alerts/metric_rules", { ...metricRule, subject: email })).text);
      return await ask("POST", `/alerts/metric_rules/${id}`, { ...metricRule, name: "watch on", subject: email });
    }),
    "PUT /v1/organization/config accounts": other("the section"),
    "PUT /v1/organization/config accounts[].email": refused(({ email }) =>
      apply({ accounts: [{ email, free_tokens_per_day: 1_000_000 }] }),
    ),
    "PUT /v1/organization/config accounts[].people": other("the list"),
    "PUT /v1/organization/config accounts[].people[].email": refused(async ({ email }) => {
      // A document names a team by its address, which people are not shown.
      const team = (await gateway.app.accounts.find(project))?.email;
      return await apply({ accounts: [{ email: team, kind: "team", people: [{ email, role: "admin" }] }] });
    }),
    "PUT /v1/organization/config keys[].account": refused(({ email }) =>
      apply({ keys: [{ account: email, name: "production" }] }),
    ),
    "PUT /v1/organization/config budgets[].account": refused(({ email }) =>
      apply({ budgets: [{ account: email, subject: "end_user", budget_usd: "5", budget_period: "day" }] }),
    ),
    "PUT /v1/organization/config budgets[].subject": other("a kind of subject"),
    "PUT /v1/organization/config group_roles[].account": refused(({ email }) =>
      apply({ group_roles: [{ account: email, group: "developers", role: "member" }] }),
    ),
    "PUT /v1/organization/config reroutes[].subject": other("a kind of subject"),
    "POST /v1/organization/reroutes subject": other("a kind of subject"),
    "POST /v1/organization/credentials/revoke notify_holder": other("whether a verified address is written to"),
    "POST /dashboard/api/credentials/revoke notify_holder": other("whether a verified address is written to"),
    "PUT /v1/organization/config rate_limits[].account": refused(({ email }) =>
      apply({ rate_limits: [{ account: email, model: "gpt-4.1-nano", requests_per_minute: 5000 }] }),
    ),
    "PUT /v1/organization/config markups[].account": refused(({ email }) =>
      apply({ markups: [{ account: email, markup_percent: "20" }] }),
    ),
    "PUT /v1/organization/config policies[].account": refused(({ email }) =>
      apply({ policies: [{ account: email, policy: "no-projects", order: 1, on_failure: "open" }] }),
    ),
    "PUT /v1/organization/config alerts[].subject": reads(({ email }) =>
      apply({ alerts: [{ rule: "metric", ...metricRule, name: "by document", subject: email }] }),
    ),
    "GET /dashboard/api/statement account": other("the account whose statement is read, by its id"),
    "GET /dashboard/api/statement.csv account": other("the account whose statement is read, by its id"),
    "GET /dashboard/api/requests account": reads(({ email }) => visit("GET", `/requests?account=${email}`)),
    "GET /dashboard/api/call-sessions/:session account": other("the account whose session is read, by its id"),
    "GET /dashboard/api/requests.csv account": reads(({ email }) => visit("GET", `/requests.csv?account=${email}`)),
    "GET /dashboard/api/requests.jsonl account": reads(({ email }) => visit("GET", `/requests.jsonl?account=${email}`)),
    "GET /dashboard/api/statistics account": reads(({ email }) => visit("GET", `/statistics?account=${email}`)),
    "GET /dashboard/api/statistics.csv account": reads(({ email }) => visit("GET", `/statistics.csv?account=${email}`)),
    // The link goes to whoever reads the mail of that address: the stranger does not get it.
    "POST /dashboard/api/team/invitations email": reads(({ email }) =>
      visit("POST", "/team/invitations", { role: "member", email }, teamAdmin),
    ),
    "POST /dashboard/api/programs/authorize/approve account": other("the id of an account of one's own"),
    "POST /dashboard/api/programs/device/approve account": other("the id of an account of one's own"),
    "POST /dashboard/api/teams/switch account": other("the id of an account of one's own"),
    "POST /dashboard/api/admin/accounts/:id/team/invitations email": refused(({ email }) =>
      visit("POST", `/admin/accounts/${project}/team/invitations`, { role: "admin", email }),
    ),
    ...Object.fromEntries(
      ["", ".csv", ".jsonl"].flatMap((end) =>
        ["actor", "subject"].map((field) => [
          `GET /dashboard/api/admin/audit${end} ${field}`,
          reads(({ email }) => visit("GET", `/admin/audit${end}?${field}=${email}`)),
        ]),
      ),
    ),
  };
  let teamAdmin: string;

  test("is decided for every route and section that has an e-mail in it", () => {
    const fields = new Set<string>();
    const walk = (schema: TSchema, path: string, visitField: (path: string) => void) => {
      for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, TSchema>)) {
        const place = path === "" ? name : `${path}.${name}`;
        if (isAboutPeople(name)) visitField(place);
        walk(inner, place, visitField);
      }
      for (const inner of [schema.anyOf ?? [], schema.allOf ?? []].flat()) walk(inner, path, visitField);
      if (schema.items) walk(schema.items, `${path}[]`, visitField);
    };
    for (const { method, path, body, query, detail } of gateway.app.http.declared) {
      if (!/^\/(v1\/organization|dashboard\/api)\//.test(path)) continue;
      const { parameters = [] } = (detail ?? {}) as { parameters?: { name: string }[] };
      for (const schema of [body, query]) {
        if (schema) walk(schema, "", (field) => fields.add(`${method} ${path} ${field}`));
      }
      for (const { name } of parameters) {
        if (isAboutPeople(name)) fields.add(`${method} ${path} ?${name}`);
      }
    }
    expect(fields.size).toBeGreaterThan(30);
    expect([...fields].sort()).toEqual(Object.keys(rows).sort());
  });

  test("gets nothing by any of them, and who asks is told what to do", async () => {
    const { store } = gateway;
    const { id: accountId } = await gateway.app.accounts.create({ email: "admin-of-team@corp.example" });
    teamAdmin = await enterAs(store, { accountId, role: "member" }, Date.now());
    const wrong: string[] = [];
    for (const [name, row] of Object.entries(rows)) {
      if ("why" in row || row.outcome === "taken back") continue;
      const claimed = await claim(store);
      const { status, text } = await row.act(claimed);
      const isRefused = status === 409 && text.includes("is only claimed") && text.includes("account invite");
      if (row.outcome === "refused" ? !isRefused : status !== 200)
        wrong.push(`${name}: ${status} ${text.slice(0, 200)}`);
      const gains = await readGains(store, claimed);
      if (!Bun.deepEquals(gains, nothing)) wrong.push(`${name} gave ${JSON.stringify(gains)}`);
    }
    expect(wrong).toEqual([]);
  });

  test("is taken back by an invitation, whose role and projects the stranger does not get", async () => {
    const { store, app } = gateway;
    const claimed = await claim(store);
    const { cookie } = await beginSession(store, claimed.id, Date.now());
    const key = await app.accounts.createKey({ accountId: claimed.id, name: "of Eve", by: claimed.id });
    expect((await visit("GET", "/me", undefined, cookie)).status).toBe(200);
    const row = rows["POST /v1/organization/invites email"] as { act(claimed: Claimed): Promise<Reply> };
    const { status, text } = await row.act(claimed);
    expect([status, JSON.parse(text)]).toMatchObject([200, { email: claimed.email, role: "admin", status: "pending" }]);
    expect((await visit("GET", "/me", undefined, cookie)).status).toBe(401);
    expect(
      await Promise.resolve()
        .then(() => app.accounts.authenticate(key.key))
        .catch(({ code }) => code),
    ).toBe("invalid_api_key");
    expect(await readGains(store, claimed)).toMatchObject({
      role: "admin",
      email_verified: 1,
      name: null,
      memberships: 1,
    });
    const signIn = await fetch(`${origin}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { origin, "content-type": "application/json" },
      body: JSON.stringify({ email: claimed.email, password: "a long password of Eve" }),
    });
    expect(signIn.status).toBe(401);
    const accept = await visit("POST", "/invitations/accept", {
      token: JSON.parse(text).url.split("=")[1],
      password: "the holder's own password",
    });
    expect(JSON.parse(accept.text)).toEqual({ email: claimed.email });
    const users = JSON.parse((await ask("GET", `/users?emails=${claimed.email}`)).text).data;
    expect(users).toMatchObject([{ role: "admin", verified: true }]);
  });

  test("is in a document that says so, as exports do, and is ended by any", async () => {
    const { store } = gateway;
    const claimed = await claim(store);
    const { email } = claimed;
    const exported = JSON.parse((await ask("GET", "/config?sections=accounts")).text).accounts;
    const entry = exported.find((one: { email: string }) => one.email === email);
    expect(entry).toMatchObject({ verified: false });
    expect(JSON.parse((await apply({ accounts: [entry] })).text)).toMatchObject({ changes: [] });
    const said = await apply({
      accounts: [{ email, verified: false, free_tokens_per_day: 1000 }],
      keys: [{ account: email, name: "known" }],
    });
    expect(said.status).toBe(200);
    expect(await readGains(store, claimed)).toMatchObject({ free_tokens_per_day: 1000, keys: 1 });
    expect((await apply({ accounts: [{ email, status: "archived" }] })).status).toBe(200);
    expect(JSON.parse((await ask("GET", `/projects/${claimed.id}`)).text)).toMatchObject({
      verified: false,
      status: "archived",
    });
  });
});

describe("an e-mail that was only claimed, in commands,", () => {
  let bench: Bench;
  beforeEach(() => {
    bench = makeBench();
  });
  afterEach(() => bench.remove());

  const inStore = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const store = await openStore({ file: getDatabaseFile({ home: bench.home }) });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };

  /** Gives nothing, and says what to do. */
  const refused = (...argv: string[]) => ({ argv, outcome: "refused" as const });
  /** Reads, takes something away, or takes the account back. */
  const runs = (...argv: string[]) => ({ argv, outcome: "runs" as const });
  type Row = { argv: string[]; outcome: "refused" | "runs" } | { why: string };

  /** `E` is the e-mail, and `TEAM` an account of a team. */
  const rows: Readonly<Record<string, Row>> = {
    "account create --email": refused("account", "create", "--email", "E"),
    "account show A": runs("account", "show", "E"),
    "account set A": refused("account", "set", "E", "--models", "acme-1"),
    "account set --email": { why: "a new e-mail of an account, which is taken" },
    "account disable A": runs("account", "disable", "E"),
    "account enable A": runs("account", "enable", "E"),
    "account invite A": runs("account", "invite", "E"),
    "account password A": runs("account", "password", "E"),
    "account content A": { why: "refused without CONTENT_LOG; it reads" },
    "channel create --to": { why: "messages go to an address, whoever has it" },
    "team list A": runs("team", "list", "E"),
    "team show A": { why: "it reads" },
    "team invite A": refused("team", "invite", "E"),
    "team invite --email": refused("team", "invite", "TEAM", "--email", "E"),
    "team set A": { why: "the person gets the role, not the account" },
    "team set --person": refused("team", "set", "TEAM", "--person", "E", "--role", "admin"),
    "team remove A": { why: "it takes away" },
    "team remove --person": { why: "it takes away" },
    "team budget A": refused("team", "budget", "E", "--usd", "5"),
    "key create --account": refused("key", "create", "--account", "E", "--name", "production"),
    "key list --account": runs("key", "list", "--account", "E"),
    "budget create --account": refused(
      ...["budget", "create", "--account", "E", "--subject", "account"],
      ...["--budget-usd", "5", "--budget-period", "day"],
    ),
    "budget create --subject": { why: "a kind of subject" },
    "reroute create --subject": { why: "a kind of subject" },
    "group-role create --account": refused(
      ...["group-role", "create", "--account", "E", "--group", "developers", "--role", "member"],
    ),
    "group-role list --account": runs("group-role", "list", "--account", "E"),
    "budget list --account": runs("budget", "list", "--account", "E"),
    "alert-rule create --subject": runs(
      ...["alert-rule", "create", "--name", "watch", "--metric", "calls", "--scope", "account", "--subject", "E"],
      ...["--comparison", "above", "--threshold", "1", "--minutes", "5"],
    ),
    "alert-rule change --subject": { why: "it finds the account as create does" },
    "limit set --account": refused("limit", "set", "acme-1", "--account", "E", "--requests-per-minute", "60"),
    "limit list --account": runs("limit", "list", "--account", "E"),
    "markup create --account": refused("markup", "create", "--account", "E", "--markup-percent", "20"),
    "markup list --account": runs("markup", "list", "--account", "E"),
    "policy create --account": refused(
      ...["policy", "create", "--account", "E", "--policy", "no-projects", "--order", "1", "--on-failure", "open"],
    ),
    "policy list --account": runs("policy", "list", "--account", "E"),
    "request list --account": runs("request", "list", "--account", "E"),
    "usage --account": runs("usage", "--account", "E"),
    "audit list --actor": { why: "it reads" },
    "audit list --subject": { why: "it reads" },
    "team create --person": refused("team", "create", "--name", "Search", "--person", "E"),
    "session show --account": { why: "it reads" },
    "session end --account": { why: "it takes away" },
    "wallet credit --account": refused("wallet", "credit", "--account", "E", "--usd", "5", "--note", "x"),
    "wallet debit --account": runs("wallet", "debit", "--account", "E", "--usd", "0.000000001", "--note", "x"),
    "wallet list --account": { why: "it reads" },
    "wallet show A": runs("wallet", "show", "E"),
    "statement --account": runs("statement", "--account", "E"),
    "quota set --account": refused("quota", "set", "--account", "E", "--tokens", "1000"),
    "issuer create --accounts": { why: "looked up at a call: see the tests of tokens" },
    "issuer change --accounts": { why: "looked up at a call: see the tests of tokens" },
    "import openrouter --account": { why: "it asks OpenRouter first: it finds the account as key create does" },
    "ledger export --account": runs("ledger", "export", "--account", "E", "--from", "2026-11-01", "--to", "2026-11-02"),
  };

  test("is decided for every flag and argument that names a person or an account", () => {
    const fields = commands.flatMap(({ name, flags, args }) => [
      ...args.filter((arg) => arg === "A").map((arg) => `${name} ${arg}`),
      ...Object.entries(flags)
        .filter(([flag, { description }]) => isAboutPeople(flag) || /e-mail/i.test(description))
        .map(([flag]) => `${name} --${flag}`),
    ]);
    expect(fields.sort()).toEqual(Object.keys(rows).sort());
  });

  test("gets nothing by any of them, and who asks is told what to do", async () => {
    await bench.run("account", "create", "--email", "team@corp.example");
    const wrong: string[] = [];
    for (const [name, row] of Object.entries(rows)) {
      if ("why" in row) continue;
      const claimed = await inStore((store) => claim(store, benchNow));
      const argv = row.argv.map((part) =>
        part === "E" ? claimed.email : part === "TEAM" ? "team@corp.example" : part,
      );
      const { code, stderr } = await bench.run(...argv);
      const isRefused = code !== 0 && stderr.includes("is only claimed") && stderr.includes("account invite");
      if (row.outcome === "refused" ? !isRefused : code !== 0) wrong.push(`${name}: ${code} ${stderr.slice(0, 300)}`);
      if (name.startsWith("account password") || name.startsWith("wallet debit")) continue;
      const gains = await inStore((store) => readGains(store, claimed));
      if (!Bun.deepEquals(gains, nothing)) wrong.push(`${name} gave ${JSON.stringify(gains)}`);
    }
    expect(wrong).toEqual([]);
  });

  test("is named by the id of its account where whoever signed up is meant, and shown as claimed", async () => {
    await bench.run("account", "list");
    const { id, email } = await inStore((store) => claim(store, benchNow));
    const made = await bench.run("wallet", "credit", "--account", id, "--usd", "5", "--note", "support");
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("Credited 5 USD")]);
    expect(await bench.json("account", "show", email)).toMatchObject({ id, verified: false });
    expect((await bench.run("account", "show", email)).stdout).toContain("somebody only signed up with this e-mail");
    expect((await bench.run("account", "list")).stdout).toContain("only claimed");
    await bench.run("account", "password", email);
    expect(await bench.json("account", "show", email)).toMatchObject({ id, verified: true });
  });

  test("brings a stranger neither money nor keys of another gateway's user, also in the list that is printed first", async () => {
    await bench.run("account", "list");
    const claimed = await inStore((store) => claim(store, benchNow));
    const file = join(bench.home, "one-api.db");
    const database = new Database(file);
    database.run("create table users (id integer, username text, email text, quota integer, status integer)");
    database.run(
      "create table tokens (id integer, user_id integer, key text, name text, status integer, remain_quota integer, unlimited_quota integer, expired_time integer)",
    );
    database.run("create table channels (id integer, type integer, status integer)");
    database.run("create table options (key text, value text)");
    database.run("insert into users values (1, 'ada', ?, 50000000, 1), (2, 'ben', 'ben@corp.example', 500000, 1)", [
      claimed.email,
    ]);
    database.run(
      "insert into tokens values (1, 1, 'a'||hex(randomblob(20)), 'production', 1, 0, 1, -1), (2, 2, 'b'||hex(randomblob(20)), 'bens', 1, 0, 1, -1)",
    );
    database.close();
    const dry = await bench.run("import", "new-api", "--database", file, "--dry-run");
    expect(dry.stdout).toContain(
      `${claimed.email} is only claimed here, by somebody who signed up with it: 1 keys and 100 USD are left out`,
    );
    expect(dry.stdout).not.toContain("production");
    const { stdout } = await bench.run("import", "new-api", "--database", file);
    expect(stdout).toContain("Imported: 1 accounts, 1 keys, 1 USD of credit");
    expect(await inStore((store) => readGains(store, claimed))).toEqual(nothing);
    await bench.run("account", "password", claimed.email);
    expect((await bench.run("import", "new-api", "--database", file)).stdout).toContain(
      "0 accounts, 1 keys, 100 USD of credit",
    );
  });
});

import { describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { createBudget } from "../../support/budgets.ts";
import { expectError } from "../../support/expect-error.ts";
import { origin, withAdmin } from "../../unit/http/dashboard-http.ts";

const path = "/v1/organization";
const json = async (response: Response) => {
  expect(response.status).toBe(200);
  return await response.json();
};

async function withOwner() {
  const fixture = await withAdmin();
  return { ...fixture, owner: await fixture.enter("owner@example.org", "owner") };
}

describe("the management API by a session", () => {
  test("does what an owner decides, and the audit log names the person", async () => {
    const { owner } = await withOwner();
    const { id } = await json(await owner.post(`${path}/projects`, { name: "Search", budget_usd: "5.00" }));
    expect((await json(await owner.get(`${path}/projects/${id}`))).budget.budget_usd).toBe("5");
    const { data } = await json(await owner.get(`${path}/audit_logs?project_ids=${id}`));
    expect(data.length).toBeGreaterThan(0);
    const user = { id: owner.account.id, email: "owner@example.org" };
    for (const { actor } of data) expect(actor).toEqual({ type: "session", session: { user } });
  });

  test("is of no use to another site, which makes a browser send the cookie", async () => {
    const { owner, send, store } = await withOwner();
    const body = JSON.stringify({ name: "Mallory's" });
    const projects = () => store.db.selectFrom("accounts").select("id").execute();
    const before = await projects();
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, {}]) {
      const more = { cookie: owner.cookie, "content-type": "text/plain", ...headers };
      const response = await send(`${path}/projects`, {
        method: "POST",
        headers: more as Record<string, string>,
        body,
      });
      await expectError(response, { status: 403, code: "forbidden" });
    }
    expect(await projects()).toEqual(before);
  });

  test("is refused where a key is sent beside the cookie and is wrong", async () => {
    const { owner, send } = await withOwner();
    for (const header of [{ authorization: "Bearer sk-mg-admin-x-y" }, { "x-api-key": "sk-mg-admin-x-y" }]) {
      const headers = { cookie: owner.cookie, origin, ...header } as Record<string, string>;
      await expectError(await send(`${path}/projects`, { headers }), { status: 401, code: "invalid_api_key" });
    }
    await expectError(await send(`${path}/projects`, { headers: { cookie: `${owner.cookie}x` } }), {
      ...{ status: 401, code: "invalid_session" },
    });
  });

  test("is not for members, nor before a temporary password was changed, and viewers only read", async () => {
    const { ada, enter } = await withOwner();
    await expectError(await ada.get(`${path}/projects`), { status: 403, code: "forbidden" });
    const viewer = await enter("viewer@example.org", "viewer");
    await json(await viewer.get(`${path}/projects`));
    await json(await viewer.get(`${path}/config`));
    await expectError(await viewer.post(`${path}/projects`, { name: "Mine" }), { status: 403, code: "forbidden" });
    const fresh = await enter("fresh@example.org", "owner", true);
    await expectError(await fresh.get(`${path}/projects`), { status: 403, code: "password_change_required" });
  });

  test("of an administrator does nothing to an owner that only owners may do", async () => {
    const { admin, owner, accounts, store, clock } = await withOwner();
    const { id } = owner.account;
    const project = `${path}/projects/${id}`;
    const { id: keyId } = await accounts.createKey({ accountId: id, name: "app" });
    const budget = await createBudget(
      store,
      { by: commandLine, accountId: id, subject: "end_user", period: "day", limitNanodollars: 1 } as never,
      clock.now(),
    );
    const tables = async () => {
      const { db } = store;
      return [
        await db.selectFrom("accounts").selectAll().orderBy("id").execute(),
        await db.selectFrom("users").select(["account_id", "role"]).orderBy("account_id").execute(),
        await db.selectFrom("keys").selectAll().orderBy("id").execute(),
        await db.selectFrom("budgets").selectAll().execute(),
        await db.selectFrom("memberships").selectAll().execute(),
        await db.selectFrom("service_accounts").selectAll().execute(),
        await db.selectFrom("admin_keys").selectAll().execute(),
      ];
    };
    const before = await tables();
    const key = { account: "owner@example.org", name: "app" };
    for (const [name, refused] of [
      ["name", admin.post(project, { name: "Mine" })],
      ["e-mail", admin.post(project, { email: "mine@example.org" })],
      ["limits", admin.post(project, { requests_per_minute: 1 })],
      ["archive", admin.post(`${project}/archive`)],
      ["rate limit", admin.post(`${project}/rate_limits/all`, { max_requests_per_1_minute: 1 })],
      ["budget", admin.post(`${project}/budgets`, { subject: "tag", budget_usd: "1", budget_period: "day" })],
      ["budget change", admin.post(`${project}/budgets/${budget.id}`, { budget_usd: "1" })],
      ["budget delete", admin.remove(`${project}/budgets/${budget.id}`)],
      ["key", admin.post(`${project}/api_keys`, { name: "mine" })],
      ["key change", admin.post(`${project}/api_keys/${keyId}`, { budget_usd: "100" })],
      ["rotation", admin.post(`${project}/api_keys/${keyId}/rotate`)],
      ["service account", admin.post(`${project}/service_accounts`, { name: "mine" })],
      ["member", admin.post(`${project}/users`, { user_id: admin.account.id, role: "owner" })],
      ["role", admin.post(`${path}/users/${id}`, { role: "member" })],
      ["disable", admin.remove(`${path}/users/${id}`)],
      ["own role", admin.post(`${path}/users/${admin.account.id}`, { role: "owner" })],
      ["invitation", admin.post(`${path}/invites`, { email: "new@example.org", role: "owner" })],
      ["admin key", admin.post(`${path}/admin_api_keys`, { name: "mine", scopes: ["accounts:write"] })],
      ["document: key", admin.put(`${path}/config`, { keys: [{ ...key, budget_usd: "100" }] })],
      ["document: new key", admin.put(`${path}/config`, { keys: [{ ...key, name: "mine" }] })],
      ["document: account", admin.put(`${path}/config`, { accounts: [{ email: key.account, name: "Mine" }] })],
      [
        "document: people",
        admin.put(`${path}/config`, {
          accounts: [{ email: key.account, people: [{ email: "admin@example.org", role: "admin" }] }],
        }),
      ],
      ["document: issuers", admin.put(`${path}/config`, { jwt_issuers: [issuer] })],
    ] as const) {
      const { status } = await refused;
      expect([name, status]).toEqual([name, 403]);
    }
    expect(await tables()).toEqual(before);
    // A key that has leaked must end at once, whosever it is.
    await json(await admin.remove(`${project}/api_keys/${keyId}`));
  });

  test("does not end the way in of the person who sends it", async () => {
    const { owner, admin } = await withOwner();
    for (const refused of [
      owner.post(`${path}/projects/${owner.account.id}/archive`),
      admin.remove(`${path}/users/${admin.account.id}`),
    ]) {
      await expectError(await refused, { status: 409, code: "conflict" });
    }
  });

  test("answers a repeated write with the secret of the first, to that session alone", async () => {
    const { owner, admin, send, ada } = await withOwner();
    const post = (cookie: string) =>
      send(`${path}/projects/${ada.account.id}/api_keys`, {
        method: "POST",
        headers: { cookie, origin, "content-type": "application/json", "idempotency-key": "one" },
        body: JSON.stringify({ name: "app" }),
      });
    const first = await json(await post(owner.cookie));
    const again = await post(`theme=dark; ${owner.cookie}`);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await json(again)).toEqual(first);
    const other = await json(await post(admin.cookie));
    expect(other.id).not.toBe(first.id);
  });

  test("makes admin keys that do what the person may", async () => {
    const { admin, owner, send, store, clock } = await withOwner();
    await expectError(await owner.post(`${path}/admin_api_keys`, { name: "none" }), { status: 400, param: "scopes" });
    const made = await json(await admin.post(`${path}/admin_api_keys`, { name: "ci", scopes: ["usage:read"] }));
    const listed = await send(`${path}/usage/completions?start_time=${Math.floor(clock.now() / 1000)}`, {
      headers: { authorization: `Bearer ${made.value}` },
    });
    expect(listed.status).toBe(200);
    const { id } = await createAdminKey(store, commandLine, { name: "leaked", scopes: ["all"] }, clock.now());
    await json(await admin.remove(`${path}/admin_api_keys/${id}`));
  });
});

const issuer = { issuer: "https://issuer.example", audiences: ["modelgate"], claims: { account: "email" } };

import { describe, expect, test } from "bun:test";
import { commandLine, createAudited, readAudit } from "../../../src/audit/index.ts";
import { pruneSignIn } from "../../../src/identity/index.ts";
import { accountActions } from "../../../src/tenants/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { cookieOf, origin, password } from "../../unit/http/dashboard-http.ts";
import { teamOfAda, withJson, withOperator } from "./team-people.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api";
const dayMs = 86_400_000;

describe("a team", () => {
  test("is an account that several people share after they joined by a link, which works once", async () => {
    const { ada, ben, carl, invite, publicPost, store } = await teamOfAda();
    const { token } = await invite();
    const look = await publicPost(`${api}/invitations/team`, { token });
    expect(await look.json()).toEqual({ team: "ada@example.org", role: "member", email: null });
    expect(await (await ben.post(`${api}/teams/join`, { token })).json()).toEqual({ account: ada.account.id });
    expect(await ben.json(`${api}/me`)).toMatchObject({
      account: ada.account.id,
      account_name: "ada@example.org",
      team_role: "member",
      email: "ben@example.org",
      own_account: ben.account.id,
      role: "member",
    });
    // The same person may come again, and nobody else.
    expect((await ben.post(`${api}/teams/join`, { token })).status).toBe(200);
    const again = await carl.post(`${api}/teams/join`, { token });
    await expectError(again, { status: 404, code: "not_found", says: "used" });
    await expectError(await publicPost(`${api}/invitations/team`, { token }), { status: 404, code: "not_found" });

    await ada.post(`${api}/keys`, { name: "of Ada" });
    const { data } = await ben.json(`${api}/keys`);
    expect(data).toMatchObject([{ name: "of Ada", created_by: "ada@example.org" }]);
    expect((await ada.json(`${api}/team`)).people).toMatchObject([
      { email: "ada@example.org", team_role: "admin", is_holder: true, joined_at: null },
      { email: "ben@example.org", team_role: "member", is_holder: false, disabled: false },
    ]);
    const rows = await store.db.selectFrom("team_invitations").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token);
    const entries = (await readAudit(store)).entries.filter(({ action }) => action.startsWith("team."));
    expect(entries.map(({ action, accountId, subject }) => [action, accountId, subject]).sort()).toEqual([
      ["team.invite", ada.account.id, ada.account.id],
      ["team.join", ben.account.id, ada.account.id],
    ]);
  });

  test("is chosen by its people, whose next session begins in it", async () => {
    const { ada, ben, carl, join, signIn } = await teamOfAda();
    await join(ben);
    const { data } = await ben.json(`${api}/teams`);
    expect(data).toMatchObject([
      { account: ben.account.id, is_own: true, is_current: false, team_role: "admin" },
      { account: ada.account.id, is_own: false, is_current: true, team_role: "member" },
    ]);
    const next = await signIn("ben@example.org");
    expect(await next.json(`${api}/me`)).toMatchObject({ account: ada.account.id });
    // Switching concerns one session, and the ones that begin afterwards.
    expect((await ben.post(`${api}/teams/switch`, { account: ben.account.id })).status).toBe(200);
    expect(await ben.json(`${api}/me`)).toMatchObject({ account: ben.account.id, team_role: "admin" });
    expect(await next.json(`${api}/me`)).toMatchObject({ account: ada.account.id });
    expect(await (await signIn("ben@example.org")).json(`${api}/me`)).toMatchObject({ account: ben.account.id });
    for (const account of [ada.account.id, "acc_unknown"]) {
      await expectError(await carl.post(`${api}/teams/switch`, { account }), { status: 404, code: "not_found" });
    }
    expect(await carl.json(`${api}/me`)).toMatchObject({ account: carl.account.id });
  });

  test("is not changed by a tab that shows another account than the one its user switched to", async () => {
    const { ada, ben, join, send, accounts } = await teamOfAda();
    await join(ben);
    // A tab that was loaded in the team, before another tab switched back.
    expect((await ben.post(`${api}/teams/switch`, { account: ben.account.id })).status).toBe(200);
    const tab = (shown: string) => (method: string, path: string, body?: object) =>
      send(`${api}${path}`, {
        method,
        headers: { cookie: ben.cookie, origin, "content-type": "application/json", "x-modelgate-account": shown },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const stale = tab(ada.account.id);
    for (const write of [
      stale("POST", "/keys", { name: "laptop" }),
      stale("POST", "/vouchers/redeem", { code: "A" }),
      stale("PUT", "/team/budget", { budget_usd: "1.00", budget_period: "day" }),
      stale("POST", "/alerts/emails"),
      stale("POST", "/teams/leave"),
    ]) {
      await expectError(await write, { status: 409, code: "account_switched", says: "work in ben@example.org now" });
    }
    expect(await accounts.listKeys()).toEqual([]);
    expect((await stale("GET", "/keys")).status).toBe(200);
    expect((await tab(ben.account.id)("POST", "/keys", { name: "laptop" })).status).toBe(200);
    expect((await stale("POST", "/teams/switch", { account: ada.account.id })).status).toBe(200);
    expect((await stale("POST", "/keys", { name: "of the team" })).status).toBe(200);
    const keys = await accounts.listKeys();
    expect(keys.map(({ name, accountId }) => [name, accountId]).sort()).toEqual([
      ["laptop", ben.account.id],
      ["of the team", ada.account.id],
    ]);
  });

  test("keeps its account through a change of the password that ends other sessions", async () => {
    const { ada, ben, join, send } = await teamOfAda();
    await join(ben);
    const change = { currentPassword: password, newPassword: "another password", revokeOtherSessions: true };
    const cookie = cookieOf(await ben.post("/api/auth/change-password", change));
    const me = await (await send(`${api}/me`, { headers: { cookie } })).json();
    expect(me).toMatchObject({ account: ada.account.id, email: "ben@example.org" });
  });

  test("is managed by its admins; members change only the keys that they made", async () => {
    const { ada, ben, carl, join, invite, accounts } = await teamOfAda();
    await join(ben);
    await join(carl);
    const { id: open } = await invite();
    const { id: key } = await accounts.createKey({ accountId: ada.account.id, name: "of Ada", by: ada.account.id });
    const refusals = [
      ben.post(`${api}/team/invitations`, { role: "admin" }),
      ben.remove(`${api}/team/invitations/${open}`),
      ben.patch(`${api}/team/people/${ben.account.id}`, { role: "admin" }),
      ben.remove(`${api}/team/people/${carl.account.id}`),
      ben.post(`${api}/alerts/webhooks`, { url: "https://hooks.example.com/a" }),
      ben.patch(`${api}/keys/${key}`, { name: "mine" }),
      ben.remove(`${api}/keys/${key}`),
    ];
    for (const refused of await Promise.all(refusals)) await expectError(refused, { status: 403, code: "forbidden" });
    expect(await ben.json(`${api}/team`)).toMatchObject({ people: [{}, {}, {}], invitations: [] });
    const { id: own } = (await (await ben.post(`${api}/keys`, { name: "of Ben" })).json()) as { id: string };
    expect((await ben.patch(`${api}/keys/${own}`, { name: "changed" })).status).toBe(200);
    expect((await ada.remove(`${api}/keys/${own}`)).status).toBe(200);

    expect((await ada.patch(`${api}/team/people/${ben.account.id}`, { role: "admin" })).status).toBe(200);
    expect((await ben.remove(`${api}/team/people/${carl.account.id}`)).status).toBe(200);
    // The account is Ada's own.
    for (const refused of [
      await ben.remove(`${api}/team/people/${ada.account.id}`),
      await ben.patch(`${api}/team/people/${ada.account.id}`, { role: "member" }),
    ]) {
      await expectError(refused, { status: 409, code: "conflict", says: "own account" });
    }
  });

  test("is closed at once to those who are removed: their sessions, links and keys", async () => {
    const { ada, ben, join, invite, carl, accounts, signIn } = await teamOfAda();
    await join(ben, "admin");
    const link = (await (await ben.post(`${api}/team/invitations`, { role: "admin" })).json()) as { token: string };
    const { key } = (await (await ben.post(`${api}/keys`, { name: "of Ben" })).json()) as { key: string };
    expect(await accounts.authenticate(key)).toMatchObject({ accountId: ada.account.id });
    const { token: theirs } = await invite();

    const removed = await ada.remove(`${api}/team/people/${ben.account.id}?keys=revoke`);
    expect(removed.status).toBe(200);
    await expectError(await ben.get(`${api}/me`), { status: 401, code: "invalid_session" });
    await expectError(await carl.post(`${api}/teams/join`, { token: link.token }), { status: 404, code: "not_found" });
    expect(() => accounts.authenticate(key)).toThrow("revoked");
    const next = await signIn("ben@example.org");
    expect(await next.json(`${api}/me`)).toMatchObject({ account: ben.account.id });
    const back = await next.post(`${api}/teams/switch`, { account: ada.account.id });
    await expectError(back, { status: 404, code: "not_found" });
    expect((await carl.post(`${api}/teams/join`, { token: theirs })).status).toBe(200);
  });

  test("can be left, but not by its last admin; a session then goes on in the own account", async () => {
    const { admin, accounts, store, enter, clock } = await withOperator();
    const { id: team } = await accounts.create({ email: "team@example.org", name: "Team" });
    const path = `${api}/admin/accounts/${team}/team`;
    const [ben, carl] = [withJson(await enter("ben@example.org")), withJson(await enter("carl@example.org"))];
    for (const [who, role] of [[ben, "admin"] as const, [carl, "member"] as const]) {
      const { token } = (await (await admin.post(`${path}/invitations`, { role })).json()) as { token: string };
      expect((await who.post(`${api}/teams/join`, { token })).status).toBe(200);
    }
    await expectError(await ben.post(`${api}/teams/leave`), { status: 409, code: "conflict", says: "last admin" });
    await expectError(await ben.patch(`${api}/team/people/${ben.account.id}`, { role: "member" }), {
      status: 409,
      code: "conflict",
      says: "last admin",
    });
    expect(await ben.json(`${api}/me`)).toMatchObject({ account: team });
    expect((await carl.post(`${api}/teams/leave`)).status).toBe(200);
    expect(await carl.json(`${api}/me`)).toMatchObject({ account: carl.account.id });
    await expectError(await carl.post(`${api}/teams/leave`), { status: 409, code: "conflict", says: "own account" });
    // An administrator of the gateway can make another.
    expect((await admin.remove(`${path}/people/${ben.account.id}`)).status).toBe(200);
    expect(await (await admin.get(path)).json()).toEqual({
      budget: null,
      budgets: [],
      can_mail: false,
      people: [],
      invitations: [],
    });
    clock.pass(31 * dayMs);
    expect(await pruneSignIn(store, clock.now())).toBeGreaterThan(0);
    expect(await store.db.selectFrom("team_invitations").selectAll().execute()).toEqual([]);
  });

  test("of an owner is not managed by administrators, who act for the gateway in any account", async () => {
    const { admin, owner, store } = await withOperator();
    const path = `${api}/admin/accounts/${owner.account.id}/team`;
    await expectError(await admin.post(`${path}/invitations`, { role: "admin" }), { status: 403, code: "forbidden" });
    const { token } = (await (await owner.post(`${api}/team/invitations`, { role: "admin" })).json()) as {
      token: string;
    };
    expect((await admin.post(`${api}/teams/join`, { token })).status).toBe(200);
    expect(await admin.json(`${api}/me`)).toMatchObject({ account: owner.account.id, role: "admin" });
    // Working in the owner's account makes nobody an owner.
    const change = await admin.post(`/v1/organization/projects/${owner.account.id}`, { role: "member" });
    await expectError(change, { status: 403, code: "forbidden" });
    expect((await admin.post("/v1/organization/projects", { email: "new@example.org" })).status).toBe(200);
    const created = (await readAudit(store)).entries.find(({ action }) => action === "account.create");
    expect(created).toMatchObject({ accountId: admin.account.id });
  });

  test("has a budget that its admins set, which its keys know at once", async () => {
    const { ada, ben, join, accounts } = await teamOfAda();
    await join(ben);
    const { key } = (await (await ben.post(`${api}/keys`, { name: "of Ben" })).json()) as { key: string };
    expect((await accounts.authenticate(key)).budgets).toBeUndefined();
    const set = (who: typeof ben, body: object) => who.put(`${api}/team/budget`, body);
    const weekly = { budget_usd: "5.00", budget_period: "week" };
    await expectError(await set(ben, weekly), { status: 403, code: "forbidden" });
    expect((await set(ada, weekly)).status).toBe(200);
    expect((await ben.json(`${api}/team`)).budget).toMatchObject({ usd: "5", used_usd: "0", period: "week" });
    const accountBudget = { subject: "account", limitNanodollars: 5_000_000_000, period: "week" };
    expect((await accounts.authenticate(key)).budgets).toMatchObject([accountBudget]);
    for (const body of [
      { ...weekly, budget_usd: "-1" },
      { ...weekly, budget_period: "year" },
    ]) {
      expect((await set(ada, body)).status).toBe(400);
    }
    expect((await set(ada, { ...weekly, budget_usd: null })).status).toBe(200);
    expect((await ada.json(`${api}/team`)).budget).toBeNull();
  });

  test("that is disabled, or whose member is, lets nobody act in it", async () => {
    const { ada, ben, carl, join, store, clock, signIn } = await teamOfAda();
    await join(ben);
    await join(carl);
    const { setDisabled } = accountActions(createAudited(store, clock.now), clock.now);
    await setDisabled(commandLine, carl.account.id, true);
    await expectError(await carl.get(`${api}/me`), { status: 401, code: "invalid_session" });
    await setDisabled(commandLine, ada.account.id, true);
    await expectError(await ben.get(`${api}/me`), { status: 401, code: "invalid_session" });
    const next = await signIn("ben@example.org");
    expect(await next.json(`${api}/me`)).toMatchObject({ account: ben.account.id });
    expect((await next.json(`${api}/teams`)).data).toHaveLength(1);
  });

  test("is not changed by a viewer, who still chooses the account to look at", async () => {
    const { ben, join, store, invite, ada } = await teamOfAda();
    await join(ben, "admin");
    await store.db.updateTable("users").set({ role: "viewer" }).where("account_id", "=", ben.account.id).execute();
    const refused = await ben.post(`${api}/team/invitations`, { role: "member" });
    await expectError(refused, { status: 403, code: "forbidden", says: "Viewers" });
    const { token } = await invite();
    await expectError(await ben.post(`${api}/teams/join`, { token }), { status: 403, code: "forbidden" });
    for (const account of [ben.account.id, ada.account.id]) {
      expect((await ben.post(`${api}/teams/switch`, { account })).status).toBe(200);
    }
  });
});

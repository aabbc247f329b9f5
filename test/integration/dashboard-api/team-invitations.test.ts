import { describe, expect, test } from "bun:test";
import { teamActions } from "../../../src/tenants/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { password } from "../../unit/http/dashboard-http.ts";
import { teamOfAda } from "./team-people.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api";
const dayMs = 86_400_000;

describe("an invitation to a team", () => {
  test("is permission to sign up where that is closed, for one new person without a free quota of their own", async () => {
    const { ada, invite, publicPost, signIn, store, accounts } = await teamOfAda({ SIGNUP: "closed" });
    const { token: invitation } = await invite();
    const eve = { email: "Eve@example.org", password, name: "Eve" };
    const closed = await publicPost("/api/auth/sign-up/email", eve);
    await expectError(closed, { status: 403, code: "forbidden", says: "Sign-up is closed" });
    const made = await publicPost("/api/auth/sign-up/email", { ...eve, invitation });
    expect(made.status).toBe(200);
    const session = await signIn("eve@example.org");
    expect(await session.json(`${api}/me`)).toMatchObject({ account: ada.account.id, email: "eve@example.org" });
    expect(await accounts.find("eve@example.org")).toMatchObject({ freeTokensPerDay: 0, name: "Eve" });
    // The page joins after each sign-in.
    expect((await session.post(`${api}/teams/join`, { token: invitation })).status).toBe(200);
    const second = await publicPost("/api/auth/sign-up/email", { ...eve, email: "fay@example.org", invitation });
    await expectError(second, { status: 404, code: "not_found" });
    expect(await accounts.find("fay@example.org")).toBeUndefined();
    expect(await store.db.selectFrom("memberships").selectAll().execute()).toHaveLength(1);
  });

  test("does not tell whether an address has an account, and neither changes that nor is taken", async () => {
    const { ben, invite, publicPost, store, accounts } = await teamOfAda();
    await accounts.create({ email: "nobody@example.org" });
    const { token: invitation } = await invite();
    for (const email of ["ben@example.org", "nobody@example.org"]) {
      const asked = await publicPost("/api/auth/sign-up/email", { email, password: "a new password", invitation });
      expect([asked.status, await asked.json()]).toEqual([200, { success: true }]);
    }
    expect(await store.db.selectFrom("memberships").selectAll().execute()).toEqual([]);
    expect(await store.db.selectFrom("users").select("id").execute()).toHaveLength(3);
    expect((await ben.post(`${api}/teams/join`, { token: invitation })).status).toBe(200);
  });

  test("for an address is for nobody else", async () => {
    const { ben, carl, invite, publicPost } = await teamOfAda();
    const { token } = await invite({ role: "admin", email: "BEN@example.org" });
    await expectError(await carl.post(`${api}/teams/join`, { token }), { status: 400, code: "invalid_request" });
    const eve = { email: "eve@example.org", password, invitation: token };
    await expectError(await publicPost("/api/auth/sign-up/email", eve), { status: 400, code: "invalid_request" });
    expect((await ben.post(`${api}/teams/join`, { token })).status).toBe(200);
    expect(await ben.json(`${api}/me`)).toMatchObject({ team_role: "admin" });
  });

  test("ends when it expires, when it is deleted, and for those who are in the team", async () => {
    const { ada, ben, carl, invite, join, clock } = await teamOfAda();
    await join(ben);
    const [deleted, late] = [await invite(), await invite({ role: "member", days: 1 })];
    expect((await ada.json(`${api}/team`)).invitations).toHaveLength(2);
    for (const who of [ada, ben]) {
      const refused = await who.post(`${api}/teams/join`, { token: late.token });
      await expectError(refused, { status: 409, code: "conflict", says: "already" });
    }
    expect((await ada.remove(`${api}/team/invitations/${deleted.id}`)).status).toBe(200);
    expect((await ada.remove(`${api}/team/invitations/${deleted.id}`)).status).toBe(404);
    clock.pass(dayMs);
    for (const { token } of [deleted, late]) {
      await expectError(await carl.post(`${api}/teams/join`, { token }), { status: 404, code: "not_found" });
    }
    for (const body of [{ role: "owner" }, { role: "member", days: 31 }, { role: "member", email: "x" }, {}]) {
      expect((await ada.post(`${api}/team/invitations`, body)).status).toBe(400);
    }
  });

  test("is good as long as its maker may invite: not while they are disabled, and not for a viewer", async () => {
    const { ada, ben, carl, enter, join, accounts, store, publicPost } = await teamOfAda();
    await join(ben, "admin");
    const { token } = (await (await ben.post(`${api}/team/invitations`, { role: "admin" })).json()) as {
      token: string;
    };
    const open = async () => (await ada.json(`${api}/team`)).invitations.length as number;
    expect(await open()).toBe(1);
    const setRole = (role: "viewer" | "member") =>
      store.db.updateTable("users").set({ role }).where("account_id", "=", ben.account.id).execute();
    const refused = async () => {
      await expectError(await carl.post(`${api}/teams/join`, { token }), { status: 404, code: "not_found" });
      const eve = { email: "eve@example.org", password, invitation: token };
      await expectError(await publicPost("/api/auth/sign-up/email", eve), { status: 404, code: "not_found" });
      await expectError(await publicPost(`${api}/invitations/team`, { token }), { status: 404, code: "not_found" });
      expect(await open()).toBe(0);
    };
    await setRole("viewer");
    await refused();
    await setRole("member");
    expect(await open()).toBe(1);
    // One that an administrator of the gateway made ends with that role.
    const root = await enter("root@example.org", "admin");
    const path = `${api}/admin/accounts/${ada.account.id}/team/invitations`;
    const byRoot = (await (await root.post(path, { role: "admin" })).json()) as { token: string };
    await store.db.updateTable("users").set({ role: "member" }).where("account_id", "=", root.account.id).execute();
    await expectError(await carl.post(`${api}/teams/join`, { token: byRoot.token }), { status: 404 });
    // It ends for good with its maker's access, also where that comes back.
    await accounts.setDisabled(ben.account.id, true);
    await refused();
    await accounts.setDisabled(ben.account.id, false);
    await refused();
    const again = (await (await ada.post(`${api}/team/invitations`, { role: "member" })).json()) as { token: string };
    expect((await carl.post(`${api}/teams/join`, { token: again.token })).status).toBe(200);
  });

  test("lets in one of many who take it at once", async () => {
    const { store, ada, ben, carl, invite, deps } = await teamOfAda();
    const { token } = await invite();
    const joins = [ben, carl, ben, carl].map((who) => who.post(`${api}/teams/join`, { token }));
    const statuses = (await Promise.all(joins)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 404, 404]);
    expect(await store.db.selectFrom("memberships").selectAll().execute()).toHaveLength(1);
    // Of two admins who leave at once, one stays.
    const team = await deps.accounts.create({ email: "team@example.org" });
    const actions = teamActions(store, Date.now);
    const operator = { accountId: "cli", role: "owner", isOperator: true } as const;
    for (const who of [ben, carl]) {
      const link = await actions.invite(operator, { accountId: team.id, role: "admin" });
      expect((await who.post(`${api}/teams/join`, { token: link.token })).status).toBe(200);
    }
    const left = await Promise.all([ben, carl].map((who) => who.post(`${api}/teams/leave`)));
    expect(left.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(ada.account.id).not.toBe(team.id);
  });
});

import { describe, expect, test } from "bun:test";
import { type Administrator, commandLine } from "../../../src/audit/index.ts";
import { readAudit } from "../../../src/audit/read-audit.ts";
import { createAudited } from "../../../src/audit/record-audit.ts";
import type { Role } from "../../../src/db/index.ts";
import { acceptInvitation } from "../../../src/identity/accept-invitation.ts";
import { accountActions } from "../../../src/tenants/account-actions.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { fixture, password, refusalOf } from "./member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const secret = "a secret that signs the cookies of a test";

/** A gateway with people of these roles, who can sign in. */
async function people<const Name extends string>(given: Record<Name, Role>) {
  const parts = await fixture({ secret });
  await parts.store.setting("session_secret", () => secret);
  const { store, now } = parts;
  const actions = accountActions(createAudited(store, now), now);
  const actors = {} as Record<Name, Administrator & { cookie: string }>;
  for (const [name, role] of Object.entries<Role>(given)) {
    const { id: accountId } = await parts.accounts.create({ email: `${name}@example.org` });
    actors[name as Name] = { accountId, role, cookie: await enterAs(store, { accountId, role }, now()) };
  }
  const roleOf = async (name: Name) =>
    (
      await store.db
        .selectFrom("users")
        .select("role")
        .where("account_id", "=", actors[name].accountId)
        .executeTakeFirstOrThrow()
    ).role;
  const setRole = (by: Administrator, name: Name, role: Role) =>
    actions.changeAccount(by, actors[name].accountId, { role });
  return { ...parts, actions, actors, roleOf, setRole };
}

describe("a change of a role", () => {
  test("is in force at the next request of a session, and is in the audit log with the role before", async () => {
    const { setRole, actors, signIn, store } = await people({ ada: "owner", ben: "admin" });
    const roleNow = async () => (await signIn.sessionUserOf(actors.ben.cookie))?.role;
    expect(await roleNow()).toBe("admin");
    await setRole(actors.ada, "ben", "viewer");
    expect(await roleNow()).toBe("viewer");
    // Nothing was changed, so nothing is written.
    await setRole(actors.ada, "ben", "viewer");
    expect((await readAudit(store)).entries).toMatchObject([
      {
        accountId: actors.ada.accountId,
        action: "account.change",
        subject: actors.ben.accountId,
        detail: { role: "viewer", role_before: "admin" },
      },
    ]);
  });

  test("by an administrator makes another administrator, and no owner", async () => {
    const { setRole, actors, roleOf } = await people({ ada: "owner", ben: "admin", carl: "member" });
    await setRole(actors.ben, "carl", "admin");
    expect(await roleOf("carl")).toBe("admin");
    for (const name of ["ben", "carl"] as const) {
      expect((await refusalOf(setRole(actors.ben, name, "owner"))).code).toBe("forbidden");
    }
    expect(await roleOf("ben")).toBe("admin");
  });

  test("before the first sign-in applies from then on", async () => {
    const { actions, accounts, signIn, store, now, ask } = await people({ ada: "owner" });
    const { id } = await accounts.create({ email: "new@example.org" });
    await actions.changeAccount(commandLine, id, { role: "viewer" });
    const { token } = await actions.invite(commandLine, id);
    await acceptInvitation(store, { token, password }, now());
    const response = await ask("sign-in/email", { email: "new@example.org", password });
    const [cookie] = response.headers.getSetCookie();
    expect(await signIn.sessionUserOf(cookie as string)).toMatchObject({ accountId: id, role: "viewer" });
  });

  test("ends invitations: who has such a link does not set the password of a new owner", async () => {
    const { actions, actors, setRole, store, now } = await people({ ada: "owner", ben: "admin", carl: "member" });
    const { token } = await actions.invite(actors.ben, actors.carl.accountId);
    await setRole(actors.ada, "carl", "owner");
    expect((await refusalOf(acceptInvitation(store, { token, password }, now()))).code).toBe("not_found");
  });
});

describe("an invitation to set a password", () => {
  test.each<[string, (parts: Awaited<ReturnType<typeof people<"ada" | "ben" | "carl">>>) => Promise<unknown>]>([
    ["is disabled", ({ actions, actors }) => actions.setDisabled(actors.ada, actors.ben.accountId, true)],
    ["is no administrator any more", ({ setRole, actors }) => setRole(actors.ada, "ben", "viewer")],
  ])("ends when the administrator who made it %s", async (_, end) => {
    const parts = await people({ ada: "owner", ben: "admin", carl: "member" });
    const { actions, actors, store, now } = parts;
    const { token } = await actions.invite(actors.ben, actors.carl.accountId);
    await end(parts);
    expect((await refusalOf(acceptInvitation(store, { token, password }, now()))).code).toBe("not_found");
    const { token: another } = await actions.invite(actors.ada, actors.carl.accountId);
    await acceptInvitation(store, { token: another, password }, now());
  });

  test("of an owner ends when the owner who made it is an administrator only", async () => {
    const { actions, actors, setRole, store, now } = await people({ ada: "owner", ben: "owner", carl: "owner" });
    const { token } = await actions.invite(actors.ben, actors.carl.accountId);
    await setRole(actors.ada, "ben", "admin");
    expect((await refusalOf(acceptInvitation(store, { token, password }, now()))).code).toBe("not_found");
  });
});

describe("what concerns an owner", () => {
  test.each<[string, (parts: Awaited<ReturnType<typeof people<"ada" | "ben" | "carl">>>) => Promise<unknown>]>([
    [
      "an invitation, which would set the password",
      ({ actions, actors }) => actions.invite(actors.ben, actors.ada.accountId),
    ],
    [
      "a new e-mail",
      ({ actions, actors }) => actions.changeAccount(actors.ben, actors.ada.accountId, { email: "b@example.org" }),
    ],
    ["a new role", ({ setRole, actors }) => setRole(actors.ben, "ada", "member")],
    ["disabling", ({ actions, actors }) => actions.setDisabled(actors.ben, actors.ada.accountId, true)],
  ])("is refused to an administrator: %s", async (_, act) => {
    const parts = await people({ ada: "owner", ben: "admin", carl: "owner" });
    expect((await refusalOf(act(parts))).code).toBe("forbidden");
    expect(await parts.roleOf("ada")).toBe("owner");
    expect(await parts.accounts.find("ada@example.org")).toMatchObject({ disabledAt: undefined });
    expect((await readAudit(parts.store)).entries).toEqual([]);
  });
});

describe("the last owner", () => {
  test("is neither demoted nor disabled, also by themselves or a command", async () => {
    const { setRole, actions, actors, accounts, roleOf, store } = await people({ ada: "owner", ben: "admin" });
    for (const by of [actors.ada, commandLine]) {
      expect((await refusalOf(setRole(by, "ada", "admin"))).code).toBe("conflict");
      expect((await refusalOf(actions.setDisabled(by, actors.ada.accountId, true))).code).toBe("conflict");
    }
    expect((await refusalOf(accounts.setDisabled(actors.ada.accountId, true))).code).toBe("conflict");
    expect(await roleOf("ada")).toBe("owner");
    expect((await readAudit(store)).entries).toEqual([]);
    await setRole(actors.ada, "ben", "owner");
    await setRole({ ...actors.ben, role: "owner" }, "ada", "member");
    expect(await roleOf("ada")).toBe("member");
  });

  test("is the only one who can sign in: owners who are disabled or have no password yet do not count", async () => {
    const { setRole, actions, actors, accounts } = await people({ ada: "owner", ben: "owner" });
    const { id } = await accounts.create({ email: "new@example.org" });
    await actions.changeAccount(actors.ada, id, { role: "owner" });
    await actions.setDisabled(actors.ada, actors.ben.accountId, true);
    expect((await refusalOf(setRole(actors.ada, "ada", "member"))).code).toBe("conflict");
    await actions.setDisabled(actors.ada, actors.ben.accountId, false);
    await setRole(actors.ada, "ada", "member");
  });

  test("remains when two owners are demoted or disabled at once", async () => {
    for (const round of [0, 1, 2, 3]) {
      const { setRole, actions, actors, store } = await people({ ada: "owner", ben: "owner" });
      const disable = (by: Administrator, { accountId }: Administrator) => actions.setDisabled(by, accountId, true);
      const outcomes = await Promise.allSettled([
        round % 2 === 0 ? setRole(actors.ada, "ben", "member") : disable(actors.ada, actors.ben),
        round < 2 ? setRole(actors.ben, "ada", "member") : disable(actors.ben, actors.ada),
      ]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const left = await store.db
        .selectFrom("users")
        .innerJoin("accounts", "accounts.id", "users.account_id")
        .select("users.id")
        .where("role", "=", "owner")
        .where("disabled_at", "is", null)
        .execute();
      expect(left).toHaveLength(1);
    }
  });
});

describe("a change of the profile", () => {
  test("moves the sign-in to the new e-mail, keeps the session and ends invitations", async () => {
    const { actions, actors, ask, signIn, store, now } = await people({ ada: "owner", ben: "member" });
    const { accountId, cookie } = actors.ben;
    const { token } = await actions.invite(actors.ada, accountId);
    await actions.changeAccount(actors.ada, accountId, { email: " Benjamin@Example.org", name: "Benjamin" });
    expect(await signIn.sessionUserOf(cookie)).toMatchObject({ email: "benjamin@example.org", name: "Benjamin" });
    expect((await ask("sign-in/email", { email: "benjamin@example.org", password })).status).toBe(200);
    expect((await refusalOf(ask("sign-in/email", { email: "ben@example.org", password }))).code).toBe(
      "invalid_session",
    );
    expect((await refusalOf(acceptInvitation(store, { token, password }, now()))).code).toBe("not_found");
    await actions.changeAccount(actors.ada, accountId, { name: null });
    expect(await signIn.sessionUserOf(cookie)).toMatchObject({ name: "benjamin@example.org" });
    const details = (await readAudit(store)).entries
      .filter(({ action }) => action === "account.change")
      .map((row) => row.detail);
    expect(details).toContainEqual({
      email: "benjamin@example.org",
      email_before: "ben@example.org",
      name: "Benjamin",
      name_before: null,
    });
  });

  test("to an address that is taken or invalid changes nothing", async () => {
    const { actions, actors, accounts } = await people({ ada: "owner", ben: "member" });
    const change = (email: string) => actions.changeAccount(actors.ada, actors.ben.accountId, { email, role: "admin" });
    expect(await refusalOf(change("ADA@example.org"))).toMatchObject({ code: "conflict", param: "email" });
    expect(await refusalOf(change("ben"))).toMatchObject({ code: "invalid_request" });
    expect(await accounts.find(actors.ben.accountId)).toMatchObject({ email: "ben@example.org" });
  });
});

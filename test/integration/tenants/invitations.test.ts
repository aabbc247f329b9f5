import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { acceptInvitation } from "../../../src/identity/accept-invitation.ts";
import { makeTemporaryPassword } from "../../../src/identity/set-password.ts";
import { invite } from "../../../src/tenants/invitations.ts";
import { hasOwner } from "../../../src/tenants/users.ts";
import { cookieOf, dayMs, fixture, type Member, member, password, refusalOf } from "./member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
describe("an invitation", () => {
  test("sets a password once and ends existing sessions", async () => {
    const { store, ask, now, account, signIn } = await member();
    const cookie = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
    const { token } = await invite(store, { accountId: account.id, by: "cli" }, now());
    const accept = () => acceptInvitation(store, { token, password: "another password" }, now());
    expect((await refusalOf(acceptInvitation(store, { token, password: "short" }, now()))).code).toBe(
      "invalid_request",
    );
    const outcomes = await Promise.allSettled([accept(), accept()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
    expect((await ask("sign-in/email", { email: "ada@example.org", password: "another password" })).status).toBe(200);
  });

  test.each([
    [
      "a newer one",
      async ({ store, account, now }: Member) =>
        void (await invite(store, { accountId: account.id, by: "cli" }, now())),
    ],
    [
      "a temporary password",
      async ({ store, account, now }: Member) =>
        void (await makeTemporaryPassword(store, { accountId: account.id, role: "member" }, now())),
    ],
    [
      "a change of the password",
      async ({ ask }: Member) => {
        const cookie = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
        await ask("change-password", { currentPassword: password, newPassword: "another password" }, cookie);
      },
    ],
  ])("ends with %s", async (_what, end) => {
    const parts = await member();
    const { store, account, now } = parts;
    const { id: other } = await parts.accounts.create({ email: "bob@example.org" });
    const [old, bobs] = [
      await invite(store, { accountId: account.id, by: "cli" }, now()),
      await invite(store, { accountId: other, by: "cli" }, now()),
    ];
    await end(parts);
    const accept = ({ token }: { token: string }) =>
      acceptInvitation(store, { token, password: "a third password" }, now());
    expect((await refusalOf(accept(old))).code).toBe("not_found");
    expect(await accept(bobs)).toEqual({ email: "bob@example.org" });
  });

  test("of several that were created or accepted at once works once", async () => {
    const { store, account, now } = await member();
    const links = await Promise.all([1, 2, 3].map(() => invite(store, { accountId: account.id, by: "cli" }, now())));
    expect(await store.db.selectFrom("invitations").selectAll().execute()).toHaveLength(1);
    // Several rows, each of them valid.
    const row = await store.db.selectFrom("invitations").selectAll().executeTakeFirstOrThrow();
    const old = links.map(({ token }) => ({ ...row, token_hash: createHash("sha256").update(token).digest("hex") }));
    await store.db.deleteFrom("invitations").execute();
    await store.db.insertInto("invitations").values(old).execute();
    const outcomes = await Promise.allSettled(
      links.map(({ token }) => acceptInvitation(store, { token, password: "another password" }, now())),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("is valid for 48 hours", async () => {
    const { store, account, now } = await member();
    const { token, expiresAt } = await invite(store, { accountId: account.id, by: "cli" }, now());
    expect(expiresAt - now()).toBe(2 * dayMs);
    const late = acceptInvitation(store, { token, password: "another password" }, expiresAt);
    expect((await refusalOf(late)).code).toBe("not_found");
  });

  test("is refused for an unknown account", async () => {
    const { store, now } = await fixture();
    expect((await refusalOf(invite(store, { accountId: "acc_none", by: "cli" }, now()))).code).toBe("not_found");
    expect(await hasOwner(store)).toBe(false);
  });
});

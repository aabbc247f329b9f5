import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readAudit } from "../../../src/audit/index.ts";
import type { Role } from "../../../src/db/index.ts";
import { toRole } from "../../../src/identity/oidc/role-claim.ts";
import { readClaim } from "../../../src/identity/read-claim.ts";
import { type OidcIssuer, startOidcIssuer } from "../../support/oidc-issuer.ts";
import { cookieOf, dashboardHttp, origin } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const ada = { sub: "ada-1", email: "ada@example.org", email_verified: true };
let issuer: OidcIssuer;
beforeAll(async () => {
  issuer = await startOidcIssuer(`${origin}/api/auth/oauth2/callback/oidc`);
});
afterAll(() => issuer.stop());
beforeEach(() => {
  issuer.person = ada;
});

/** A gateway to which Ada comes from her issuer. */
async function fixture() {
  const parts = await dashboardHttp({
    PUBLIC_URL: origin,
    OIDC_ISSUER: issuer.url,
    SIGNUP: "open",
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
    OIDC_SCOPES: "openid email groups",
    OIDC_ROLE_CLAIM: "groups",
    OIDC_ROLES: "operators=admin,cn=auditors,ou=it=viewer,founders=owner",
  });
  /** Signs in with these groups, and returns the role afterwards; `undefined` when the sign-in was refused. */
  const comeWith = async (groups: unknown): Promise<Role | undefined> => {
    issuer.person = { ...issuer.person, ...(groups !== undefined && { groups }) };
    if (groups === undefined) delete issuer.person.groups;
    // A client may begin only so many sign-ins a minute.
    parts.clock.pass(60_000);
    const begun = await parts.send("/api/auth/sign-in/oauth2", { method: "POST", headers: { origin } });
    const cookie = begun.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const back = await issuer.visit((await begun.json()).url);
    const response = await parts.send(back.href, { headers: { cookie } });
    return (await parts.deps.signIn.sessionUserOf(cookieOf(response)))?.role;
  };
  return { ...parts, comeWith };
}

describe("the claim for roles", () => {
  test("decides the role at each sign-in, and leaves an audit entry", async () => {
    const { comeWith, store } = await fixture();
    expect(await comeWith(["everybody", "operators"])).toBe("admin");
    expect(await comeWith("operators")).toBe("admin");
    expect(await comeWith(["cn=auditors,ou=it"])).toBe("viewer");
    expect(await comeWith(["operators", "cn=auditors,ou=it"])).toBe("admin");
    expect(await comeWith([])).toBe("member");
    expect(await comeWith(["operators"])).toBe("admin");
    // Issuers leave the claim out for people without groups.
    expect(await comeWith(undefined)).toBe("member");
    const all = (await readAudit(store)).entries;
    expect(all.filter(({ action }) => action === "user.sign_in")).toHaveLength(5);
    const entries = all.filter(({ action }) => action === "account.change");
    expect(entries.every(({ accountId }) => accountId === "oidc")).toBe(true);
    expect(entries.map(({ detail }) => detail.role).sort()).toEqual(
      ["admin", "viewer", "admin", "member", "admin", "member"].sort(),
    );
  });

  test("does not demote the last owner, and another one it does", async () => {
    const { comeWith, enter, store } = await fixture();
    await enter("ada@example.org", "owner");
    expect(await comeWith(["everybody"])).toBe("owner");
    await enter("ben@example.org", "owner");
    expect(await comeWith(["everybody"])).toBe("member");
    expect(await comeWith(["founders"])).toBe("owner");
    const owners = await store.db.selectFrom("users").select("id").where("role", "=", "owner").execute();
    expect(owners).toHaveLength(2);
  });

  test("makes no owner of an administrator who prepared the account of one: its password, sessions and links end", async () => {
    const { comeWith, enter, send, accounts, store } = await fixture();
    const root = await enter("root@example.org", "admin");
    // Ada, whom her issuer makes an owner, has not come yet.
    const made = await root.post("/v1/organization/projects", { email: "ada@example.org" });
    const { id } = (await made.json()) as { id: string };
    const invited = await root.post(`/dashboard/api/admin/accounts/${id}/invite`);
    const headers = { origin, "content-type": "application/json" };
    const post = (path: string, body: object) =>
      send(path, { method: "POST", headers, body: JSON.stringify(body) }) as Promise<Response>;
    const planted = { email: "ada@example.org", password: "known to the administrator" };
    const { token } = (await invited.json()) as { token: string };
    await post("/dashboard/api/invitations/accept", { token, password: planted.password });
    const cookie = cookieOf(await post("/api/auth/sign-in/email", planted));
    const me = () => send("/dashboard/api/me", { headers: { cookie } }) as Promise<Response>;
    expect(await (await me()).json()).toMatchObject({ role: "member" });
    expect(await comeWith(["founders"])).toBe("owner");
    expect((await me()).status).toBe(401);
    expect((await post("/api/auth/sign-in/email", planted)).status).toBe(401);
    // She herself is signed in, and comes again.
    expect(await comeWith(["founders"])).toBe("owner");
    expect((await accounts.find("ada@example.org"))?.id).toBe(id);
    const credentials = store.db.selectFrom("credentials").select("provider_id").where("provider_id", "=", "oidc");
    expect(await credentials.execute()).toHaveLength(1);
  });

  test("gives its role to who holds the e-mail, and none to somebody who only claimed it at sign-up", async () => {
    const { comeWith, send, deps, store } = await fixture();
    const claimed = { email: "ada@example.org", password: "the attacker's password" };
    const headers = { origin, "content-type": "application/json" };
    await send("/api/auth/sign-up/email", { method: "POST", headers, body: JSON.stringify(claimed) });
    const cookie = cookieOf(
      await send("/api/auth/sign-in/email", { method: "POST", headers, body: JSON.stringify(claimed) }),
    );
    expect(await deps.signIn.sessionUserOf(cookie)).toMatchObject({ role: "member" });
    expect(await comeWith(["operators"])).toBe("admin");
    expect(await deps.signIn.sessionUserOf(cookie)).toBeUndefined();
    expect(await store.db.selectFrom("users").select("role").execute()).toMatchObject([{ role: "admin" }]);
  });
});

test("a claim is found by its name or its path, and what is not text is no value", () => {
  const claims = { "https://example.org/roles": ["a"], realm_access: { roles: ["b"] }, deep: "x" };
  expect(readClaim(claims, "https://example.org/roles")).toEqual(["a"]);
  expect(readClaim(claims, "realm_access.roles")).toEqual(["b"]);
  for (const name of ["deep.x.length", "deep.length", "none", "__proto__", "realm_access.constructor"]) {
    expect(readClaim(claims, name)).toBeUndefined();
  }
  const rules = { claim: "groups", pairs: ["1=owner", "x=viewer", "x=admin"] };
  for (const value of [1, [1, null, { x: 1 }], undefined, "y", [["x"]]]) expect(toRole(rules, value)).toBe("member");
  expect(toRole(rules, ["x"])).toBe("admin");
});

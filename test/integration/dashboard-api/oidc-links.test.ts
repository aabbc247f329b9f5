import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openSignIn } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/index.ts";
import { acceptInvitation } from "../../../src/identity/accept-invitation.ts";
import { type OidcIssuer, type OidcPerson, startOidcIssuer } from "../../support/oidc-issuer.ts";
import { cookieOf, dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const callback = `${origin}/api/auth/oauth2/callback/oidc`;
let issuer: OidcIssuer;
let laterIssuer: OidcIssuer;
beforeAll(async () => {
  [issuer, laterIssuer] = await Promise.all([startOidcIssuer(callback), startOidcIssuer(callback)]);
});
afterAll(async () => {
  await Promise.all([issuer.stop(), laterIssuer.stop()]);
});

const envOf = ({ url, clientId, clientSecret }: OidcIssuer) => ({
  PUBLIC_URL: origin,
  OIDC_ISSUER: url,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
});
const person = (sub: string, email: string): OidcPerson => ({ sub, email, email_verified: true });

async function fixture() {
  const parts = await dashboardHttp(envOf(issuer));
  const { deps, store, clock } = parts;
  type SignIn = typeof deps.signIn;
  /** Comes from an issuer. Returns the session's user and its cookie, or why there is none. */
  const come = async (who: OidcPerson, from = issuer, signIn: SignIn = deps.signIn) => {
    from.person = who;
    clock.pass(60_000);
    const post = { method: "POST", headers: { origin } };
    const begun = await signIn.handle(new Request(`${origin}/api/auth/sign-in/oauth2`, post), "there");
    const cookies = begun.headers.getSetCookie().map((line) => line.split(";")[0]);
    const back = await from.visit(((await begun.json()) as { url: string }).url);
    const headers = { cookie: cookies.join("; ") };
    const response = await signIn.handle(new Request(back.href, { headers }), "there");
    const cookie = cookieOf(response);
    const user = await signIn.sessionUserOf(cookie);
    return { cookie, account: user?.accountId, role: user?.role, error: response.headers.get("location") };
  };
  /** The sign-in of the same gateway after its operator has set another identity provider. */
  const openLater = async () => {
    const config = readConfig(envOf(laterIssuer));
    return (await openSignIn({ config, store, log: parts.log }, clock.now)).signIn;
  };
  return { ...parts, come, openLater };
}

const notLinked = { account: undefined, error: "/#sign-in-error=account_not_linked" };

describe("a link to the identity provider", () => {
  test("is that of one person: who has got the e-mail of another there later is not let into the account", async () => {
    const { accounts, come } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    expect(await come(person("ada-1", "ada@example.org"))).toMatchObject({ account: id });
    expect(await come(person("ada-2", "ada@example.org"))).toMatchObject(notLinked);
    expect(await come(person("ada-1", "moved@example.org"))).toMatchObject({ account: id });
    const ben = await accounts.create({ email: "ben@example.org" });
    expect(await come(person("ben-1", "ben@example.org"))).toMatchObject({ account: ben.id });
    expect(await come(person("ada-1", "ben@example.org"))).toMatchObject({ account: id });
  });

  test("is made anew after an invitation to set a password, by which an operator vouches for the e-mail", async () => {
    const { accounts, come, enter, store, clock } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    await come(person("ada-1", "ada@example.org"));
    const root = await enter("root@example.org", "owner");
    const invited = await root.post(`/dashboard/api/admin/accounts/${id}/invite`);
    const { token } = (await invited.json()) as { token: string };
    await acceptInvitation(store, { token, password }, clock.now());
    expect(await come(person("ada-2", "ada@example.org"))).toMatchObject({ account: id });
    expect(await come(person("ada-1", "ada@example.org"))).toMatchObject(notLinked);
  });

  test("is of one identity provider: the same subject at another one is somebody else", async () => {
    const { accounts, come, openLater } = await fixture();
    const ada = await accounts.create({ email: "ada@example.org" });
    const ben = await accounts.create({ email: "ben@example.org" });
    expect(await come(person("7", "ada@example.org"))).toMatchObject({ account: ada.id });
    const later = await openLater();
    expect(await come(person("7", "ben@example.org"), laterIssuer, later)).toMatchObject({ account: ben.id });
    // Whoever is known by the e-mail is so at the new one too.
    expect(await come(person("8", "ada@example.org"), laterIssuer, later)).toMatchObject({ account: ada.id });
  });

  test("ends with the e-mail by which it was made, and its sessions too: an account that is handed over is left", async () => {
    const { accounts, come, enter, deps } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    const { cookie } = await come(person("ada-1", "ada@example.org"));
    const root = await enter("root@example.org", "owner");
    await root.post(`/v1/organization/projects/${id}`, { email: "eve@example.org" });
    expect(await deps.signIn.sessionUserOf(cookie)).toBeUndefined();
    expect(await come(person("ada-1", "ada@example.org"))).toMatchObject({ account: undefined });
    expect(await come(person("eve-1", "eve@example.org"))).toMatchObject({ account: id });
  });

  test("makes no owner of an administrator who gave the account their own e-mail for a while", async () => {
    const { come, enter, deps } = await fixture();
    const root = await enter("root@example.org", "owner");
    const mallory = await enter("mallory@example.org", "admin");
    const ben = await enter("ben@example.org");
    const path = `/v1/organization/projects/${ben.account.id}`;
    await mallory.post(path, { email: "second.mallory@example.org" });
    const { cookie } = await come(person("mallory-2", "second.mallory@example.org"));
    await mallory.post(path, { email: "ben@example.org" });
    expect((await root.post(path, { role: "owner" })).status).toBe(200);
    expect(await come(person("mallory-2", "second.mallory@example.org"))).toMatchObject({ account: undefined });
    expect(await deps.signIn.sessionUserOf(cookie)).toBeUndefined();
    expect(await come(person("ben-1", "ben@example.org"))).toMatchObject({ account: ben.account.id, role: "owner" });
  });
});

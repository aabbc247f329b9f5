import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { signUp } from "../../../src/identity/sign-up.ts";
import { codeOf } from "../../support/authenticator.ts";
import { expectError } from "../../support/expect-error.ts";
import { type OidcIssuer, startOidcIssuer } from "../../support/oidc-issuer.ts";
import { cookieOf, dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const callback = "/api/auth/oauth2/callback/oidc";
const ada = { sub: "ada-1", email: "Ada@example.org", email_verified: true, name: "Ada" };

let issuer: OidcIssuer;
beforeAll(async () => {
  issuer = await startOidcIssuer(`${origin}${callback}`);
});
afterAll(() => issuer.stop());
beforeEach(() => {
  issuer.person = ada;
});

async function fixture(env: Record<string, string> = {}) {
  const parts = await dashboardHttp({
    PUBLIC_URL: origin,
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
    ...env,
  });
  const begin = async () => {
    const response = await parts.send("/api/auth/sign-in/oauth2", { method: "POST", headers: { origin } });
    const cookie = response.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    return { response, cookie };
  };
  /** Goes to the issuer and back; what the gateway says at the end. */
  const signIn = async () => {
    const { response, cookie } = await begin();
    const back = await issuer.visit((await response.json()).url);
    return parts.send(back.href, { headers: { cookie } });
  };
  const people = () => parts.store.db.selectFrom("users").select(["email", "role"]).execute();
  return { ...parts, begin, signIn, people };
}

function errorOf(response: Response): string | null {
  const location = response.headers.get("location") ?? "";
  return location.startsWith("/#sign-in-error=") ? location.slice("/#sign-in-error=".length) : null;
}

describe("an OIDC sign-in", () => {
  test("signs in to the account with that e-mail, also without a password, and again to the same", async () => {
    const { accounts, signIn, deps, store, people } = await fixture();
    const account = await accounts.create({ email: "ada@example.org" });
    for (const email of ["Ada@example.org", "moved@example.org"]) {
      issuer.person = { ...ada, email };
      const response = await signIn();
      expect([response.status, response.headers.get("location")]).toEqual([302, "/"]);
      expect(await deps.signIn.sessionUserOf(cookieOf(response))).toMatchObject({
        accountId: account.id,
        role: "member",
        passwordIsTemporary: false,
      });
    }
    expect(await people()).toHaveLength(1);
    const [credential] = await store.db.selectFrom("credentials").selectAll().execute();
    expect(credential).toMatchObject({ provider_id: "oidc", provider_account_id: `${issuer.url}#ada-1` });
    expect([credential?.access_token, credential?.refresh_token, credential?.id_token]).toEqual([null, null, null]);
  });

  test("keeps the role and password of an existing user", async () => {
    const { enter, signIn, deps, people, send } = await fixture();
    const { account } = await enter("ada@example.org", "admin");
    const response = await signIn();
    expect(await deps.signIn.sessionUserOf(cookieOf(response))).toMatchObject({ accountId: account.id, role: "admin" });
    expect(await people()).toHaveLength(1);
    const withPassword = await send("/api/auth/sign-in/email", {
      method: "POST",
      headers: { origin },
      body: JSON.stringify({ email: "ada@example.org", password }),
    });
    expect(withPassword.status).toBe(200);
  });

  test("skips the second factor, which only a password sign-in requires", async () => {
    const { enter, signIn, deps, send } = await fixture();
    const browser = await enter("ada@example.org");
    const { totpURI } = await (await browser.post("/api/auth/two-factor/enable", { password })).json();
    expect((await browser.post("/api/auth/two-factor/verify-totp", { code: codeOf(totpURI) })).status).toBe(200);
    const init = { method: "POST", headers: { origin }, body: JSON.stringify({ email: "ada@example.org", password }) };
    const withPassword = await send("/api/auth/sign-in/email", init);
    expect(await withPassword.json()).toMatchObject({ twoFactorRedirect: true });
    expect(await deps.signIn.sessionUserOf(cookieOf(withPassword))).toBeUndefined();
    const byIssuer = await signIn();
    expect(byIssuer.headers.get("location")).toBe("/");
    expect(await deps.signIn.sessionUserOf(cookieOf(byIssuer))).toMatchObject({ accountId: browser.account.id });
  });

  test("is refused for an unknown user when sign-up is closed", async () => {
    const { signIn, people, accounts } = await fixture();
    const response = await signIn();
    expect(errorOf(response)).toBe("signup_disabled");
    expect(cookieOf(response)).toBe("");
    expect([await people(), await accounts.list()]).toEqual([[], []]);
  });

  test("creates an account when sign-up is open", async () => {
    const { signIn, deps, accounts } = await fixture({ SIGNUP: "open" });
    const sessionUser = await deps.signIn.sessionUserOf(cookieOf(await signIn()));
    expect(sessionUser).toMatchObject({ email: "ada@example.org", name: "Ada", role: "member" });
    expect((await accounts.list()).map(({ id }) => id)).toEqual([sessionUser?.accountId as string]);
  });

  test.each([
    [{ email_verified: false }, "account_not_linked"],
    [{ email: undefined }, "email_is_missing"],
  ])("with %j links nothing", async (changes, code) => {
    const { enter, signIn, store } = await fixture({ SIGNUP: "open" });
    await enter("ada@example.org");
    issuer.person = { ...ada, ...changes } as typeof ada;
    const response = await signIn();
    expect([errorOf(response), cookieOf(response)]).toEqual([code, ""]);
    expect(await store.db.selectFrom("credentials").select("provider_id").execute()).toMatchObject([
      { provider_id: "credential" },
    ]);
  });

  describe("with an e-mail that somebody else has claimed at a sign-up", () => {
    const claim = { email: "ada@example.org", password: "the attacker's password" };
    async function squatted(env: Record<string, string> = {}) {
      const parts = await fixture({ SIGNUP: "open", ...env });
      const headers = { origin, "content-type": "application/json" };
      const post = (path: string, body: object) =>
        parts.send(path, { method: "POST", headers, body: JSON.stringify(body) }) as Promise<Response>;
      await post("/api/auth/sign-up/email", claim);
      const cookie = cookieOf(await post("/api/auth/sign-in/email", claim));
      const made = await parts.send("/dashboard/api/keys", {
        method: "POST",
        headers: { ...headers, cookie },
        body: JSON.stringify({ name: "planted" }),
      });
      const { key } = (await made.json()) as { key: string };
      expect(await parts.accounts.authenticate(key)).toBeObject();
      return { ...parts, post, cookie, key };
    }

    test("gets the account, and everything ends that the other one has made", async () => {
      const { signIn, deps, accounts, store, post, cookie, key } = await squatted();
      const response = await signIn();
      expect(response.headers.get("location")).toBe("/");
      const { id } = (await accounts.find("ada@example.org")) as { id: string };
      expect(await deps.signIn.sessionUserOf(cookieOf(response))).toMatchObject({ accountId: id, emailVerified: true });
      expect(await deps.signIn.sessionUserOf(cookie)).toBeUndefined();
      expect((await post("/api/auth/sign-in/email", claim)).status).toBe(401);
      const isGood = async () => (await accounts.authenticate(key)) !== undefined;
      expect(await isGood().catch(({ code }: { code: string }) => code)).toBe("invalid_api_key");
      const credentials = await store.db.selectFrom("credentials").select("provider_id").execute();
      expect(credentials).toEqual([{ provider_id: "oidc" }]);
      const ends = store.db.selectFrom("audit").selectAll().where("action", "=", "account.claim_end");
      expect(await ends.execute()).toHaveLength(1);
    });

    test("takes nothing without the issuer's word that the e-mail is verified", async () => {
      const { signIn, deps, cookie } = await squatted();
      issuer.person = { ...ada, email_verified: false };
      expect(errorOf(await signIn())).toBe("account_not_linked");
      expect(await deps.signIn.sessionUserOf(cookie)).toMatchObject({ emailVerified: false });
    });

    test("is not let in by that where sign-up has been closed since, and nothing ends", async () => {
      const { signIn, store, clock } = await fixture();
      await signUp({ store, signUp: "open", now: clock.now }, claim);
      expect(errorOf(await signIn())).toBe("account_not_linked");
      const credentials = await store.db.selectFrom("credentials").select("provider_id").execute();
      expect(credentials).toEqual([{ provider_id: "credential" }]);
    });
  });

  test("is refused for a disabled account", async () => {
    const { accounts, signIn, deps } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    await accounts.setDisabled(id, true);
    expect(await deps.signIn.sessionUserOf(cookieOf(await signIn()))).toBeUndefined();
  });

  test("uses PKCE and a state that is valid once and for the same browser", async () => {
    const { begin, send, accounts } = await fixture();
    await accounts.create({ email: "ada@example.org" });
    const { response, cookie } = await begin();
    const url = new URL((await response.json()).url);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: issuer.clientId,
      code_challenge_method: "S256",
      redirect_uri: `${origin}${callback}`,
      scope: "openid email profile",
    });
    expect(url.searchParams.get("nonce")).toMatch(/^[\w-]{43}$/);
    const back = await issuer.visit(url.href);
    expect(errorOf(await send(back.href))).toBe("state_mismatch");
    const forged = new URL(back);
    forged.searchParams.set("state", "x".repeat(32));
    expect(errorOf(await send(forged.href, { headers: { cookie } }))).toBe("state_mismatch");
    const otherIssuer = new URL(back);
    otherIssuer.searchParams.set("iss", "http://127.0.0.1:1");
    expect(errorOf(await send(otherIssuer.href, { headers: { cookie } }))).toBe("issuer_mismatch");
    expect(errorOf(await send(back.href, { headers: { cookie } }))).toBe("state_mismatch");
    expect(errorOf(await send(`${callback}?error=access_denied&state=x`, { headers: { cookie } }))).toBe(
      "access_denied",
    );
  });

  test("is refused from another site and without an identity provider", async () => {
    const { send } = await fixture();
    const evil = { origin: "http://evil.example", cookie: "a=b" };
    await expectError(await send("/api/auth/sign-in/oauth2", { method: "POST", headers: evil }), { status: 403 });
    const { send: alone } = await dashboardHttp();
    const headers = { origin };
    await expectError(await alone("/api/auth/sign-in/oauth2", { method: "POST", headers }), { status: 404 });
    await expectError(await alone(`${callback}?code=x&state=y`), { status: 404 });
  });
});

describe("an unusable identity provider", () => {
  /** A server that answers every path with this document. */
  function impostor(document: (url: string) => unknown) {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => Response.json(document(new URL(request.url).origin)),
    });
    return { url: server.url.origin, stop: () => server.stop(true) };
  }

  test.each([
    ["is another", () => ({ issuer: "https://other.example" }), "its issuer is"],
    [
      "names endpoints elsewhere over http",
      (url: string) => ({ issuer: url, ...endpoints("http://10.0.0.1") }),
      "its authorization_endpoint",
    ],
    ["names none", (url: string) => ({ issuer: url }), "its authorization_endpoint is undefined"],
    ["says nothing", () => "hello", "there is no discovery document"],
  ])("that %s does not prevent password sign-in", async (_what, document, says) => {
    const { url, stop } = impostor(document);
    try {
      const { send, enter } = await fixture({ OIDC_ISSUER: url });
      const refused = await send("/api/auth/sign-in/oauth2", { method: "POST", headers: { origin } });
      await expectError(refused, { status: 503, code: "unavailable", says });
      expect((await enter("ada@example.org")).cookie).not.toBe("");
    } finally {
      stop();
    }
  });

  test("is tried again at the next sign-in", async () => {
    let works = false;
    const { url, stop } = impostor((keyLimits) => (works ? { issuer: keyLimits, ...endpoints(keyLimits) } : {}));
    try {
      const { begin } = await fixture({ OIDC_ISSUER: url });
      expect((await begin()).response.status).toBe(503);
      works = true;
      expect((await begin()).response.status).toBe(200);
    } finally {
      stop();
    }
  });
});

function endpoints(origin: string) {
  return Object.fromEntries(
    ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"].map((name) => [
      name,
      `${origin}/${name}`,
    ]),
  );
}

import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { jsonLine } from "../../../src/observability/log.ts";
import { expectPrototypesClean } from "../../support/hostile.ts";
import { dashboardHttp, origin } from "../../unit/http/dashboard-http.ts";
import { mutantsOf, triedOf } from "./mutants.ts";

const callback = `${origin}/api/auth/oauth2/callback/oidc`;
/** Beyond it the issuer is asked about itself anew, and attempts are counted anew. */
const forgottenMs = 3_700_000;
const clientSecret = "a-secret-of-the-issuer-for-modelgate";
const refused = "/#sign-in-error=oauth_code_verification_failed";
const person = { email: "ada@example.org", email_verified: true, name: "Ada" };

/** An issuer that says what it is told to, of whatever form. */
const said: Record<string, unknown> = {};
let server: ReturnType<typeof Bun.serve>;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let right: Awaited<ReturnType<typeof rightAnswers>>;

beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async ({ url }) => {
      const { pathname } = new URL(url);
      const body = pathname === "/token" ? await withIdToken(said[pathname]) : said[pathname];
      return new Response(JSON.stringify(body) ?? "", { headers: { "content-type": "application/json" } });
    },
  });
  keys = await generateKeyPair("RS256");
  right = await rightAnswers();
});
afterAll(() => server.stop(true));

/** Stands for an ID token, which is made when it is asked for: it says the nonce of the sign-in. */
const idToken = "an ID token";
let claims: Record<string, unknown> = {};
let nonce: string | null = null;
/** How an ID token is signed; a test may have it signed otherwise. */
type Sign = (claims: JWTPayload) => string | Promise<string>;
let sign: Sign;
const signRight: Sign = (all) =>
  new SignJWT(all).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(keys.privateKey);

async function withIdToken(answer: unknown): Promise<unknown> {
  if (typeof answer !== "object" || answer === null || !("id_token" in answer)) return answer;
  if (answer.id_token !== idToken) return answer;
  return { ...answer, id_token: await sign({ nonce, ...claims } as JWTPayload) };
}

async function rightAnswers() {
  const url = server.url.origin;
  const now = Math.floor(Date.now() / 1000);
  return {
    claims: { iss: url, sub: "ada-1", aud: "modelgate", exp: now + 3600, iat: now },
    "/.well-known/openid-configuration": {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/keys`,
      authorization_response_iss_parameter_supported: false,
    },
    "/token": {
      access_token: "at",
      token_type: "Bearer",
      expires_in: 3600,
      scope: "openid",
      id_token: idToken,
    },
    "/keys": { keys: [{ ...(await exportJWK(keys.publicKey)), kid: "one", alg: "RS256", use: "sig" }] },
    "/userinfo": { sub: "ada-1", ...person },
  };
}

/** The issuer says all as it should but this. */
function say(path?: string, answer?: unknown): void {
  const { claims: rightClaims, ...answers } = right;
  claims = rightClaims;
  sign = signRight;
  Object.assign(said, answers, path !== undefined && { [path]: answer });
}

async function fixture() {
  const { accounts, ...parts } = await dashboardHttp({
    PUBLIC_URL: origin,
    OIDC_ISSUER: server.url.origin,
    OIDC_CLIENT_ID: "modelgate",
    OIDC_CLIENT_SECRET: clientSecret,
  });
  await accounts.create({ email: person.email });
  /** To the issuer and back: signed in, or the code of why not. */
  const signIn = async () => {
    parts.clock.pass(forgottenMs);
    const begun = await parts.send("/api/auth/sign-in/oauth2", { method: "POST", headers: { origin } });
    const body = await begun.json();
    if (!begun.ok) return body.error.code as string;
    const cookie = begun.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const { searchParams } = new URL(body.url);
    const state = searchParams.get("state");
    nonce = searchParams.get("nonce");
    const back = await parts.send(`${callback}?code=c&state=${state}`, { headers: { cookie } });
    expect(back.status).toBe(302);
    return back.headers.get("location");
  };
  return { ...parts, signIn };
}

/** Signed in, or told why not; and the log has one line where it was the issuer's doing, with nothing of the person. */
async function expectOutcome({ signIn, log }: Awaited<ReturnType<typeof fixture>>, sent: string): Promise<void> {
  log.lines.length = 0;
  using printed = spyOn(console, "error");
  const outcome = await signIn();
  const isCode = /^(\/|unavailable|\/#sign-in-error=[a-z_]+)$/.test(outcome ?? "");
  expect({ sent, outcome, isCode, printed: printed.mock.calls }).toMatchObject({ isCode: true, printed: [] });
  const lines = log.lines.map(({ level, event, fields = {} }) => jsonLine(0, level, event, fields));
  expect({ sent, lines: lines.length <= 1 ? [] : lines }).toEqual({ sent, lines: [] });
  expect(lines.join()).not.toMatch(/example\.org|ada-1/i);
  expectPrototypesClean();
}

test("an issuer all of whose answers are right signs in", async () => {
  const { signIn } = await fixture();
  say();
  expect(await signIn()).toBe("/");
});

test("an e-mail in the ID token needs no other answer", async () => {
  const { signIn } = await fixture();
  say("/userinfo", "Not asked");
  claims = { ...claims, ...person };
  expect(await signIn()).toBe("/");
});

const past = Math.floor(Date.now() / 1000) - 3600;

test.each<[string, Record<string, unknown>]>([
  ["of another issuer", { iss: "https://other.example" }],
  ["for another client", { aud: "somebody-else" }],
  ["for several clients, authorized for another", { aud: ["modelgate", "somebody-else"], azp: "somebody-else" }],
  ["that has expired", { iat: past - 60, exp: past }],
  ["of another sign-in", { nonce: "x".repeat(43) }],
  ["without a nonce", { nonce: undefined }],
  ["without a subject", { sub: undefined }],
])("an ID token %s is refused", async (_what, changes) => {
  const { signIn } = await fixture();
  say();
  claims = { ...claims, ...person, ...changes };
  expect(await signIn()).toBe(refused);
});

test.each<[string, Sign]>([
  [
    "signed with another key",
    async (all) => {
      const { privateKey } = await generateKeyPair("RS256");
      return new SignJWT(all).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey);
    },
  ],
  [
    "signed with the client secret",
    (all) => new SignJWT(all).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(clientSecret)),
  ],
  ["that is not signed", (all) => new UnsecuredJWT(all).encode()],
  ["whose claims were changed after signing", async (all) => forge(await signRight({ ...all, sub: "eve" }), all)],
])("an ID token %s is refused", async (_what, otherSign) => {
  const { signIn } = await fixture();
  say();
  claims = { ...claims, ...person };
  sign = otherSign;
  expect(await signIn()).toBe(refused);
});

/** The token with other claims and its old signature. */
function forge(token: string, all: JWTPayload): string {
  const [head, , signature] = token.split(".");
  return [head, Buffer.from(JSON.stringify(all)).toString("base64url"), signature].join(".");
}

test("userinfo about another person is refused", async () => {
  const { signIn } = await fixture();
  say("/userinfo", { sub: "eve", ...person });
  expect(await signIn()).toBe(refused);
});

test("a callback without its issuer is refused where the issuer always names itself", async () => {
  const { signIn } = await fixture();
  say("/.well-known/openid-configuration", {
    ...right["/.well-known/openid-configuration"],
    authorization_response_iss_parameter_supported: true,
  });
  expect(await signIn()).toBe("/#sign-in-error=issuer_missing");
});

test.each(["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"] as const)(
  "an issuer whose %s has one thing that is not what it should be signs in, or is refused",
  async (path) => {
    const parts = await fixture();
    for (const mutant of triedOf(mutantsOf(right[path]), path.length)) {
      say(path, mutant);
      await expectOutcome(parts, JSON.stringify(mutant));
    }
  },
);

test("an ID token with one claim that is not what it should be signs in, or is refused", async () => {
  const parts = await fixture();
  for (const [turn, [name, admission]] of Object.entries(right.claims).entries()) {
    for (const mutant of triedOf(mutantsOf(admission), turn)) {
      say();
      claims = { ...right.claims, [name]: mutant };
      await expectOutcome(parts, `${name} ${JSON.stringify(mutant)}`);
    }
  }
});

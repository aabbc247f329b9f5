import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { jsonLine } from "../../src/log-line.ts";
import { deskGround, origin } from "../http/desk-ground.ts";
import { expectPrototypesClean } from "../support/hostile.ts";
import { mutantsOf } from "./mutants.ts";

setDefaultTimeout(120_000);

const callback = `${origin}/api/auth/oauth2/callback/oidc`;
/** Beyond it the issuer is asked about itself anew, and attempts are counted anew. */
const forgottenMs = 3_700_000;
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
    fetch: ({ url }) => new Response(JSON.stringify(said[new URL(url).pathname]) ?? ""),
  });
  keys = await generateKeyPair("RS256");
  right = await rightAnswers();
});
afterAll(() => server.stop(true));

function idToken(claims: Record<string, unknown>): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(keys.privateKey);
}

async function rightAnswers() {
  const url = server.url.origin;
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: url, sub: "ada-1", aud: "modelgate", exp: now + 3600, iat: now };
  return {
    claims,
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
      id_token: await idToken(claims),
    },
    "/keys": { keys: [{ ...(await exportJWK(keys.publicKey)), kid: "one", alg: "RS256", use: "sig" }] },
    "/userinfo": { sub: "ada-1", ...person },
  };
}

/** The issuer says all as it should but this. */
function say(path?: string, answer?: unknown): void {
  const { claims: _, ...answers } = right;
  Object.assign(said, answers, path !== undefined && { [path]: answer });
}

async function ground() {
  const { accounts, ...parts } = await deskGround({
    PUBLIC_URL: origin,
    OIDC_ISSUER: server.url.origin,
    OIDC_CLIENT_ID: "modelgate",
    OIDC_CLIENT_SECRET: "a-secret-of-the-issuer-for-modelgate",
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
    const state = new URL(body.url).searchParams.get("state");
    const back = await parts.send(`${callback}?code=c&state=${state}`, { headers: { cookie } });
    expect(back.status).toBe(302);
    return back.headers.get("location");
  };
  return { ...parts, signIn };
}

/** Signed in, or told why not; and the log has one line where it was the issuer's doing, with nothing of the person. */
async function expectOutcome({ signIn, log }: Awaited<ReturnType<typeof ground>>, sent: string): Promise<void> {
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
  const { signIn } = await ground();
  say();
  expect(await signIn()).toBe("/");
});

test.each(["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"] as const)(
  "an issuer whose %s has one thing that is not what it should be signs in, or is refused",
  async (path) => {
    const parts = await ground();
    for (const mutant of mutantsOf(right[path])) {
      say(path, mutant);
      await expectOutcome(parts, JSON.stringify(mutant));
    }
  },
);

test("an ID token with one claim that is not what it should be signs in, or is refused", async () => {
  const parts = await ground();
  for (const [name, claim] of Object.entries(right.claims)) {
    for (const mutant of mutantsOf(claim)) {
      say("/token", { ...right["/token"], id_token: await idToken({ ...right.claims, [name]: mutant }) });
      await expectOutcome(parts, `${name} ${JSON.stringify(mutant)}`);
    }
  }
});

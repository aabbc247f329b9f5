import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createAccounts } from "../../../src/accounts/index.ts";
import { invite } from "../../../src/accounts/invitations.ts";
import { createSignIn } from "../../../src/accounts/sign-in.ts";
import { makeTemporaryPassword, setPassword } from "../../../src/accounts/users.ts";
import { GatewayError } from "../../../src/contract/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";
import { codeOf } from "../../support/authenticator.ts";

/** Each password costs a core for a while. */
setDefaultTimeout(60_000);

const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };
const email = "owner@localhost";
const password = "correct horse battery";
const secret = "0123456789abcdef0123456789abcdef";

async function ground() {
  const clock = { time: Date.now() };
  const now = () => clock.time;
  const store = await temporaryStore(undefined, now);
  const failures: unknown[] = [];
  const report = (error: unknown) => failures.push(error);
  const signIn = createSignIn({ store, secret, signUp: "closed", now, report, attemptsPerMinuteMax: 1000 });
  const account = await createAccounts({ store, defaults, now }).create({ email });
  await setPassword(store, { accountId: account.id, password, temporary: false, role: "member" }, now());
  const ask = (path: string, body: unknown, cookie = "") => {
    const init = { method: "POST", headers: { cookie }, body: JSON.stringify(body) };
    return signIn.handle(new Request(`http://gateway.example/api/auth/${path}`, init), "peer");
  };
  const enter = () => ask("sign-in/email", { email, password });
  return { store, signIn, account, ask, enter, now, clock, failures };
}

/** A person whose sign-in takes a code. */
async function withCodes() {
  const parts = await ground();
  const cookie = cookiesOf(await parts.enter());
  const { totpURI, backupCodes } = await (await parts.ask("two-factor/enable", { password }, cookie)).json();
  const confirmed = await parts.ask("two-factor/verify-totp", { code: codeOf(totpURI) }, cookie);
  return { ...parts, totpURI, backupCodes, cookie: cookiesOf(confirmed) };
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .filter((line) => !line.includes("Max-Age=0"))
    .map((line) => line.split(";")[0])
    .join("; ");
}

async function refusalOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

/** A code that is none of the three that are right now. */
function wrongCode(address: string): string {
  const right = [-60_000, -30_000, 0, 30_000, 60_000].map((ms) => codeOf(address, Date.now() + ms));
  return ["000000", "111111", "222222", "333333", "444444", "555555"].find((code) => !right.includes(code)) as string;
}

describe("the second factor", () => {
  test("is active after a first correct code, and the authenticator URI names the user", async () => {
    const { ask, enter, signIn } = await ground();
    const cookie = cookiesOf(await enter());
    expect((await refusalOf(ask("two-factor/enable", { password: "not this one" }, cookie))).status).toBe(400);
    const { totpURI, backupCodes } = await (await ask("two-factor/enable", { password }, cookie)).json();
    expect(totpURI).toMatch(/^otpauth:\/\/totp\/modelgate:owner%40localhost\?secret=[A-Z2-7]{52}&issuer=modelgate/);
    expect(backupCodes).toHaveLength(10);
    expect(await signIn.sessionUserOf(cookiesOf(await enter()))).toMatchObject({ secondFactor: false });
    expect((await refusalOf(ask("two-factor/verify-totp", { code: wrongCode(totpURI) }, cookie))).status).toBe(401);
    const confirmed = await ask("two-factor/verify-totp", { code: codeOf(totpURI) }, cookie);
    expect(await signIn.sessionUserOf(cookiesOf(confirmed))).toMatchObject({ secondFactor: true });
    expect(await confirmed.text()).not.toContain("token");
  });

  test("is required for a session after the password", async () => {
    const { ask, enter, signIn, account, totpURI, failures } = await withCodes();
    const half = await enter();
    expect(await half.json()).toEqual({ twoFactorRedirect: true, twoFactorMethods: ["totp"] });
    const challenge = cookiesOf(half);
    expect(await signIn.sessionUserOf(challenge)).toBeUndefined();
    expect((await refusalOf(ask("two-factor/verify-totp", { code: codeOf(totpURI) }))).status).toBe(401);
    expect((await refusalOf(ask("two-factor/verify-totp", { code: wrongCode(totpURI) }, challenge))).status).toBe(401);
    const whole = await ask("two-factor/verify-totp", { code: codeOf(totpURI) }, challenge);
    expect(await signIn.sessionUserOf(cookiesOf(whole))).toMatchObject({ accountId: account.id });
    expect((await refusalOf(ask("two-factor/verify-totp", { code: codeOf(totpURI) }, challenge))).status).toBe(401);
    expect(failures).toEqual([]);
  });

  test("can be a backup code, each valid once", async () => {
    const { ask, enter, signIn, backupCodes } = await withCodes();
    const [code] = backupCodes;
    const whole = await ask("two-factor/verify-backup-code", { code }, cookiesOf(await enter()));
    expect(await signIn.sessionUserOf(cookiesOf(whole))).toBeDefined();
    const again = await refusalOf(ask("two-factor/verify-backup-code", { code }, cookiesOf(await enter())));
    expect(again.status).toBe(401);
  });

  test("allows five wrong codes a sign-in and ten sign-ins in ten minutes, from any address", async () => {
    const { ask, enter, totpURI, clock, signIn } = await withCodes();
    const challenge = cookiesOf(await enter());
    const guess = (cookie: string) => ask("two-factor/verify-totp", { code: wrongCode(totpURI) }, cookie);
    for (let times = 0; times < 5; times++) expect((await refusalOf(guess(challenge))).status).toBe(401);
    const encoded = challenge.replace(/2fa/, "%32%66a");
    for (const cookie of [challenge, encoded]) {
      expect((await refusalOf(guess(cookie))).message).toContain("at most 5 in 10 minutes");
      const right = ask("two-factor/verify-totp", { code: codeOf(totpURI) }, cookie);
      expect((await refusalOf(right)).code).toBe("rate_limit_exceeded");
    }
    for (let times = 1; times < 10; times++) await enter();
    expect((await refusalOf(enter())).message).toContain("sign-ins to this account, at most 10 in 10 minutes");
    clock.time += 600_000;
    const whole = await ask("two-factor/verify-totp", { code: codeOf(totpURI) }, cookiesOf(await enter()));
    expect(await signIn.sessionUserOf(cookiesOf(whole))).toBeDefined();
  });

  test("is switched off with the password", async () => {
    const { ask, enter, signIn, cookie, store } = await withCodes();
    expect((await refusalOf(ask("two-factor/disable", { password: "not this one" }, cookie))).status).toBe(400);
    expect((await refusalOf(ask("two-factor/disable", { password }))).status).toBe(401);
    await ask("two-factor/disable", { password }, cookie);
    expect(await signIn.sessionUserOf(cookiesOf(await enter()))).toMatchObject({ secondFactor: false });
    expect(await store.db.selectFrom("two_factors").selectAll().execute()).toEqual([]);
  });

  test("is removed by a temporary password or an accepted invitation", async () => {
    const { ask, store, account, now, signIn } = await withCodes();
    const temporary = await makeTemporaryPassword(store, { accountId: account.id, role: "member" }, now());
    const cookie = cookiesOf(await ask("sign-in/email", { email, password: temporary }));
    expect(await signIn.sessionUserOf(cookie)).toMatchObject({ passwordIsTemporary: true, secondFactor: false });
    const refused = await refusalOf(ask("two-factor/enable", { password: temporary }, cookie));
    expect([refused.status, refused.publicCode]).toEqual([403, "password_change_required"]);
    await invite(store, account.id, now());
    expect(await store.db.selectFrom("two_factors").selectAll().execute()).toEqual([]);
  });

  test("stores its secret and backup codes encrypted", async () => {
    const { store, totpURI, backupCodes } = await withCodes();
    const rows = JSON.stringify(await store.db.selectFrom("two_factors").selectAll().execute());
    for (const hidden of [new URL(totpURI).searchParams.get("secret"), ...backupCodes])
      expect(rows).not.toContain(hidden);
  });
});

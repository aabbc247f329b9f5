import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { makeTemporaryPassword, setPassword, writePassword } from "../../../src/identity/set-password.ts";
import { createSignIn } from "../../../src/identity/sign-in.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { invite } from "../../../src/tenants/invitations.ts";
import { codeOf } from "../../support/authenticator.ts";
import { cheapPasswords } from "../../support/session-cookie.ts";
import { temporaryStore } from "../db/temporary-store.ts";

/** Each password costs a core for a while. */
const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };
const email = "owner@localhost";
const password = "correct horse battery";
const secret = "0123456789abcdef0123456789abcdef";

async function fixture() {
  const clock = { time: Date.now() };
  const now = () => clock.time;
  const store = await temporaryStore(undefined, now);
  const failures: unknown[] = [];
  const report = (error: unknown) => failures.push(error);
  const options = {
    store,
    secret,
    signUp: "closed",
    now,
    report,
    passwords: cheapPasswords,
    attemptsPerMinuteMax: 1000,
  } as const;
  const signIn = createSignIn(options);
  const account = await createAccounts({ store, defaults, now }).create({ email });
  const first = {
    accountId: account.id,
    hash: await cheapPasswords.hash(password),
    temporary: false,
    role: "member",
  } as const;
  await store.change((db) => writePassword(db, first, now()));
  const askOf =
    (by: typeof signIn) =>
    (path: string, body: unknown, cookie = "") => {
      const init = { method: "POST", headers: { cookie }, body: JSON.stringify(body) };
      return by.handle(new Request(`http://gateway.example/api/auth/${path}`, init), "peer");
    };
  const ask = askOf(signIn);
  /** As another process with the same database does. */
  const other = askOf(createSignIn(options));
  const enter = () => ask("sign-in/email", { email, password });
  return { store, signIn, account, ask, other, enter, now, clock, failures };
}

/** A person whose sign-in takes a code. */
async function withCodes() {
  const parts = await fixture();
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

/** The code that follows that of now, and is valid already; that of now was used when the second factor was set up. */
function nextCode(address: string): string {
  return codeOf(address, Date.now() + 30_000);
}

/** A code that is none of the three that are right now. */
function wrongCode(address: string): string {
  const right = [-60_000, -30_000, 0, 30_000, 60_000].map((ms) => codeOf(address, Date.now() + ms));
  return ["000000", "111111", "222222", "333333", "444444", "555555"].find((code) => !right.includes(code)) as string;
}

describe("the second factor", () => {
  test("is active after a first correct code, and the authenticator URI names the user", async () => {
    const { ask, enter, signIn } = await fixture();
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
    const whole = await ask("two-factor/verify-totp", { code: nextCode(totpURI) }, challenge);
    expect(await signIn.sessionUserOf(cookiesOf(whole))).toMatchObject({ accountId: account.id });
    expect((await refusalOf(ask("two-factor/verify-totp", { code: wrongCode(totpURI) }, challenge))).status).toBe(401);
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

  test("takes a code once, also in another sign-in or process", async () => {
    const { ask, enter, totpURI, other, clock, failures } = await withCodes();
    const verify = async (given: string, cookie: Promise<Response>, by = ask) =>
      by("two-factor/verify-totp", { code: given }, cookiesOf(await cookie));
    expect((await refusalOf(verify(codeOf(totpURI), enter()))).message).toContain("already used");
    const code = nextCode(totpURI);
    const outcomes = await Promise.allSettled([verify(code, enter()), verify(code, enter(), other)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const again = await refusalOf(verify(code, enter(), other));
    expect([again.status, again.publicCode]).toEqual([401, "invalid_code"]);
    // As after two minutes, when the code is no longer valid by the authenticator either.
    clock.time += 120_000;
    expect((await verify(code, enter())).status).toBe(200);
    expect(failures).toEqual([]);
  });

  test.each([
    ["as it was sent", (cookie: string) => cookie],
    ["with an escape", (cookie: string) => cookie.replace("2fa", "%32%66a")],
    ["beside a cookie that cannot be decoded", (cookie: string) => `a=%; ${cookie.replace("2fa", "2%66a")}`],
  ])("allows a user five wrong codes in ten minutes with the cookie %s", async (_how, write) => {
    const { ask, enter, other, totpURI, clock } = await withCodes();
    const guess = async (by: typeof ask, code = wrongCode(totpURI)) =>
      refusalOf(by("two-factor/verify-totp", { code }, write(cookiesOf(await enter()))));
    for (const by of [ask, other, ask, other, ask]) expect((await guess(by)).status).toBe(401);
    for (const by of [ask, other]) {
      expect((await guess(by)).message).toContain("wrong codes for this account, at most 5 in 10 minutes");
      expect((await guess(by, nextCode(totpURI))).code).toBe("rate_limit_exceeded");
    }
    const backup = refusalOf(ask("two-factor/verify-backup-code", { code: "x" }, cookiesOf(await enter())));
    expect((await backup).code).toBe("rate_limit_exceeded");
    clock.time += 600_000;
    const code = nextCode(totpURI);
    expect((await ask("two-factor/verify-totp", { code }, cookiesOf(await enter()))).status).toBe(200);
    // The right code ended the count.
    for (let times = 0; times < 5; times++) expect((await guess(ask)).status).toBe(401);
  });

  test("counts nothing for ids that were made up or signed by somebody else", async () => {
    const { ask, enter, totpURI, store } = await withCodes();
    const challenge = cookiesOf(await enter());
    const counted = () =>
      store.db.selectFrom("sign_in_attempts").select("key").where("key", "like", "code:%").execute();
    for (let times = 0; times < 20; times++) {
      const id = `2fa-${String(times).padStart(20, "x")}`;
      const cookie = challenge.replace(/2fa-[^.%]+/, id);
      expect((await refusalOf(ask("two-factor/verify-totp", { code: nextCode(totpURI) }, cookie))).status).toBe(401);
    }
    expect(await counted()).toEqual([]);
    expect((await ask("two-factor/verify-totp", { code: nextCode(totpURI) }, challenge)).status).toBe(200);
  });

  test("is asked for again after a new password, on a trusted device and in a sign-in that had begun", async () => {
    const { ask, enter, totpURI, account, now, store, cookie } = await withCodes();
    const begun = cookiesOf(await enter());
    const verify = { code: nextCode(totpURI), trustDevice: true };
    const trusted = cookiesOf(await ask("two-factor/verify-totp", verify, cookiesOf(await enter())));
    const enterTrusted = () => ask("sign-in/email", { email, password: "another password" }, trusted);
    const change = { currentPassword: password, newPassword: "another password" };
    expect((await ask("change-password", change, cookie)).status).toBe(200);
    expect(await (await enterTrusted()).json()).toMatchObject({ twoFactorRedirect: true });
    const late = ask("two-factor/verify-backup-code", { code: "x" }, begun);
    expect((await refusalOf(late)).message).toContain("cookie");
    await setPassword(store, { accountId: account.id, password, temporary: false, role: "member" }, now());
    expect(await store.db.selectFrom("verifications").selectAll().execute()).toEqual([]);
  });

  test("is switched off with the password", async () => {
    const { ask, enter, signIn, cookie, store } = await withCodes();
    expect((await refusalOf(ask("two-factor/disable", { password: "not this one" }, cookie))).status).toBe(400);
    expect((await refusalOf(ask("two-factor/disable", { password }))).status).toBe(401);
    await ask("two-factor/disable", { password }, cookie);
    expect(await signIn.sessionUserOf(cookiesOf(await enter()))).toMatchObject({ secondFactor: false });
    expect(await store.db.selectFrom("two_factors").selectAll().execute()).toEqual([]);
  });

  test("leaves an entry in the audit log when it is turned on or off, and for backup codes, also those of a sign-in", async () => {
    const { ask, enter, cookie, backupCodes, store, account } = await withCodes();
    const challenge = cookiesOf(await enter());
    expect((await ask("two-factor/verify-backup-code", { code: backupCodes[0] }, challenge)).status).toBe(200);
    expect((await ask("two-factor/verify-backup-code", { code: backupCodes[1] }, cookie)).status).toBe(200);
    expect((await ask("two-factor/generate-backup-codes", { password }, cookie)).status).toBe(200);
    expect((await refusalOf(ask("two-factor/disable", { password: "not this one" }, cookie))).status).toBe(400);
    expect((await ask("two-factor/disable", { password }, cookie)).status).toBe(200);
    const rows = await store.db.selectFrom("audit").select(["account_id", "subject", "action", "detail"]).execute();
    const entries = rows.filter(({ action }) => action.startsWith("user."));
    expect(entries.map(({ action, detail }) => `${action} ${detail}`).sort()).toEqual([
      "user.backup_code {}",
      "user.backup_code {}",
      "user.backup_codes {}",
      'user.two_factor {"on":false}',
      'user.two_factor {"on":true}',
    ]);
    expect(entries.every((row) => row.account_id === account.id && row.subject === account.id)).toBe(true);
  });

  test("that is on is not set up anew, which would end the codes that work", async () => {
    const { ask, enter, cookie, totpURI, signIn } = await withCodes();
    const refused = await refusalOf(ask("two-factor/enable", { password }, cookie));
    expect([refused.code, refused.message]).toEqual(["conflict", expect.stringContaining("is on already")]);
    const challenge = cookiesOf(await enter());
    const entered = await ask("two-factor/verify-totp", { code: nextCode(totpURI) }, challenge);
    expect(await signIn.sessionUserOf(cookiesOf(entered))).toMatchObject({ secondFactor: true });
  });

  test("is removed by a temporary password or an accepted invitation", async () => {
    const { ask, store, account, now, signIn } = await withCodes();
    const temporary = await makeTemporaryPassword(store, { accountId: account.id, role: "member" }, now());
    const cookie = cookiesOf(await ask("sign-in/email", { email, password: temporary }));
    expect(await signIn.sessionUserOf(cookie)).toMatchObject({ passwordIsTemporary: true, secondFactor: false });
    const refused = await refusalOf(ask("two-factor/enable", { password: temporary }, cookie));
    expect([refused.status, refused.publicCode]).toEqual([403, "password_change_required"]);
    await invite(store, { accountId: account.id, by: "cli" }, now());
    expect(await store.db.selectFrom("two_factors").selectAll().execute()).toEqual([]);
  });

  test("stores its secret and backup codes encrypted", async () => {
    const { store, totpURI, backupCodes } = await withCodes();
    const rows = JSON.stringify(await store.db.selectFrom("two_factors").selectAll().execute());
    for (const hidden of [new URL(totpURI).searchParams.get("secret"), ...backupCodes])
      expect(rows).not.toContain(hidden);
  });
});

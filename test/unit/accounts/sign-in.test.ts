import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createAccounts } from "../../../src/accounts/index.ts";
import { acceptInvitation, invite } from "../../../src/accounts/invitations.ts";
import { createSignIn, type SignInOptions } from "../../../src/accounts/sign-in.ts";
import { hasAdmin, makeTemporaryPassword, setPassword } from "../../../src/accounts/users.ts";
import { GatewayError } from "../../../src/contract/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
setDefaultTimeout(30_000);

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const secret = "0123456789abcdef0123456789abcdef";
const password = "correct horse battery";
const dayMs = 86_400_000;

async function ground(changes: Partial<SignInOptions> = {}) {
  const clock = { time: Date.now() };
  const now = () => clock.time;
  const store = await temporaryStore(undefined, now);
  const failures: unknown[] = [];
  const report = (error: unknown) => failures.push(error);
  const signIn = createSignIn({ store, secret, signUp: "closed", now, report, attemptsPerMinuteMax: 50, ...changes });
  const accounts = createAccounts({ store, defaults, now });
  const ask = (action: string, body?: unknown, cookie = "") =>
    signIn.handle(
      new Request(`http://gateway.example/api/auth/${action}`, {
        headers: { cookie },
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      }),
      "peer",
    );
  return { store, signIn, accounts, ask, clock, now, failures };
}

async function member(email = "ada@example.org", changes: Partial<SignInOptions> = {}) {
  const parts = await ground(changes);
  const account = await parts.accounts.create({ email, name: "Ada" });
  await setPassword(parts.store, { accountId: account.id, password, temporary: false, role: "member" }, parts.now());
  return { ...parts, account };
}

function cookieOf(response: Response): string {
  const [cookie] = response.headers.getSetCookie().filter((line) => line.startsWith("session="));
  return cookie?.split(";")[0] ?? "";
}

async function refusalOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

describe("sign-in", () => {
  test.each(["ada@example.org", "owner@localhost", "ümit@beispiel.de"])("creates a session for %s", async (email) => {
    const { ask, signIn, account, failures } = await member(email);
    const response = await ask("sign-in/email", { email: email.toUpperCase(), password });
    const [line] = response.headers.getSetCookie().filter((cookie) => cookie.startsWith("session="));
    expect(line).toMatch(/^session=[^;]+;.*HttpOnly; SameSite=Lax/);
    expect(line).toContain("Path=/");
    expect(await signIn.sessionUserOf(cookieOf(response))).toMatchObject({
      accountId: account.id,
      email,
      role: "member",
    });
    expect(failures).toEqual([]);
  });

  test("returns the session token only in the cookie", async () => {
    const { ask } = await member();
    const response = await ask("sign-in/email", { email: "ada@example.org", password });
    const token = decodeURIComponent(cookieOf(response)).slice("session=".length).split(".")[0] as string;
    expect(token.length).toBeGreaterThan(20);
    expect(await response.text()).not.toContain(token);
    const session = await (await ask("get-session", undefined, cookieOf(response))).text();
    expect(session).toContain("user");
    expect(session).not.toContain(token);
  });

  test("answers an unknown e-mail like a wrong password", async () => {
    const { ask } = await member();
    const wrong = await refusalOf(ask("sign-in/email", { email: "ada@example.org", password: "not this one" }));
    const unknown = await refusalOf(ask("sign-in/email", { email: "eve@example.org", password: "not this one" }));
    expect([wrong.status, wrong.code]).toEqual([401, "invalid_session"]);
    expect(unknown.toBody()).toEqual(wrong.toBody());
  });

  test("is refused after too many attempts, for the rest of the minute", async () => {
    const { ask, clock } = await member("ada@example.org", { attemptsPerMinuteMax: 2 });
    const attempt = (given: string) => ask("sign-in/email", { email: "ada@example.org", password: given });
    for (const _ of [1, 2]) expect((await refusalOf(attempt("not this one"))).status).toBe(401);
    const refused = await refusalOf(attempt(password));
    expect([refused.code, refused.retryAfterMs]).toEqual(["rate_limit_exceeded", 60_000]);
    clock.time += 60_000;
    expect((await attempt(password)).status).toBe(200);
  });

  test.each([
    ["sign-in/email", { email: "ada@example.org" }, "invalid_request"],
    ["sign-in/email", { email: 7, password }, "invalid_request"],
    ["sign-in/email", [], "invalid_request"],
    ["sign-in/email", { email: "a".repeat(20_000), password }, "payload_too_large"],
    ["change-password", { currentPassword: password, newPassword: "another password" }, "invalid_session"],
    ["update-user", { name: "x" }, "not_found"],
    ["delete-user", {}, "not_found"],
    ["sign-up/email", { email: "new@example.org", password, name: "New" }, "forbidden"],
  ])("refuses a wrong %s", async (action, body, code) => {
    const { ask } = await member();
    expect((await refusalOf(ask(action, body))).code).toBe(code as never);
  });
});

describe("a session", () => {
  async function signedIn() {
    const parts = await member();
    const cookie = cookieOf(await parts.ask("sign-in/email", { email: "ada@example.org", password }));
    return { ...parts, cookie };
  }

  test("is invalid when it is forged or truncated", async () => {
    const { signIn, cookie } = await signedIn();
    const forged = [
      cookie.slice(0, -6),
      cookie.replace("session=", "session=x"),
      "session=",
      "session=%",
      "other=1",
      "",
    ];
    for (const given of forged) expect(await signIn.sessionUserOf(given)).toBeUndefined();
    expect(await signIn.sessionUserOf(null)).toBeUndefined();
    expect(await signIn.sessionUserOf(`a=b; ${cookie}; c=d`)).toBeDefined();
  });

  test("ends after a week", async () => {
    const { signIn, cookie, clock } = await signedIn();
    clock.time += 7 * dayMs - 60_000;
    expect(await signIn.sessionUserOf(cookie)).toBeDefined();
    clock.time += 120_000;
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
  });

  test("ends at sign-out and is invalid while its account is disabled", async () => {
    const { signIn, cookie, ask, accounts, account } = await signedIn();
    await accounts.setDisabled(account.id, true);
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
    await accounts.setDisabled(account.id, false);
    expect(await signIn.sessionUserOf(cookie)).toBeDefined();
    await ask("sign-out", {}, cookie);
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
  });

  test.each([
    ["revoke-sessions", [false, false]],
    ["revoke-other-sessions", [true, false]],
  ])("%s ends the expected sessions", async (action, expected) => {
    const { signIn, cookie, ask } = await signedIn();
    const other = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
    await ask(action, {}, cookie);
    expect(
      [await signIn.sessionUserOf(cookie), await signIn.sessionUserOf(other)].map((known) => known !== undefined),
    ).toEqual(expected);
  });

  test("can change a temporary password, which ends other sessions", async () => {
    const { ask, store, account, now, signIn } = await member();
    const temporary = await makeTemporaryPassword(store, { accountId: account.id, role: "member" }, now());
    const cookie = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password: temporary }));
    expect((await signIn.sessionUserOf(cookie))?.passwordIsTemporary).toBe(true);
    const change = (currentPassword: string) =>
      ask("change-password", { currentPassword, newPassword: "another password" }, cookie);
    expect((await refusalOf(change("not this one"))).status).toBe(400);
    expect((await signIn.sessionUserOf(cookie))?.passwordIsTemporary).toBe(true);
    expect(
      (await refusalOf(ask("change-password", { currentPassword: temporary, newPassword: temporary }, cookie))).status,
    ).toBe(400);
    const changed = cookieOf(await change(temporary));
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
    expect((await signIn.sessionUserOf(changed))?.passwordIsTemporary).toBe(false);
    expect((await refusalOf(ask("sign-in/email", { email: "ada@example.org", password: temporary }))).status).toBe(401);
    expect((await ask("sign-in/email", { email: "ada@example.org", password: "another password" })).status).toBe(200);
  });
});

describe("sign-up", () => {
  test("creates a member's account and signs in when it is open", async () => {
    const { ask, signIn, accounts } = await ground({ signUp: "open" });
    const response = await ask("sign-up/email", { email: "Ada@Example.org", password, name: "Ada" });
    const account = await accounts.find("ada@example.org");
    expect(await signIn.sessionUserOf(cookieOf(response))).toMatchObject({
      accountId: account?.id,
      role: "member",
      name: "Ada",
    });
  });

  test.each([
    [{ email: "ada@example.org", password }, "conflict"],
    [{ email: "new@example.org", password: "short" }, "invalid_request"],
    [{ email: "new@example.org", password: "x".repeat(201) }, "invalid_request"],
    [{ email: "no address", password }, "invalid_request"],
    [{ email: "new@example.org", password, name: "x".repeat(10_000) }, "invalid_request"],
  ])("that is invalid is refused and creates nothing", async (body, code) => {
    const { ask, accounts } = await member("ada@example.org", { signUp: "open" });
    expect((await refusalOf(ask("sign-up/email", body))).code).toBe(code as never);
    expect(await accounts.list()).toHaveLength(1);
  });
});

describe("an invitation", () => {
  test("sets a password once and ends existing sessions", async () => {
    const { store, ask, now, account, signIn } = await member();
    const cookie = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
    const { token } = await invite(store, account.id, now());
    const accept = () => acceptInvitation(store, { token, password: "another password" }, now());
    expect((await refusalOf(acceptInvitation(store, { token, password: "short" }, now()))).code).toBe(
      "invalid_request",
    );
    const outcomes = await Promise.allSettled([accept(), accept()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
    expect((await ask("sign-in/email", { email: "ada@example.org", password: "another password" })).status).toBe(200);
  });

  test("is valid for 48 hours", async () => {
    const { store, account, now } = await member();
    const { token, expiresAt } = await invite(store, account.id, now());
    expect(expiresAt - now()).toBe(2 * dayMs);
    const late = acceptInvitation(store, { token, password: "another password" }, expiresAt);
    expect((await refusalOf(late)).code).toBe("not_found");
  });

  test("is refused for an unknown account", async () => {
    const { store, now } = await ground();
    expect((await refusalOf(invite(store, "acc_none", now()))).code).toBe("not_found");
    expect(await hasAdmin(store)).toBe(false);
  });
});

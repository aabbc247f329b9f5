import { describe, expect, test } from "bun:test";
import { makeTemporaryPassword } from "../../../src/identity/set-password.ts";
import { cookieOf, dayMs, member, password, refusalOf } from "../tenants/member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
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

  test("ends at sign-out, and for good when its account is disabled", async () => {
    const { signIn, cookie, ask, accounts, account } = await signedIn();
    const other = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
    await ask("sign-out", {}, other);
    expect(await signIn.sessionUserOf(other)).toBeUndefined();
    expect(await signIn.sessionUserOf(cookie)).toBeDefined();
    await accounts.setDisabled(account.id, true);
    expect(await signIn.sessionUserOf(cookie)).toBeUndefined();
    await accounts.setDisabled(account.id, false);
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

  test("allows ten guesses of its user's password a minute, from any address", async () => {
    const { cookie, askFrom } = await signedIn();
    const change = (network: string, given = "not this one") =>
      askFrom(network, "change-password", { currentPassword: given, newPassword: "another password" }, cookie);
    for (let times = 0; times < 10; times++) expect((await refusalOf(change(`10.0.0.${times}`))).status).toBe(400);
    expect((await refusalOf(change("10.0.1.1", password))).code).toBe("rate_limit_exceeded");
  });

  test("that changes its password ends all others, whatever the request says", async () => {
    const { ask, signIn } = await member();
    let current = password;
    for (const [index, fields] of [{}, { revokeOtherSessions: false }, { revokeOtherSessions: true }].entries()) {
      const enter = async () => cookieOf(await ask("sign-in/email", { email: "ada@example.org", password: current }));
      const [own, other] = [await enter(), await enter()];
      const change = { currentPassword: current, newPassword: `new password ${index}`, ...fields };
      const kept = cookieOf(await ask("change-password", change, own));
      current = change.newPassword;
      const users = [
        await signIn.sessionUserOf(own),
        await signIn.sessionUserOf(other),
        await signIn.sessionUserOf(kept),
      ];
      expect(users.map((user) => user !== undefined)).toEqual([false, false, true]);
    }
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

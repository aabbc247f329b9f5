import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { hashPassword, verifyPassword } from "../../../src/accounts/password.ts";
import { cookieOf, fixture, member, password, refusalOf } from "./member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
setDefaultTimeout(30_000);

describe("sign-up", () => {
  test("creates a member's account, which can sign in, when it is open", async () => {
    const { ask, signIn, accounts } = await fixture({ signUp: "open" });
    await ask("sign-up/email", { email: "Ada@Example.org", password, name: "Ada" });
    const response = await ask("sign-in/email", { email: "Ada@Example.org", password });
    const account = await accounts.find("ada@example.org");
    expect(await signIn.sessionUserOf(cookieOf(response))).toMatchObject({
      accountId: account?.id,
      role: "member",
      name: "Ada",
    });
  });

  test("answers alike and hashes one password whether the e-mail has an account or not", async () => {
    let hashes = 0;
    const hash = (given: string) => {
      hashes += 1;
      return hashPassword(given);
    };
    const options = { signUp: "open", passwords: { hash, verify: verifyPassword } } as const;
    const { ask, accounts, account, store, signIn } = await member("ada@example.org", options);
    const cookie = cookieOf(await ask("sign-in/email", { email: "ada@example.org", password }));
    const before = await store.db.selectFrom("credentials").selectAll().execute();
    const answers = [];
    for (const email of ["new@example.org", "ada@example.org", "ADA@example.org"]) {
      hashes = 0;
      const response = await ask("sign-up/email", { email, password: "another password", name: "Eve" });
      const headers = [...response.headers];
      answers.push({ status: response.status, headers, text: await response.text(), hashes });
    }
    expect(answers[0]).toMatchObject({ status: 200, hashes: 1 });
    expect(answers[0]?.headers.map(([name]) => name)).not.toContain("set-cookie");
    expect(answers.slice(1)).toEqual([answers[0], answers[0]] as never);
    expect(await accounts.list()).toHaveLength(2);
    expect((await accounts.find("ada@example.org"))?.name).toBe(account.name);
    expect(await signIn.sessionUserOf(cookie)).toBeDefined();
    expect(
      await store.db
        .selectFrom("credentials")
        .selectAll()
        .where("id", "=", before[0]?.id as string)
        .execute(),
    ).toEqual(before);
  });

  test.each([
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

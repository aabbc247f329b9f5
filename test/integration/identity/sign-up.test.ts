import { describe, expect, test } from "bun:test";
import { hashPassword, verifyPassword } from "../../../src/identity/password.ts";
import { setPassword } from "../../../src/identity/set-password.ts";
import { toSignInAddress } from "../../../src/tenants/sign-in-address.ts";
import { cookieOf, fixture, member, password, refusalOf } from "../tenants/member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
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

  test("does not take the address by which somebody else is going to be known in the tables of sign-in", async () => {
    const { ask, signIn, accounts, store, now } = await fixture({ signUp: "open" });
    // An e-mail without a domain of the internet has a placeholder there, which anybody can compute.
    const ben = await accounts.create({ email: "ben@intranet" });
    const email = toSignInAddress("ben@intranet");
    expect((await refusalOf(ask("sign-up/email", { email, password: "of a stranger" }))).code).toBe("invalid_request");
    await setPassword(store, { accountId: ben.id, password, temporary: false, role: "member" }, now());
    const entered = await ask("sign-in/email", { email: "ben@intranet", password });
    expect(await signIn.sessionUserOf(cookieOf(entered))).toMatchObject({ accountId: ben.id });
  });

  test.each([
    [{ email: "new@example.org", password: "short" }, "invalid_request"],
    [{ email: "new@example.org", password: "x".repeat(201) }, "invalid_request"],
    [{ email: "no address", password }, "invalid_request"],
    [{ email: "<!channel>@example.org", password }, "invalid_request"],
    [{ email: "ada\u202e@example.org", password }, "invalid_request"],
    [{ email: "search-0a1b2c@teams.invalid", password }, "invalid_request"],
    [{ email: "new@example.org", password, name: "x".repeat(10_000) }, "invalid_request"],
  ])("that is invalid is refused and creates nothing", async (body, code) => {
    const { ask, accounts } = await member("ada@example.org", { signUp: "open" });
    expect((await refusalOf(ask("sign-up/email", body))).code).toBe(code as never);
    expect(await accounts.list()).toHaveLength(1);
  });
});

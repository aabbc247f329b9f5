import { describe, expect, test } from "bun:test";
import { type Member, member, password, refusalOf } from "../tenants/member.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
describe("signing in to one account from many addresses", () => {
  const enter = ({ askFrom }: Member, network: string, given = password) =>
    askFrom(network, "sign-in/email", { email: "Ada@example.org", password: given });
  const wrong = async (parts: Member, network: string) => (await refusalOf(enter(parts, network, "not this one"))).code;

  test("is limited for those who keep guessing, in all processes, and not for the holder elsewhere", async () => {
    const parts = await member();
    const outcomes: string[] = [];
    for (let times = 0; times < 26; times++) {
      const by = times % 2 === 0 ? parts : { ...parts, askFrom: parts.askOther };
      outcomes.push(await wrong(by, `10.0.0.${times % 4}`));
    }
    const expected = [...Array(22).fill("invalid_session"), ...Array(4).fill("rate_limit_exceeded")];
    expect(outcomes).toEqual(expected);
    const refused = await refusalOf(enter(parts, "10.0.0.1"));
    expect([refused.code, refused.retryAfterMs]).toEqual(["rate_limit_exceeded", 60_000]);
    expect((await enter(parts, "2001:db8:0:1::/64")).status).toBe(200);
    parts.clock.time += 60_000;
    expect((await enter(parts, "10.0.0.1")).status).toBe(200);
  });

  test("shuts a new address out for a minute at most", async () => {
    const parts = await member();
    for (let times = 0; times < 30; times++) expect(await wrong(parts, `10.0.0.${times}`)).toBe("invalid_session");
    const refused = await refusalOf(enter(parts, "10.0.1.1"));
    expect(refused.code).toBe("rate_limit_exceeded");
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000);
    for (let times = 0; times < 20; times++) await refusalOf(enter(parts, "10.0.1.1"));
    parts.clock.time += 60_000;
    expect((await enter(parts, "10.0.1.1")).status).toBe(200);
  });

  test("is open to the holder where they have signed in before, whoever guesses meanwhile", async () => {
    const parts = await member();
    expect((await enter(parts, "192.0.2.1")).status).toBe(200);
    parts.clock.time += 86_400_000;
    for (let times = 0; times < 50; times++) await wrong(parts, `10.0.0.${times}`);
    expect((await refusalOf(enter(parts, "192.0.2.2"))).code).toBe("rate_limit_exceeded");
    for (let times = 0; times < 9; times++) expect(await wrong(parts, "192.0.2.1")).toBe("invalid_session");
    expect((await enter(parts, "192.0.2.1")).status).toBe(200);
    for (let times = 0; times < 10; times++) expect(await wrong(parts, "192.0.2.1")).toBe("invalid_session");
    expect(await wrong(parts, "192.0.2.1")).toBe("rate_limit_exceeded");
  });

  test("is limited alike for an e-mail without an account, and stores no e-mail", async () => {
    const parts = await member();
    const guess = async (email: string) => {
      const outcomes: string[] = [];
      for (let times = 0; times < 15; times++) {
        const body = { email, password: "not this one" };
        outcomes.push((await refusalOf(parts.ask("sign-in/email", body))).message);
      }
      return outcomes;
    };
    expect(await guess("eve@example.org")).toEqual(await guess("ada@example.org"));
    const rows = await parts.store.db.selectFrom("sign_in_attempts").selectAll().execute();
    expect(rows.length).toBeGreaterThan(3);
    expect(JSON.stringify(rows)).not.toContain("@");
  });

  test("is not limited for those who know the password", async () => {
    const parts = await member();
    for (let times = 0; times < 40; times++) expect((await enter(parts, "10.0.0.1")).status).toBe(200);
  });
});

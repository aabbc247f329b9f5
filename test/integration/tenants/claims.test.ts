import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { createAudited } from "../../../src/audit/record-audit.ts";
import { makeTemporaryPassword } from "../../../src/identity/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { accountActions } from "../../../src/tenants/account-actions.ts";
import { expectError } from "../../support/expect-error.ts";
import { type SmtpSink, startSmtpSink } from "../../support/smtp-sink.ts";
import { cookieOf, dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api";
const hook = { url: "https://hooks.example.com/services/eve" };
let sink: SmtpSink;
let mailEnv: Record<string, string>;
beforeAll(async () => {
  sink = await startSmtpSink();
  const server = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SMTP_FROM: "gate@example.org" };
  mailEnv = { ...server, PUBLIC_URL: "https://gate.example.com" };
});
afterAll(() => sink.stop());

/** A gateway where anybody may sign up. */
async function open(env: Record<string, string> = {}) {
  const parts = await dashboardHttp({ SIGNUP: "open", ...env });
  // The quota is that of the account, of which nothing is used.
  Object.assign(parts.deps.ledger, {
    readQuotaState: async ({ freeTokensPerDay: limitTokens }: { freeTokensPerDay: number }) => {
      return { limitTokens, usedTokens: 0, heldTokens: 0, resetsAt: parts.clock.now() };
    },
  });
  const { send, store, clock } = parts;
  const post = (path: string, body: unknown, cookie = "") =>
    send(path, {
      method: "POST",
      headers: { origin, "content-type": "application/json", ...(cookie !== "" && { cookie }) },
      body: JSON.stringify(body),
    });
  const signIn = async (email: string, secret = password) =>
    cookieOf(await post("/api/auth/sign-in/email", { email, password: secret }));
  /** Signs up, and returns a browser of the new account. */
  const signUp = async (email: string, fields: object = {}) => {
    clock.pass(60_000);
    const made = await post("/api/auth/sign-up/email", { email, password, ...fields });
    expect(made.status).toBe(200);
    const cookie = await signIn(email);
    const { id } = (await parts.accounts.find(email)) as { id: string };
    return {
      id,
      cookie,
      get: async (path: string) => (await send(api + path, { headers: { cookie } })).json(),
      post: (path: string, body: unknown = {}) => post(api + path, body, cookie),
    };
  };
  const actions = accountActions(createAudited(store, clock.now), clock.now);
  /** The operator's invitation is accepted by the true holder of the e-mail. */
  const invite = async (id: string, newPassword = "the holder's own password") => {
    const { token } = await actions.invite(commandLine, id);
    const accepted = await post(`${api}/invitations/accept`, { token, password: newPassword });
    expect(accepted.status).toBe(200);
  };
  const isGood = async (key: string) => {
    try {
      await parts.accounts.authenticate(key);
      return true;
    } catch {
      return false;
    }
  };
  return { ...parts, publicPost: post, signIn, signUp, actions, invite, isGood };
}

const jsonOf = async (answer: Promise<Response>) => (await (await answer).json()) as Record<string, string>;

describe("what somebody made who signed up with an e-mail of somebody else", () => {
  /** Eve claims the e-mail of the CEO, and prepares the account for the day on which it is worth something. */
  async function claimed() {
    const parts = await open();
    const { signUp, accounts, store, clock } = parts;
    const [eve, mate] = [await signUp("ceo@corp.example"), await signUp("mate@evil.example")];
    const { key } = await jsonOf(eve.post("/keys", { name: "kept for later" }));
    const { token } = await jsonOf(eve.post("/team/invitations", { role: "admin" }));
    expect((await mate.post("/teams/join", { token })).status).toBe(200);
    const { key: mates } = await jsonOf(mate.post("/keys", { name: "of the mate" }));
    const { token: later } = await jsonOf(eve.post("/team/invitations", { role: "admin" }));
    expect((await eve.post("/alerts/webhooks", hook)).status).toBe(200);
    // In another account they are the CEO too.
    const ben = await signUp("ben@corp.example");
    const { token: bens } = await jsonOf(ben.post("/team/invitations", { role: "admin" }));
    expect((await eve.post("/teams/join", { token: bens })).status).toBe(200);
    const { key: elsewhere } = await jsonOf(eve.post("/keys", { name: "in the account of Ben" }));
    const { token: ofBen } = await jsonOf(eve.post("/team/invitations", { role: "admin" }));
    const { key: byCommand } = await accounts.createKey({ accountId: eve.id, name: "by the operator", by: "cli" });
    await creditWallet(store, { accountId: eve.id, nanodollars: 5_000_000_000, note: "a voucher" });
    clock.pass(60_000);
    return { ...parts, eve, mate, ben, keys: [key, mates, elsewhere] as string[], links: [later, ofBen], byCommand };
  }
  type Claimed = Awaited<ReturnType<typeof claimed>>;

  test.each<[string, (parts: Claimed) => Promise<unknown>]>([
    ["accepts the operator's invitation", ({ invite, eve }) => invite(eve.id)],
    [
      "gets a temporary password from the operator",
      ({ store, clock, eve }) =>
        makeTemporaryPassword(store, { accountId: eve.id, role: "member", by: "cli" }, clock.now()),
    ],
  ])("ends when the holder %s; money and the operator's own key stay", async (_, takeOver) => {
    const parts = await claimed();
    const { eve, mate, ben, keys, links, byCommand, isGood, store, send, publicPost, signIn } = parts;
    for (const key of [...keys, byCommand]) expect(await isGood(key)).toBe(true);
    await takeOver(parts);
    expect(await Promise.all(keys.map(isGood))).toEqual([false, false, false]);
    expect(await isGood(byCommand)).toBe(true);
    expect((await send(`${api}/me`, { headers: { cookie: eve.cookie } })).status).toBe(401);
    expect(await signIn("ceo@corp.example")).toBe("");
    // The mate is thrown out of the account, and Eve out of that of Ben.
    expect((await send(`${api}/me`, { headers: { cookie: mate.cookie } })).status).toBe(401);
    expect(await store.db.selectFrom("memberships").selectAll().execute()).toEqual([]);
    expect(await ben.get("/team")).toMatchObject({ people: [{ email: "ben@corp.example" }], invitations: [] });
    for (const token of links) {
      await expectError(await publicPost(`${api}/invitations/team`, { token }), { status: 404 });
    }
    expect(await store.db.selectFrom("alert_channels").selectAll().execute()).toEqual([]);
    const wallet = store.db.selectFrom("wallets").selectAll().where("account_id", "=", eve.id);
    expect(await wallet.executeTakeFirst()).toMatchObject({ balance_nanodollars: 5_000_000_000 });
    const { entries } = await readAudit(store, { action: "account.claim_end" });
    expect(entries).toMatchObject([
      { subject: eve.id, detail: { keys: 3, people: 1, teams: 1, invitations: 2, channels: 1 } },
    ]);
  });

  test("ends once: what the holder makes afterwards survives another invitation", async () => {
    const { eve, invite, isGood, signIn, send } = await claimed();
    await invite(eve.id);
    const cookie = await signIn("ceo@corp.example", "the holder's own password");
    const headers = { origin, cookie, "content-type": "application/json" };
    const body = JSON.stringify({ name: "of the holder" });
    const { key } = await jsonOf(Promise.resolve(send(`${api}/keys`, { method: "POST", headers, body })));
    await invite(eve.id, "a third password");
    expect(await isGood(key as string)).toBe(true);
  });

  test("is not the same as what an operator prepared for somebody who never signed in", async () => {
    const { accounts, invite, isGood } = await open();
    const { id } = await accounts.create({ email: "new@corp.example" });
    const { key } = await accounts.createKey({ accountId: id, name: "prepared" });
    await invite(id);
    expect(await isGood(key)).toBe(true);
  });
});

describe("an e-mail that was only claimed", () => {
  test("gives nobody a role, and is not verified by being changed or by a role of before", async () => {
    const { signUp, actions, invite, store } = await open();
    const eve = await signUp("ceo@corp.example");
    for (const role of ["owner", "admin", "viewer"] as const) {
      const refused = await actions.changeAccount(commandLine, eve.id, { role }).catch((error: Error) => error);
      expect(refused).toMatchObject({ code: "conflict" });
    }
    await actions.changeAccount(commandLine, eve.id, { email: "cfo@corp.example" });
    const verified = async () =>
      (await store.db.selectFrom("users").select(["email_verified", "role"]).execute()).map((row) => ({ ...row }));
    expect(await verified()).toEqual([{ email_verified: 0, role: "member" }]);
    await invite(eve.id);
    await actions.changeAccount(commandLine, eve.id, { role: "admin", email: "ceo@corp.example" });
    expect(await verified()).toEqual([{ email_verified: 1, role: "admin" }]);
  });

  test("gets no mail: neither alerts nor invitations are sent in its name", async () => {
    const { signUp, store } = await open(mailEnv);
    const { length } = sink.mails;
    const eve = await signUp("victim@bank.example");
    expect(await eve.get("/alerts")).toMatchObject({ has_mail: false });
    await expectError(await eve.post("/alerts/emails"), { status: 409, code: "conflict", says: "verif" });
    const invitation = { role: "member", email: "other@bank.example" };
    const invited = await eve.post("/team/invitations?mail=send", invitation);
    await expectError(invited, { status: 409, code: "conflict", says: "verif" });
    expect(await eve.get("/team")).toMatchObject({ can_mail: false, invitations: [] });
    // A channel that is there is not used either.
    await store.db.updateTable("users").set({ email_verified: 1 }).execute();
    const { id } = await jsonOf(eve.post("/alerts/emails"));
    await store.db.updateTable("users").set({ email_verified: 0 }).execute();
    const tested = await jsonOf(eve.post(`/alerts/channels/${id}/test`));
    expect(tested).toMatchObject({ error: "The e-mail of the account is not verified" });
    // Nor are those of a team which somebody founds who has such an e-mail.
    const { account } = await jsonOf(eve.post("/teams", { name: "Search" }));
    expect((await eve.post("/teams/switch", { account })).status).toBe(200);
    const { id: ofTeam } = await jsonOf(eve.post("/alerts/emails"));
    const testedTeam = await jsonOf(eve.post(`/alerts/channels/${ofTeam}/test`));
    expect(testedTeam).toMatchObject({ error: "The team has no admin whose e-mail is verified" });
    expect(sink.mails).toHaveLength(length);
  });

  test("has the free quota that sign-up gives, and the full one once it is verified", async () => {
    const env = { FREE_TOKENS_PER_DAY: "1000", SIGNUP_FREE_TOKENS_PER_DAY: "7" };
    for (const [given, expected] of [
      [{ FREE_TOKENS_PER_DAY: "1000" }, 0],
      [env, 7],
    ] as const) {
      const { signUp, accounts, invite, enter } = await open(given);
      const eve = await signUp("eve@example.org");
      const { key } = await jsonOf(eve.post("/keys", { name: "k" }));
      expect(await accounts.authenticate(key as string)).toMatchObject({ freeTokensPerDay: expected });
      expect(await eve.get("/me")).toMatchObject({ email_verified: false, quota: { limit: expected } });
      const admin = await enter("admin@example.org", "admin");
      const page = async () => (await admin.get(`${api}/admin/accounts/${eve.id}`)).json();
      expect(await page()).toMatchObject({ email_verified: false, quota: { limit: expected } });
      // One that an administrator sets is the account's own.
      await accounts.setQuota(eve.id, 50);
      expect(await accounts.authenticate(key as string)).toMatchObject({ freeTokensPerDay: 50 });
      await accounts.setQuota(eve.id, undefined);
      await invite(eve.id);
      expect(await page()).toMatchObject({ email_verified: true, quota: { limit: 1000 } });
    }
  });

  test("is vouched for by an operator who invites this e-mail to a team, and not by anybody else who does", async () => {
    const { signUp, enter, store } = await open();
    const [eve, admin] = [await signUp("eve@example.org"), await enter("admin@example.org", "admin")];
    const byEve = await jsonOf(eve.post("/team/invitations", { role: "member", email: "one@corp.example" }));
    const path = `${api}/admin/accounts/${eve.id}/team/invitations`;
    const byAdmin = await jsonOf(admin.post(path, { role: "member", email: "two@corp.example" }) as Promise<Response>);
    const open_ = await jsonOf(admin.post(path, { role: "member" }) as Promise<Response>);
    await signUp("one@corp.example", { invitation: byEve.token });
    await signUp("two@corp.example", { invitation: byAdmin.token });
    await signUp("three@corp.example", { invitation: open_.token });
    const rows = await store.db.selectFrom("users").select(["email", "email_verified"]).orderBy("email").execute();
    expect(rows.map(({ email, email_verified }) => [email, email_verified])).toEqual([
      ["admin@example.org", 1],
      ["eve@example.org", 0],
      ["one@corp.example", 0],
      ["three@corp.example", 0],
      ["two@corp.example", 1],
    ]);
  });
});

describe("a link that verifies an e-mail", () => {
  const tokenIn = (text = "") => /#verify-email=([\w-]+)/.exec(text.replaceAll("=\n", "").replaceAll("=3D", "="))?.[1];

  test("gives one mailbox the free quota once, whatever follows a plus in its name, also at once", async () => {
    const { signUp, accounts } = await open({ ...mailEnv, FREE_TOKENS_PER_DAY: "1000" });
    const names = [
      "ada+1@example.org",
      "ada@example.org",
      "ada+2@example.org",
      "ad%a+1@example.org",
      "ada+1@example.com",
    ];
    const people: { id: string; verify(): Promise<number>; quota(): Promise<number> }[] = [];
    for (const name of names) {
      const { id, post, get } = await signUp(name);
      await post("/email/verification");
      const token = tokenIn(sink.mails.at(-1)?.text);
      people.push({
        id,
        verify: async () => (await post("/email/verify", { token })).status,
        quota: async () => ((await get("/me")) as { quota: { limit: number } }).quota.limit,
      });
    }
    const [one, plain, two, ...others] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]];
    expect(await Promise.all([one.verify(), plain.verify()])).toEqual([200, 200]);
    expect([await one.quota(), await plain.quota()].sort()).toEqual([0, 1000]);
    await two.verify();
    expect(await two.quota()).toBe(0);
    for (const other of others as (typeof people)[0][]) {
      await other.verify();
      expect(await other.quota()).toBe(1000);
    }
    await accounts.setQuota(two.id, 50);
    expect(await two.quota()).toBe(50);
  });

  test("is sent to it, is taken in the session of its account alone, and everything made before stays", async () => {
    const { signUp, isGood, store } = await open({ ...mailEnv, FREE_TOKENS_PER_DAY: "1000" });
    const [ada, eve] = [await signUp("ada@example.org"), await signUp("eve@example.org")];
    const { key } = await jsonOf(ada.post("/keys", { name: "k" }));
    expect(await jsonOf(ada.post("/email/verification"))).toEqual({
      email: "ada@example.org",
      mail_error: null,
    } as never);
    const mail = sink.mails.at(-1);
    expect(mail?.to).toEqual(["ada@example.org"]);
    const token = tokenIn(mail?.text);
    await expectError(await eve.post("/email/verify", { token }), { status: 404, code: "not_found" });
    await expectError(await ada.post("/email/verify", { token: "other" }), { status: 404 });
    expect(await ada.get("/me")).toMatchObject({ email_verified: false, quota: { limit: 0 } });
    expect((await ada.post("/email/verify", { token })).status).toBe(200);
    expect(await ada.get("/me")).toMatchObject({ email_verified: true, quota: { limit: 1000 } });
    expect(await eve.get("/me")).toMatchObject({ email_verified: false });
    expect(await isGood(key as string)).toBe(true);
    await expectError(await ada.post("/email/verify", { token }), { status: 404 });
    await expectError(await ada.post("/email/verification"), { status: 409, says: "already" });
    const { entries } = await readAudit(store, { action: "user.email_verified" });
    expect(entries).toMatchObject([{ accountId: ada.id, detail: { email: "ada@example.org" } }]);
  });

  test("ends after a day, with a newer one, and when the e-mail is another", async () => {
    const { signUp, clock, actions, signIn, send } = await open(mailEnv);
    const ada = await signUp("ada@example.org");
    const link = async () => {
      expect((await ada.post("/email/verification")).status).toBe(200);
      return tokenIn(sink.mails.at(-1)?.text) as string;
    };
    const [old, newer] = [await link(), await link()];
    await expectError(await ada.post("/email/verify", { token: old }), { status: 404 });
    await actions.changeAccount(commandLine, ada.id, { email: "ceo@corp.example" });
    await expectError(await ada.post("/email/verify", { token: newer }), { status: 404 });
    const late = await link();
    clock.pass(86_400_000);
    const cookie = await signIn("ceo@corp.example");
    const headers = { origin, cookie, "content-type": "application/json" };
    const verify = (token: string) =>
      send(`${api}/email/verify`, { method: "POST", headers, body: JSON.stringify({ token }) });
    await expectError(await verify(late), { status: 404 });
  });

  test("is sent three times a day to one e-mail, and needs a mail server", async () => {
    const { signUp } = await open(mailEnv);
    const ada = await signUp("ada@example.org");
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) statuses.push((await ada.post("/email/verification")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const { signUp: signUpElsewhere } = await open();
    const ben = await signUpElsewhere("ben@example.org");
    await expectError(await ben.post("/email/verification"), { status: 409, says: "mail server" });
  });
});

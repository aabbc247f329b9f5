import { describe, expect, test } from "bun:test";
import { createVoucher } from "../../../src/modules/payments/vouchers.ts";
import { invite } from "../../../src/tenants/invitations.ts";
import { expectError } from "../../support/expect-error.ts";
import { recordCalls } from "../../support/payers.ts";
import { cookieOf, dashboardHttp, origin, password, twoMembers, withAdmin } from "../../unit/http/dashboard-http.ts";
import { openOf } from "../db/facts.ts";

/** Passwords cost a core for a while. */
const api = "/dashboard/api";
describe("a member", () => {
  test("creates, lists and revokes only keys of their own account", async () => {
    const { ada, ben, accounts, clock } = await twoMembers();
    const made = await (await ada.post(`${api}/keys`, { name: "<script>", expires_at: "2100-01-01T00:00:00Z" })).json();
    expect(await accounts.authenticate(made.key)).toMatchObject({ accountId: ada.account.id });
    expect(await (await ada.get(`${api}/keys`)).json()).toMatchObject({
      data: [
        { id: made.id, name: "<script>", expires_at: "2100-01-01T00:00:00.000Z", revoked_at: null, last_used_at: null },
      ],
    });
    expect(await (await ben.get(`${api}/keys`)).json()).toEqual({ data: [], has_more: false });
    await expectError(await ben.patch(`${api}/keys/${made.id}`, { budget_usd: "9" }), { status: 404 });
    await accounts.saveLastUsed();
    const [key] = (await (await ada.get(`${api}/keys`)).json()).data;
    expect(Date.parse(key.last_used_at)).toBe(clock.now());
    await expectError(await ben.remove(`${api}/keys/${made.id}`), { status: 404 });
    expect(await accounts.authenticate(made.key)).toBeDefined();
    expect((await ada.remove(`${api}/keys/${made.id}`)).status).toBe(200);
    expect(() => accounts.authenticate(made.key)).toThrow(/was revoked/);
  });

  test("creates a key with a budget and limits and changes them", async () => {
    const { ada, accounts } = await twoMembers();
    const bounds = { budget_usd: "5.00", requests_per_minute: 60, tokens_per_minute: 9000, concurrent_calls: 4 };
    const { id, key } = await (await ada.post(`${api}/keys`, { name: "bounded", ...bounds })).json();
    expect(await accounts.authenticate(key)).toMatchObject({
      keyLimits: { requestsPerMinute: 60, tokensPerMinute: 9000, concurrentCalls: 4 },
      budgets: [{ subject: "key", name: id, limitNanodollars: 5e9, period: "month" }],
    });
    const shown = { ...bounds, id, budget_usd: "5", budget_used_usd: "0" };
    expect(await (await ada.get(`${api}/keys`)).json()).toMatchObject({ data: [shown] });
    const change = { budget_usd: "7.5", requests_per_minute: null };
    expect((await ada.patch(`${api}/keys/${id}`, change)).status).toBe(200);
    const changed = {
      keyLimits: { tokensPerMinute: 9000, concurrentCalls: 4 },
      budgets: [{ subject: "key", name: id, limitNanodollars: 7.5e9, period: "month" }],
    };
    expect(await accounts.authenticate(key)).toMatchObject(changed);
    for (const budget_usd of ["-1", "NaN", "0.0000000001", "9007200"]) {
      await expectError(await ada.patch(`${api}/keys/${id}`, { budget_usd }), { status: 400, param: "budget_usd" });
    }
    await expectError(await ada.patch(`${api}/keys/${id}`, {}), { status: 400 });
    expect(await accounts.authenticate(key)).toMatchObject(changed);
  });

  test("changes a key's name, models and limits but not its secret", async () => {
    const { ada, accounts, clock } = await twoMembers();
    const { id, key } = await (await ada.post(`${api}/keys`, { name: "laptop", allowed_models: ["chat-1"] })).json();
    const keyLimits = `${api}/keys/${id}`;
    const until = new Date(clock.now() + 60_000).toISOString();
    const change = { name: "phone", allowed_models: ["chat-1", "chat-2"], expires_at: until };
    expect((await ada.patch(keyLimits, change)).status).toBe(200);
    expect(await (await ada.get(`${api}/keys`)).json()).toMatchObject({ data: [{ id, ...change }] });
    expect((await accounts.authenticate(key)).allowedModels).toEqual(new Set(["chat-1", "chat-2"]));

    const refused: [object, string][] = [
      [{ name: " " }, "name"],
      [{ name: "x".repeat(201) }, "name"],
      [{ expires_at: "2000-01-01T00:00:00Z" }, "expires_at"],
      [{ expires_at: "soon" }, "expires_at"],
      [{ allowed_models: [] }, "allowed_models"],
    ];
    for (const [wrong, param] of refused) await expectError(await ada.patch(keyLimits, wrong), { status: 400, param });
    expect(await (await ada.get(`${api}/keys`)).json()).toMatchObject({ data: [{ id, ...change }] });

    clock.pass(60_000);
    expect(() => accounts.authenticate(key)).toThrow(/expired/);
    expect((await ada.patch(keyLimits, { expires_at: null, allowed_models: null })).status).toBe(200);
    expect(await (await ada.get(`${api}/keys`)).json()).toMatchObject({
      data: [{ id, name: "phone", expires_at: null, allowed_models: null }],
    });
    expect((await accounts.authenticate(key)).allowedModels).toBeUndefined();
  });

  test.each(["toString", "valueOf"])(
    "is refused an object in the place of a text, be there a %s in it",
    async (name) => {
      const { ada } = await twoMembers();
      const body = { name: { [name]: 1 }, expires_at: { [name]: { [name]: null } } };
      await expectError(await ada.post(`${api}/keys`, body), { status: 400, param: "name" });
      await expectError(await ada.patch(`${api}/keys/none`, { ...body, name: "x" }), {
        status: 400,
        param: "expires_at",
      });
    },
  );

  test.each([
    [{ name: "x", budget_usd: "five" }, "budget_usd"],
    [{ name: "x", requests_per_minute: 0 }, "requests_per_minute"],
    [{}, "name"],
    [{ name: "x".repeat(10_000) }, "name"],
    [{ name: "x", expires_at: "soon" }, "expires_at"],
    [{ name: "x", expires_at: "2000-01-01T00:00:00Z" }, "expires_at"],
    [{ name: "x", allowed_models: [] }, "allowed_models"],
    [{ name: "x", account: "acc_another" }, "account"],
  ])("is told which field of a new key is invalid", async (body, param) => {
    const { ada } = await twoMembers();
    const response = await ada.post(`${api}/keys`, body);
    expect([response.status, (await response.json()).error.param]).toEqual([400, param]);
    expect(await (await ada.get(`${api}/keys`)).json()).toEqual({ data: [], has_more: false });
  });

  test("sees only the wallet, calls and models of their own account", async () => {
    const { ada, ben, store } = await twoMembers();
    await recordCalls(store, [openOf("call-1", { accountId: ada.account.id, openedAt: 1000 })]);
    expect(await (await ada.get(`${api}/me`)).json()).toMatchObject({ email: "ada@example.org", role: "member" });
    expect(await (await ada.get(`${api}/calls`)).json()).toMatchObject({
      data: [{ id: "call-1", state: "open", premium: true }],
    });
    expect(await (await ben.get(`${api}/calls`)).json()).toEqual({ data: [] });
    const before = `${api}/calls?before=1970-01-01T00:00:01Z`;
    expect(await (await ada.get(before)).json()).toEqual({ data: [] });
    expect(await (await ada.get(`${before}&before_id=call-1`)).json()).toEqual({ data: [] });
    expect(await (await ada.get(`${before}&before_id=call-2`)).json()).toMatchObject({ data: [{ id: "call-1" }] });
    await expectError(await ada.get(`${api}/calls?before=2026-99-99T00:00:00Z`), { status: 400, param: "before" });
    expect(await (await ada.get(`${api}/models`)).json()).toMatchObject({ data: [{ id: "chat-1" }] });
  });

  test("polls the latest calls only when they changed", async () => {
    const { ada, ben, enter, store } = await twoMembers();
    await recordCalls(store, [openOf("call-1", { accountId: ada.account.id })]);
    const me = async (who: typeof ada, query: string) => (await who.get(`${api}/me${query}`)).json();
    expect(await me(ada, "")).toMatchObject({ email: "ada@example.org", calls: null });
    const { calls } = await me(ada, "?calls=");
    expect(calls.data).toMatchObject([{ id: "call-1", state: "open" }]);
    expect(calls.stamp).toMatch(/^[\w-]{1,40}$/);
    expect(await me(ada, `?calls=${calls.stamp}`)).toMatchObject({ email: "ada@example.org", calls: null });
    expect((await me(ben, `?calls=${calls.stamp}`)).calls).toMatchObject({ data: [] });
    await expectError(await ada.get(`${api}/me?calls=${"x".repeat(41)}`), { status: 400, param: "calls" });
    const newcomer = await enter("new@example.org", "member", true);
    expect(await me(newcomer, "?calls=")).toMatchObject({ password_is_temporary: true, calls: null });
  });

  test("redeems a voucher once, also with concurrent requests", async () => {
    const { ada, ben, store } = await twoMembers();
    const { code } = await createVoucher(store, { nanodollars: 5e9 }, 0);
    const answers = await Promise.all([ada, ben].map((browser) => browser.post(`${api}/vouchers/redeem`, { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await expectError(await ada.post(`${api}/vouchers/redeem`, { code: "none" }), { status: 404, param: "code" });
    const winner = answers[0]?.status === 200 ? ada : ben;
    const [mine, others] = await Promise.all(
      [winner, winner === ada ? ben : ada].map((it) => it.get(`${api}/vouchers`)),
    );
    expect(await mine?.json()).toMatchObject({ data: [{ usd: "5", redeemed_by: winner.account.id }] });
    expect(await others?.json()).toEqual({ data: [] });
  });
});

describe("an administrator", () => {
  test("searches, credits, limits and disables accounts, all recorded in the audit log", async () => {
    const { admin, ada, accounts } = await withAdmin();
    const path = `/v1/organization/projects/${ada.account.id}`;
    const credit = { usd: "2.50", note: "Hello", reference: "r1" };
    expect(await (await admin.post(`${path}/credits`, credit)).json()).toMatchObject({
      balance_usd: "2.5",
      repeated: false,
    });
    expect((await admin.post(path, { free_tokens_per_day: 7 })).status).toBe(200);
    const { data } = await (await admin.get(`${api}/admin/accounts?search=ADA%40`)).json();
    expect(data).toMatchObject([
      { email: "ada@example.org", balance_usd: "2.5", free_tokens_per_day: 7, role: "member" },
    ]);
    expect((await admin.post(path, { status: "archived" })).status).toBe(200);
    await expectError(await ada.get(`${api}/me`), { status: 401 });
    expect((await accounts.find(ada.account.id))?.disabledAt).toBeDefined();
    const record = await (await admin.get(`${api}/admin/audit`)).json();
    expect(record.data.map((deed: { action: string }) => deed.action).sort()).toEqual([
      "account.credit",
      "account.disabled",
      "account.quota",
    ]);
    expect(record.data[0]).toMatchObject({
      account: admin.account.id,
      email: "admin@example.org",
      subject: ada.account.id,
      subject_email: "ada@example.org",
      at: expect.any(String),
    });
  });

  test("credits from a billionth of a dollar and never debits", async () => {
    const { admin, ada } = await withAdmin();
    const answer = await admin.post(`/v1/organization/projects/${ada.account.id}/credits`, {
      usd: "0.000000001",
      note: "x",
    });
    expect(await answer.json()).toMatchObject({ balance_usd: "0.000000001", repeated: false });
  });

  test("is refused invalid actions, which are not recorded", async () => {
    const { admin, ada } = await withAdmin();
    const credit = `/v1/organization/projects/${ada.account.id}/credits`;
    await expectError(await admin.post(credit, { usd: "0", note: "x" }), { status: 400, param: "usd" });
    await expectError(await admin.post(credit, { usd: "1", note: "x".repeat(501) }), { status: 400, param: "note" });
    const none = await admin.post("/v1/organization/projects/none", { free_tokens_per_day: 1 });
    await expectError(none, { status: 404 });
    for (const usd of ["-1", "-0.000000001"]) {
      const says = "`modelgate wallet debit` deducts from a wallet";
      await expectError(await admin.post(credit, { usd, note: "x" }), { status: 400, param: "usd", says });
    }
    const own = `/v1/organization/projects/${admin.account.id}`;
    await expectError(await admin.post(own, { status: "archived" }), { status: 409 });
    for (const search of ["%25", "a_a", "%5C"]) {
      const found = await (await admin.get(`${api}/admin/accounts?search=${search}`)).json();
      expect(found).toEqual({ data: [], page: 1, has_more: false });
    }
    expect(await (await admin.get(`${api}/admin/audit`)).json()).toEqual({ data: [], next: null });
  });

  test("creates vouchers, lists them without codes and voids them", async () => {
    const { admin, ada } = await withAdmin();
    const vouchers = "/v1/organization/vouchers";
    const { id, code } = await (await admin.post(vouchers, { usd: "5" })).json();
    const listed = await (await admin.get(vouchers)).text();
    expect(listed).toContain(id);
    expect(listed).not.toContain(code);
    expect((await admin.post(`${vouchers}/${id}/void`)).status).toBe(200);
    await expectError(await ada.post(`${api}/vouchers/redeem`, { code }), { status: 409 });
    await expectError(await admin.post(vouchers, { usd: "-5" }), { status: 400, param: "usd" });
  });
});

describe("over HTTP", () => {
  test("anybody can read what the sign-in page needs and nothing else", async () => {
    const { send } = await dashboardHttp({ SIGNUP: "open" });
    expect(await (await send(`${api}/gateway`)).json()).toEqual({
      version: "1.2.3",
      sandbox: false,
      simulated_models: 0,
      base_path: "/api/v1",
      sign_up: "open",
      oidc: false,
      payments: null,
    });
  });

  test("a sign-in over TLS sets a Secure cookie, and a forged origin sets none", async () => {
    const { send, enter } = await dashboardHttp();
    await enter("ada@example.org");
    const signIn = (headers: Record<string, string>) =>
      send("/api/auth/sign-in/email", {
        method: "POST",
        headers,
        body: JSON.stringify({ email: "ada@example.org", password }),
      });
    const secure = await signIn({ origin: origin.replace("http:", "https:"), "x-forwarded-proto": "https" });
    expect(secure.headers.getSetCookie()[0]).toMatch(/HttpOnly; SameSite=Lax; Secure$/);
    expect((await signIn({ origin })).headers.getSetCookie()[0]).not.toContain("Secure");
    const forged = await signIn({ origin: "http://evil.example" });
    await expectError(forged, { status: 403 });
    expect(cookieOf(forged)).toBe("");
  });

  test("an invitation is accepted once, without a session", async () => {
    const { send, store, accounts, clock } = await dashboardHttp();
    const { id } = await accounts.create({ email: "new@example.org" });
    const { token } = await invite(store, { accountId: id, by: "cli" }, clock.now());
    const accept = () =>
      send(`${api}/invitations/accept`, {
        method: "POST",
        headers: { origin, "content-type": "application/json" },
        body: JSON.stringify({ token, password }),
      });
    expect(await (await accept()).json()).toEqual({ email: "new@example.org" });
    await expectError(await accept(), { status: 404 });
  });
});

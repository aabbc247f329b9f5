import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { withAdmin } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api/admin/accounts";
const organization = "/v1/organization";

describe("an administrator", () => {
  test("cannot do to an owner what would make them one, nor take an owner's address", async () => {
    const { enter, admin, store } = await withAdmin();
    const owner = await enter("owner@example.org", "owner");
    const path = `${organization}/projects/${owner.account.id}`;
    const state = () => store.db.selectFrom("users").select(["email", "role"]).orderBy("email").execute();
    const before = await state();
    for (const refused of [
      admin.post(path, { role: "member" }),
      admin.post(path, { email: "mine@example.org" }),
      admin.post(`${api}/${owner.account.id}/invite`),
      admin.post(path, { status: "archived" }),
      admin.post(path, { free_tokens_per_day: 1 }),
      admin.remove(`${organization}/users/${owner.account.id}/sessions`),
      admin.post(`${organization}/projects/${admin.account.id}`, { role: "owner" }),
    ]) {
      await expectError(await refused, { status: 403, code: "forbidden" });
    }
    expect(await state()).toEqual(before);
    expect((await owner.get("/dashboard/api/me")).status).toBe(200);
  });

  test("who is made a member loses the pages at once, with the same session", async () => {
    const { enter, admin } = await withAdmin();
    const owner = await enter("owner@example.org", "owner");
    expect((await admin.get(api)).status).toBe(200);
    expect((await owner.post(`${organization}/projects/${admin.account.id}`, { role: "member" })).status).toBe(200);
    await expectError(await admin.get(api), { status: 403, code: "forbidden" });
    expect(await (await admin.get("/dashboard/api/me")).json()).toMatchObject({ role: "member" });
  });
});

describe("an account's page", () => {
  test("shows profile, role, limits, keys, entries, usage and sessions, and no secret", async () => {
    const { admin, ada, accounts } = await withAdmin();
    const { id } = ada.account;
    const { key } = await accounts.createKey({ accountId: id, name: "laptop", bounds: { requestsPerMinute: 7 } });
    await admin.post(`${organization}/projects/${id}/credits`, { usd: "5", note: "Welcome" });
    const read = async (part = "") => {
      const response = await admin.get(`${api}/${id}${part}`);
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).not.toContain(key.split("-").at(-1) as string);
      return JSON.parse(text);
    };
    const account = await read();
    expect(account).toMatchObject({
      id,
      email: "ada@example.org",
      role: "member",
      second_factor: false,
      disabled_at: null,
      wallet: { balance_usd: "5" },
      quota: { limit: 250_000 },
      limits: { requests_per_minute: 600, tokens_per_minute: 4_000_000, concurrent_calls: null },
    });
    expect(account.sessions).toEqual([expect.objectContaining({ address: null, user_agent: null })]);
    expect(Object.keys(account.sessions[0])).not.toContain("token");
    expect((await read("/keys")).data).toMatchObject([{ name: "laptop", requests_per_minute: 7 }]);
    expect((await read("/entries")).data).toMatchObject([{ kind: "credit", amount_usd: "5", note: "Welcome" }]);
    expect(await read("/usage")).toEqual({ days: 30, data: [] });
    // Months are offered from the first account on: there is nothing before it.
    const statements = await (await admin.get("/dashboard/api/admin/statements")).json();
    expect(statements.first_month).toBe(account.created_at.slice(0, 7));
    for (const part of ["", "/keys", "/entries", "/usage"]) {
      await expectError(await admin.get(`${api}/none${part}`), { status: 404, code: "not_found" });
    }
  });

  test("ends the sessions of its user", async () => {
    const { admin, ada } = await withAdmin();
    expect((await ada.get("/dashboard/api/me")).status).toBe(200);
    expect(await (await admin.remove(`${organization}/users/${ada.account.id}/sessions`)).json()).toMatchObject({
      sessions: 1,
    });
    await expectError(await ada.get("/dashboard/api/me"), { status: 401, code: "invalid_session" });
    const { data } = await (await admin.get("/dashboard/api/admin/audit")).json();
    expect(data).toMatchObject([{ action: "account.sign_out", detail: { sessions: 1 } }]);
  });
});

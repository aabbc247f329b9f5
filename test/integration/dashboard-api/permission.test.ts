import { describe, expect, test } from "bun:test";
import { createContents } from "../../../src/db/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { recordCalls } from "../../support/payers.ts";
import {
  cookieOf,
  dashboardHttp,
  type Members,
  origin,
  password,
  twoMembers,
  withAdmin,
} from "../../unit/http/dashboard-http.ts";
import { chargeOf } from "../db/facts.ts";

const api = "/dashboard/api";
/** Every route there is, several times. */
/** For who is not signed in yet. */
const open = [`${api}/gateway`, `${api}/invitations/accept`, `${api}/invitations/account`, `${api}/invitations/team`];

describe("every dashboard route", () => {
  test("returns 401 without a session and admin routes 403 to a member, without changes", async () => {
    const { app, send, ada, accounts, store } = await withAdmin();
    const routes = app.routes.filter(({ path }) => path.startsWith(api) && !open.includes(path));
    expect(routes.length).toBeGreaterThan(15);
    for (const { method, path } of routes) {
      const asked = path.replace(":id", ada.account.id);
      const body = method === "GET" ? {} : { body: JSON.stringify({}) };
      const headers = { origin, "content-type": "application/json" };
      await expectError(await send(asked, { method, headers, ...body }), { status: 401, code: "invalid_session" });
      if (!path.includes("/admin/")) continue;
      const refused = await send(asked, { method, headers: { ...headers, cookie: ada.cookie }, ...body });
      await expectError(refused, { status: 403, code: "forbidden" });
    }
    expect((await accounts.find(ada.account.id))?.disabledAt).toBeUndefined();
    expect(await store.db.selectFrom("audit").selectAll().execute()).toEqual([]);
  });

  test("that writes is refused from another site or without an origin", async () => {
    const { app, send, ada } = await twoMembers();
    const routes = app.routes.filter(({ method, path }) => path.startsWith(api) && method !== "GET");
    for (const { method, path } of routes) {
      for (const from of ["http://evil.example", "null", undefined]) {
        const headers = { cookie: ada.cookie, "content-type": "application/json", ...(from && { origin: from }) };
        const valid = JSON.stringify(path.endsWith("/accept") ? { token: "x", password } : { any: "thing" });
        const refused = await send(path, { method, headers, ...(method === "POST" && { body: valid }) });
        await expectError(refused, { status: 403, code: "forbidden", says: "only pages of this gateway" });
      }
    }
  });
});

describe("a user with a temporary password", () => {
  test("can only read the profile and change the password", async () => {
    const { app, send, enter, store } = await dashboardHttp();
    const admin = await enter("admin@example.org", "admin", true);
    const routes = app.routes.filter(
      ({ path }) => path.startsWith(api) && !open.includes(path) && path !== `${api}/me`,
    );
    const headers = { origin, cookie: admin.cookie, "content-type": "application/json" };
    for (const { method, path } of [...routes, { method: "GET", path: "/api/v1/usage" }]) {
      const body = method === "GET" ? {} : { body: "{}" };
      const refused = await send(path.replace(":id", admin.account.id), { method, headers, ...body });
      await expectError(refused, { status: 403, code: "password_change_required", says: "change it" });
    }
    expect(await (await admin.get(`${api}/me`)).json()).toMatchObject({ password_is_temporary: true });
    const change = { currentPassword: password, newPassword: "another password" };
    const changed = await admin.post("/api/auth/change-password", change);
    expect(changed.status).toBe(200);
    expect((await send(`${api}/keys`, { headers: { cookie: cookieOf(changed) } })).status).toBe(200);
    const entries = await store.db.selectFrom("audit").select("action").execute();
    expect(entries.map(({ action }) => action)).toEqual(["user.password"]);
  });
});

describe("every route with an id", () => {
  const keyOfBen = async ({ accounts, ben }: Members) =>
    (await accounts.createKey({ accountId: ben.account.id, name: "Ben's" })).id;
  const channelOfBen = async ({ ben }: Members) =>
    (
      await (
        await ben.post(`${api}/alerts/webhooks`, {
          url: "https://example.com/hook",
          secret: `whsec_${"QUFB".repeat(11)}`,
        })
      ).json()
    ).id;
  const contentOfBen = async ({ ben, store }: Members) => {
    const row = { id: "req_of_ben", accountId: ben.account.id, at: 1, body: new Uint8Array(1), secretsId: "a key" };
    await createContents(store).put(ben.account.id, [row], 2 ** 20);
    return row.id;
  };
  const callSessionOfBen = async ({ ben, store }: Members) => {
    const [open] = chargeOf("req_of_a_session");
    await recordCalls(store, [{ ...open, accountId: ben.account.id, session: "session of Ben" }]);
    return encodeURIComponent("session of Ben");
  };
  /** What a member tries it with: another's, or what only the operator has. */
  const another: Record<string, (fixture: Members) => Promise<string>> = {
    [`DELETE ${api}/keys/:id`]: keyOfBen,
    [`PATCH ${api}/keys/:id`]: keyOfBen,
    [`POST ${api}/keys/:id/rotate`]: keyOfBen,
    [`GET ${api}/keys/:id/callers`]: keyOfBen,
    [`GET ${api}/requests/:id`]: async ({ ben, store }) => {
      const [open] = chargeOf("req_of_ben");
      await recordCalls(store, [{ ...open, accountId: ben.account.id }]);
      return open.callId;
    },
    [`POST ${api}/requests/:id/content`]: contentOfBen,
    [`DELETE ${api}/requests/:id/content`]: contentOfBen,
    [`GET ${api}/call-sessions/:session`]: callSessionOfBen,
    // The call runs already.
    [`POST ${api}/call-sessions/:session/end`]: async () => encodeURIComponent("session of Ben"),
    [`PUT ${api}/alerts/rules/:id`]: async () => "circuit_open",
    [`DELETE ${api}/alerts/channels/:id`]: channelOfBen,
    [`POST ${api}/alerts/channels/:id/test`]: channelOfBen,
    [`DELETE ${api}/team/invitations/:id`]: async ({ ben }) =>
      (await (await ben.post(`${api}/team/invitations`, { role: "member" })).json()).id,
    [`PATCH ${api}/team/people/:id`]: async ({ ben }) => ben.account.id,
    [`DELETE ${api}/team/people/:id`]: async ({ ben }) => ben.account.id,
    [`DELETE ${api}/sessions/:id`]: async ({ ben }) => (await (await ben.get(`${api}/sessions`)).json()).data[0].id,
  };

  test("returns 404 to a member for another account's id or an unknown one, without changes", async () => {
    const fixture = await twoMembers();
    const { app, ada, send, store } = fixture;
    const routes = app.routes.filter(
      ({ path }) => path.startsWith(api) && path.includes("/:") && !path.includes("/admin/"),
    );
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(another).sort());
    for (const { method, path } of routes) {
      const id = await another[`${method} ${path}`]?.(fixture);
      const all = async () => [
        await store.db.selectFrom("keys").selectAll().execute(),
        await store.db.selectFrom("sessions").select(["id", "user_id", "expires_at"]).execute(),
      ];
      const before = await all();
      for (const given of [id, "none", "%00", "..%2f..", "x".repeat(10_000)]) {
        const refused = await send(path.replace(/:\w+/, given as string), {
          method,
          headers: { origin, cookie: ada.cookie, "content-type": "application/json" },
          ...(method === "PATCH" && {
            body: JSON.stringify(path.includes("/people/") ? { role: "member" } : { requests_per_minute: 1 }),
          }),
          ...(/\/(?:rotate|end)$/.test(path) && { body: "{}" }),
          ...(method === "PUT" && { body: JSON.stringify({ enabled: true }) }),
        });
        // A null character can be in no id: it is refused before one is looked for.
        expect(refused.status).toBe(given === "%00" ? 400 : 404);
      }
      expect(await all()).toEqual(before);
    }
  });
});

import { describe, expect, test } from "bun:test";
import { recordAct } from "../../../src/audit/record-audit.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";
import { goodKey, messages } from "../../unit/http/support.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api/admin";

describe("an administrator", () => {
  test("pages through accounts, fifty at a time", async () => {
    const { enter, store } = await dashboardHttp();
    const admin = await enter("zoe@example.org", "admin");
    const accounts = createAccounts({
      store,
      defaults: { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 },
    });
    for (let number = 100; number < 220; number++) await accounts.create({ email: `n${number}@example.org` });
    const emails: string[] = [];
    let pages = 0;
    for (let hasMore = true; hasMore; ) {
      pages += 1;
      const page = await (await admin.get(`${api}/accounts?search=n&page=${pages}`)).json();
      emails.push(...page.data.map(({ email }: { email: string }) => email));
      hasMore = page.has_more;
    }
    expect(pages).toBe(3);
    expect(emails).toEqual(Array.from({ length: 120 }, (_, index) => `n${index + 100}@example.org`));
  });

  test("searches for % and _ as letters, and for a name as it is written", async () => {
    const { enter, accounts } = await dashboardHttp();
    const admin = await enter("admin@example.org", "admin");
    const names = ["100% cotton", "1000 cottons", "snake_case", "snakeXcase", "back\\slash", "Ärzte"];
    for (const [number, name] of names.entries()) await accounts.create({ email: `n${number}@example.org`, name });
    const search = async (text: string) => {
      const { data } = await (await admin.get(`${api}/accounts?search=${encodeURIComponent(text)}`)).json();
      return data.map(({ name }: { name: string }) => name);
    };
    expect(await search("0% C")).toEqual(["100% cotton"]);
    expect(await search("e_c")).toEqual(["snake_case"]);
    expect(await search("\\")).toEqual(["back\\slash"]);
    expect(await search("%")).toEqual(["100% cotton"]);
    expect(await search("Ärzte")).toEqual(["Ärzte"]);
  });

  test("creates an account and an invitation; the audit log records both without the link", async () => {
    const { enter, send } = await dashboardHttp();
    const admin = await enter("admin@example.org", "admin");
    const { id } = await (
      await admin.post("/v1/organization/projects", { email: "new@example.org", name: "<b>New</b>" })
    ).json();
    await expectError(await admin.post("/v1/organization/projects", { email: "NEW@example.org" }), {
      status: 409,
      param: "email",
    });
    await expectError(await admin.post("/v1/organization/projects", { email: "new" }), { status: 400, param: "email" });
    const long = { email: "long@example.org", name: "x".repeat(10_000) };
    await expectError(await admin.post("/v1/organization/projects", long), { status: 400, param: "name" });
    await expectError(await admin.post(`${api}/accounts/none/invite`), { status: 404 });
    const { token } = await (await admin.post(`${api}/accounts/${id}/invite`)).json();
    const post = (path: string, body: object) =>
      send(`/dashboard/api/invitations/${path}`, {
        method: "POST",
        headers: { origin, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const seen = await post("account", { token });
    expect(await seen.json()).toEqual({ email: "new@example.org", invited_by: "admin@example.org" });
    expect((await post("accept", { token, password })).status).toBe(200);
    await expectError(await post("account", { token }), { status: 404, code: "not_found" });
    const record = await (await admin.get(`${api}/audit`)).text();
    expect(record).not.toContain(token);
    const { data } = JSON.parse(record);
    expect(data.map((deed: { action: string }) => deed.action).sort()).toEqual(["account.create", "account.invite"]);
    expect(data[0].subject_email).toBe("new@example.org");
  });

  test("pages through the whole audit log", async () => {
    const { enter, store } = await dashboardHttp();
    const admin = await enter("admin@example.org", "admin");
    // Three of each moment, so that a page ends between two of one.
    for (let number = 0; number < 150; number++) {
      const deed = { accountId: admin.account.id, action: "test", subject: `${number}`, detail: {} };
      await recordAct(store, deed, Math.floor(number / 3));
    }
    const first = (await (await admin.get(`${api}/audit`)).json()).data;
    const { at: before, id } = first.at(-1);
    const second = (await (await admin.get(`${api}/audit?before=${before}&before_id=${id}`)).json()).data;
    const all: { at: string; subject: string }[] = [...first, ...second];
    expect(all.map(({ at }) => Date.parse(at))).toEqual(
      Array.from({ length: 150 }, (_, row) => 49 - Math.floor(row / 3)),
    );
    expect(new Set(all.map(({ subject }) => subject)).size).toBe(150);
    await expectError(await admin.get(`${api}/audit?before=yesterday`), { status: 400, param: "before" });
  });

  test("sees the settings without their secrets", async () => {
    const bootstrap = `sk-mg-boot-${"x".repeat(16)}`;
    const { enter } = await dashboardHttp({
      MODELGATE_BOOTSTRAP_KEY: bootstrap,
      TEST_API_KEY: "very-secret",
      PORT: "4000",
    });
    const admin = await enter("admin@example.org", "admin");
    const text = await (await admin.get(`${api}/settings`)).text();
    expect(text).not.toContain(bootstrap);
    expect(text).not.toContain("very-secret");
    const { data } = JSON.parse(text);
    expect(data).toContainEqual({ name: "PORT", value: "4000", source: "environment" });
    expect(data).toContainEqual({ name: "MODELGATE_BOOTSTRAP_KEY", value: "set", source: "environment" });
  });

  test("sees a call while it is running and not afterwards", async () => {
    const answer = Promise.withResolvers<void>();
    const slow = createPlugin({
      async chat() {
        await answer.promise;
        return completionOf("Hello");
      },
    });
    const { enter, send, clock } = await dashboardHttp({}, [slow]);
    const admin = await enter("admin@example.org", "admin");
    const live = async () => (await admin.get("/v1/organization/live_calls")).json();
    expect(await live()).toMatchObject({ count: 0, complete: true, data: [] });
    const call = send("/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${goodKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: chatModel.id, messages }),
    });
    const deadline = Date.now() + 60_000;
    while ((await live()).data[0]?.attempts !== 1) expect(Date.now()).toBeLessThan(deadline);
    clock.pass(1500);
    expect(await live()).toMatchObject({
      count: 1,
      data: [
        { model: chatModel.id, capability: "chat", stream: false, running_ms: 1500, api_key_id: expect.any(String) },
      ],
    });
    answer.resolve();
    expect((await call).status).toBe(200);
    expect(await live()).toMatchObject({ count: 0, complete: true, data: [] });
  });
});

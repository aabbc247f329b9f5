import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { redeemVoucher } from "../../../src/modules/payments/vouchers.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
const clock = { offset: 0 };
const now = () => Date.now() + clock.offset;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" }, now });
});
afterAll(() => gateway.stop());

const newKey = async (...scopes: string[]) =>
  await createAdminKey(gateway.store, commandLine, { name: "shop", scopes }, now());

function withKey(key: string) {
  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway.baseUrl}/organization${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
    return { status: response.status, headers: response.headers, json: (await response.json()) as any };
  };
  return {
    get: (path: string) => ask("GET", path),
    post: (path: string, body?: object, headers?: Record<string, string>) => ask("POST", path, body, headers),
  };
}

const withScopes = async (...scopes: string[]) => withKey((await newKey(...scopes)).key);
const count = async () => (await gateway.store.db.selectFrom("vouchers").select("id").execute()).length;

describe("vouchers of the management API", () => {
  test("are created with a code that is shown once, and add their amount to the wallet that redeems them", async () => {
    const api = await withScopes("accounts:write");
    const account = await gateway.app.accounts.create({ email: "ada@example.org" });
    const { status, json: made } = await api.post("/vouchers", { usd: "12.50", expires_at: 4_102_444_800 });
    expect(status).toBe(200);
    expect(made).toEqual({
      id: expect.stringMatching(/^vch_/),
      object: "organization.voucher",
      usd: "12.5",
      status: "unused",
      created_at: expect.any(Number),
      expires_at: 4_102_444_800,
      voided_at: null,
      redeemed_at: null,
      redeemed_by: null,
      redeemed_by_email: null,
      code: expect.stringMatching(/^([0-9A-Z]{5}-){3}[0-9A-Z]{5}$/),
    });
    await redeemVoucher(gateway.store, { accountId: account.id, code: made.code }, now());
    const { code, ...shown } = made;
    const redeemed = { status: "redeemed", redeemed_by: account.id, redeemed_by_email: "ada@example.org" };
    const { json: found } = await api.get(`/vouchers/${made.id}`);
    expect(found).toEqual({ ...shown, ...redeemed, redeemed_at: expect.any(Number) });
    expect((await api.get("/vouchers")).json.data).toContainEqual(found);
    expect((await api.get(`/projects/${account.id}`)).json.wallet.balance_usd).toBe("12.5");
  });

  test("expire, and are voided once and for all unless they were redeemed", async () => {
    const api = await withScopes("accounts:write");
    const account = await gateway.app.accounts.create({ email: "ben@example.org" });
    const create = async (fields = {}) => (await api.post("/vouchers", { usd: "1", ...fields })).json;
    const [voided, redeemed, expired] = [await create(), await create(), await create({ expires_in_seconds: 60 })];
    const first = await api.post(`/vouchers/${voided.id}/void`);
    expect([first.status, first.json.status]).toEqual([200, "void"]);
    expect((await api.post(`/vouchers/${voided.id}/void`)).json).toEqual(first.json);
    const attempt = redeemVoucher(gateway.store, { accountId: account.id, code: voided.code }, now());
    expect(await attempt.catch(({ code }) => code)).toBe("conflict");
    await redeemVoucher(gateway.store, { accountId: account.id, code: redeemed.code }, now());
    const late = await api.post(`/vouchers/${redeemed.id}/void`);
    expect([late.status, late.json.error.code]).toEqual([409, "conflict"]);
    clock.offset += 61_000;
    expect((await api.get(`/vouchers/${expired.id}`)).json.status).toBe("expired");
  });

  test("are listed page by page, newest first, also those of one moment", async () => {
    const api = await withScopes("accounts:write");
    for (let made = 0; made < 5; made += 1) {
      await api.post("/vouchers", { usd: "1" });
      if (made % 2 === 0) clock.offset += 1000;
    }
    const listed: { id: string; created_at: number }[] = [];
    let after = "";
    for (let more = true; more; ) {
      const { json } = await api.get(`/vouchers?limit=2${after}`);
      expect(json.data.length).toBeLessThanOrEqual(2);
      listed.push(...json.data);
      [more, after] = [json.has_more, `&after=${json.last_id}`];
    }
    const times = listed.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
    expect([new Set(listed.map(({ id }) => id)).size, listed.length]).toEqual([await count(), await count()]);
    const unknown = await api.get("/vouchers?after=vch_unknown");
    expect([unknown.status, unknown.json.error.param]).toEqual([400, "after"]);
  });

  test("are created once for each Idempotency-Key, and a repeated request gets the same code", async () => {
    const { id, key } = await newKey("accounts:write");
    const api = withKey(key);
    const before = await count();
    const headers = { "idempotency-key": "order-1" };
    const first = await api.post("/vouchers", { usd: "3" }, headers);
    const again = await api.post("/vouchers", { usd: "3" }, headers);
    expect([again.headers.get("idempotent-replayed"), again.json]).toEqual(["true", first.json]);
    expect((await api.post("/vouchers", { usd: "4" }, headers)).status).toBe(409);
    expect(await count()).toBe(before + 1);
    const entries = await gateway.store.db
      .selectFrom("audit")
      .selectAll()
      .where("subject", "=", first.json.id)
      .execute();
    expect(entries).toMatchObject([{ action: "voucher.create", account_id: `admin-key:${id}` }]);
    await api.post(`/vouchers/${first.json.id}/void`);
    const voided = await gateway.store.db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "voucher.void")
      .execute();
    expect(voided).toContainEqual(expect.objectContaining({ subject: first.json.id, account_id: `admin-key:${id}` }));
    expect(JSON.stringify([entries, voided])).not.toContain(first.json.code);
  });

  test("are money: a key needs accounts:write to make them, and one that reads sees no code", async () => {
    const reader = await withScopes("accounts:read");
    const before = await count();
    expect((await reader.get("/vouchers")).status).toBe(200);
    for (const api of [reader, await withScopes("keys:write", "usage:write", "audit:write")]) {
      const refused = await api.post("/vouchers", { usd: "1" });
      expect([refused.status, refused.json.error.code]).toEqual([403, "forbidden"]);
    }
    expect(await count()).toBe(before);
  });

  test.each([
    [{}, "usd"],
    [{ usd: "0" }, "usd"],
    [{ usd: "-5" }, "usd"],
    [{ usd: "much" }, "usd"],
    [{ usd: "0.0000000001" }, "usd"],
    [{ usd: "99999999999999" }, "usd"],
    [{ usd: "5", expires_at: 1 }, "expires_at"],
    [{ usd: "5", expires_in_seconds: 0 }, "expires_in_seconds"],
    [{ usd: "5", expires_in_seconds: 60, expires_at: 4_102_444_800 }, "expires_at"],
  ])("of %j are refused, and none is made", async (body, param) => {
    const api = await withScopes("accounts:write");
    const before = await count();
    const { status, json } = await api.post("/vouchers", body);
    expect([status, json.error.param]).toEqual([400, param]);
    expect(await count()).toBe(before);
  });

  test("have ids in paths, and never their codes", async () => {
    const api = await withScopes("accounts:write");
    const { id, code } = (await api.post("/vouchers", { usd: "1" })).json;
    for (const path of [`/vouchers/${code}/void`, "/vouchers/vch_none/void"]) {
      expect((await api.post(path)).status).toBe(404);
    }
    expect((await api.get(`/vouchers/${code}`)).status).toBe(404);
    expect((await api.get(`/vouchers/${id}`)).json.status).toBe("unused");
  });
});

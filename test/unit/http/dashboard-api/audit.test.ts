import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { sql } from "kysely";
import type { Store } from "../../../../src/db/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { withAdmin } from "../dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
setDefaultTimeout(30_000);

const api = "/dashboard/api/admin";
const changed = ["accounts", "invitations", "entries", "wallets", "vouchers"] as const;

/** All that a deed may change. */
async function rowsOf({ db }: Store): Promise<unknown> {
  return Promise.all(changed.map((table) => db.selectFrom(table).selectAll().execute()));
}

async function groundWithVoucher() {
  const ground = await withAdmin();
  const { id: voucherId } = await (await ground.admin.post(`${api}/vouchers`, { usd: "1" })).json();
  return { ...ground, voucherId };
}

/** Where each deed is asked for; `ACCOUNT` and `VOUCHER` stand for what it is done to. */
const deeds = [
  ["account.create", "accounts", { email: "new@example.org" }],
  ["account.invite", "accounts/ACCOUNT/invite", {}],
  ["account.credit", "accounts/ACCOUNT/credit", { usd: "5", note: "for a test" }],
  ["account.quota", "accounts/ACCOUNT/quota", { tokens: 7 }],
  ["account.disabled", "accounts/ACCOUNT/disabled", { disabled: true }],
  ["voucher.create", "vouchers", { usd: "2", expires_at: "2999-01-01T00:00:00Z" }],
  ["voucher.void", "vouchers/VOUCHER/void", {}],
] as const;

describe.each(deeds)("%s", (action, path, body) => {
  test("is rolled back when its audit entry cannot be written", async () => {
    const { admin, ada, store, voucherId } = await groundWithVoucher();
    const url = `${api}/${path.replace("ACCOUNT", ada.account.id).replace("VOUCHER", voucherId)}`;
    const before = await rowsOf(store);

    await sql`alter table audit rename to audit_away`.execute(store.db);
    await expectError(await admin.post(url, body), { status: 500 });
    expect(await rowsOf(store)).toEqual(before);

    await sql`alter table audit_away rename to audit`.execute(store.db);
    expect((await admin.post(url, body)).status).toBe(200);
    expect(await rowsOf(store)).not.toEqual(before);
    const { data } = await (await admin.get(`${api}/audit`)).json();
    const made = { action: "voucher.create", email: "admin@example.org", detail: { usd: "1", expires_at: null } };
    // Of the same moment, so in any order.
    expect(data).toHaveLength(2);
    expect(data).toContainEqual(expect.objectContaining(made));
    expect(data).toContainEqual(expect.objectContaining({ action, email: "admin@example.org" }));
  });
});

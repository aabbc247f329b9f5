import { describe, expect, test } from "bun:test";
import { userInfo } from "node:os";
import { sql } from "kysely";
import { recordAct } from "../../../src/audit/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { withAdmin } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api/admin";
const vouchers = "/v1/organization/vouchers";
const projects = "/v1/organization/projects";
const changed = ["accounts", "invitations", "transactions", "wallets", "vouchers"] as const;

/** All that a deed may change. */
async function rowsOf({ db }: Store): Promise<unknown> {
  return Promise.all(changed.map((table) => db.selectFrom(table).selectAll().execute()));
}

async function fixtureWithVoucher() {
  const fixture = await withAdmin();
  const { id: voucherId } = await (await fixture.admin.post(vouchers, { usd: "1" })).json();
  return { ...fixture, voucherId };
}

/** Where each deed is asked for; `ACCOUNT` and `VOUCHER` stand for what it is done to. */
const deeds = [
  ["account.create", projects, { email: "new@example.org" }],
  ["account.invite", `${api}/accounts/ACCOUNT/invite`, {}],
  ["account.credit", `${projects}/ACCOUNT/credits`, { usd: "5", note: "for a test" }],
  ["account.quota", `${projects}/ACCOUNT`, { free_tokens_per_day: 7 }],
  ["account.disabled", `${projects}/ACCOUNT`, { status: "archived" }],
  ["voucher.create", vouchers, { usd: "2", expires_at: 4_102_444_800 }],
  ["voucher.void", `${vouchers}/VOUCHER/void`, {}],
] as const;

describe.each(deeds)("%s", (action, path, body) => {
  test("is rolled back when its audit entry cannot be written", async () => {
    const { admin, ada, store, voucherId } = await fixtureWithVoucher();
    const url = path.replace("ACCOUNT", ada.account.id).replace("VOUCHER", voucherId);
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

describe("filters", () => {
  /** Entries a second apart, the last one first: by two actors, to two accounts. */
  async function withEntries() {
    const parts = await withAdmin();
    const { ada, ben, store, clock } = parts;
    const from = clock.now() - 10_000;
    const admin = parts.admin.account.id;
    const rows = [
      ["cli", "account.credit", ada.account.id, { usd: "5", note: "=1+1" }],
      [admin, "account.credit", ben.account.id, { usd: "7" }],
      [admin, "accounting.close", ada.account.id, {}],
      [admin, "key.create", ada.account.id, { name: "website" }],
      [admin, "voucher.void", "voucher-1", {}],
    ] as const;
    for (const [place, [accountId, action, subject, detail]] of rows.entries()) {
      await recordAct(store, { accountId, action, subject, detail }, from + place * 1000);
    }
    const list = async (query: string) => (await parts.admin.get(`${api}/audit?${query}`)).json();
    const actions = async (query: string) =>
      (await list(query)).data.map(({ action }: { action: string }) => action).reverse();
    return { ...parts, from, list, actions };
  }

  test("by actor, action or group of actions, target and time", async () => {
    const { actions, from, ada, admin } = await withEntries();
    const moment = (seconds: number) => new Date(from + seconds * 1000).toISOString();
    expect(await actions("actor=cli")).toEqual(["account.credit"]);
    expect(await actions("actor=Admin@Example.org&action=account")).toEqual(["account.credit"]);
    expect(await actions(`actor=${admin.account.id}&action=key.create`)).toEqual(["key.create"]);
    expect(await actions("action=account.credit")).toEqual(["account.credit", "account.credit"]);
    expect(await actions("action=account._redit")).toEqual([]);
    expect(await actions("subject=voucher-1")).toEqual(["voucher.void"]);
    expect(await actions(`subject=${ada.account.email}&action=account`)).toEqual(["account.credit"]);
    expect(await actions(`from=${moment(1)}&until=${moment(3)}`)).toEqual(["account.credit", "accounting.close"]);
  });

  test("are refused with the name of the one that is wrong", async () => {
    const { admin } = await withEntries();
    await expectError(await admin.get(`${api}/audit?actor=nobody@example.org`), { status: 400, param: "actor" });
    await expectError(await admin.get(`${api}/audit.csv?subject=nobody@example.org`), {
      status: 400,
      param: "subject",
    });
    await expectError(await admin.get(`${api}/audit.jsonl?from=yesterday`), { status: 400, param: "from" });
  });

  test("hold for the files too, and a cell is no formula", async () => {
    const { admin, ada } = await withEntries();
    const csv = await admin.get(`${api}/audit.csv?subject=${ada.account.email}&action=account`);
    expect(csv.headers.get("content-disposition")).toBe('attachment; filename="modelgate-audit.csv"');
    const [head, line, ...others] = (await csv.text()).split("\r\n");
    expect(head).toBe("id,at,account,account_name,email,os_user,action,subject,subject_name,subject_email,detail");
    const { username } = userInfo();
    const { SUDO_USER: caller = username } = process.env;
    const osUser = caller === username ? username : `${caller} as ${username}`;
    expect(line).toEndWith(
      `"cli",,,"${osUser}","account.credit","${ada.account.id}","ada@example.org","ada@example.org","{""usd"":""5"",""note"":""=1+1""}"`,
    );
    expect(others).toEqual([""]);
    const lines = (await (await admin.get(`${api}/audit.jsonl?actor=admin@example.org`)).text()).trim().split("\n");
    expect(lines.map((text) => JSON.parse(text).action)).toEqual([
      "voucher.void",
      "key.create",
      "accounting.close",
      "account.credit",
    ]);
  });

  test("that fit nothing for long end early, and the next page goes on from there", async () => {
    const { store, list, from, admin } = await withEntries();
    const others = Array.from({ length: 6000 }, (_, place) => ({
      id: `other-${String(place).padStart(5, "0")}`,
      at: from + 20_000 + Math.floor(place / 7),
      account_id: "cli",
      action: "account.quota",
      subject: "x",
      detail: "{}",
    }));
    for (let start = 0; start < others.length; start += 1000) {
      await store.db
        .insertInto("audit")
        .values(others.slice(start, start + 1000))
        .execute();
    }
    const first = await list("action=voucher.void");
    expect(first.data).toEqual([]);
    const { data, next } = await list(`action=voucher.void&${new URLSearchParams(first.next)}`);
    expect(data).toHaveLength(1);
    expect(next).toBeNull();
    const all = (await (await admin.get(`${api}/audit.jsonl`)).text()).trim().split("\n");
    expect(new Set(all.map((text) => JSON.parse(text).id)).size).toBe(others.length + 5);
  });
});

import { describe, expect, test } from "bun:test";
import { addPayingAccount, type Store, toPayerNumber } from "../../../src/db/index.ts";
import { keyOrders, searchKeys } from "../../../src/keys/index.ts";
import { limitColumns } from "../../../src/keys/key-fields.ts";
import type { KeySearch } from "../../../src/keys/keys.ts";
import { type AccountSearch, accountRowOf } from "../../../src/tenants/accounts.ts";
import { accountKinds, accountOrders, searchAccounts } from "../../../src/tenants/index.ts";
import { spendingRow } from "../../support/ledger-rows.ts";
import { engine, temporaryStore } from "../db/temporary-store.ts";

const now = 1_800_000_000_000;
const dayMs = 86_400_000;
const today = Math.floor(now / dayMs);
const count = 1500;
const pageSize = 400;
const roles = ["owner", "admin", "viewer", "member"] as const;

/** Facts of an account and its key, many of which have others in common. */
interface Facts {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly createdAt: number;
  readonly role: (typeof roles)[number] | undefined;
  readonly isDisabled: boolean;
  readonly balance: number;
  readonly spend: number;
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly createdAt: number;
    readonly expiresAt: number | null;
    readonly revokedAt: number | null;
    readonly lastUsedAt: number | null;
  };
}

/** Facts by their number: always the same, and in no order of their ids. */
function factsOf(number: number): Facts {
  const mixed = (number * 7919) % count;
  const digits = (value: number) => String(value).padStart(4, "0");
  const some = <Value>(value: Value, every: number) => (mixed % every === 0 ? null : value);
  // Beyond ASCII the embedded store compares by bytes, which is another order than that of JavaScript's strings.
  const beyond = engine === "sqlite" && mixed % 7 === 0 ? (mixed % 2 === 0 ? "\u{ff5e}" : "\u{1f600}") : "";
  return {
    id: `acc${digits(mixed)}`,
    email: `${digits((number * 31) % count)}@example.org`,
    name: some(`name ${mixed % 13}`, 3),
    createdAt: now - (mixed % 10) * dayMs,
    role: mixed % 5 === 4 ? undefined : roles[mixed % 5],
    isDisabled: mixed % 11 === 0,
    balance: mixed % 17,
    spend: mixed % 19,
    key: {
      id: `key${digits((number * 101) % count)}`,
      name: `${beyond}Key ${mixed % 23}`,
      createdAt: now - (mixed % 9) * dayMs,
      expiresAt: some(now + ((mixed % 5) - 2) * dayMs, 2),
      revokedAt: mixed % 29 === 0 ? now - dayMs : null,
      lastUsedAt: some(now - (mixed % 6) * dayMs, 4),
    },
  };
}

const all = Array.from({ length: count }, (_, number) => factsOf(number));

async function filledStore(): Promise<Store> {
  const store = await temporaryStore();
  const at = new Date(now).toISOString();
  const nobody = { password_is_temporary: 0, email_verified: 1, image: null, created_at: at, updated_at: at };
  await store.change(async (db) => {
    for (const { id, email, name, createdAt, role, isDisabled, balance, spend, key } of all) {
      const account = { ...accountRowOf({ id, email, name }, createdAt), disabled_at: isDisabled ? now : null };
      await db.insertInto("accounts").values(account).execute();
      const times = { created_at: key.createdAt, expires_at: key.expiresAt, revoked_at: key.revokedAt };
      const named = { id: key.id, account_id: id, name: key.name, secret_hash: "", created_by: null };
      await db
        .insertInto("keys")
        .values({ ...named, ...times, ...limitColumns({}), allowed_models: null, last_used_at: key.lastUsedAt })
        .execute();
      if (role !== undefined) {
        await db
          .insertInto("users")
          .values({ id: `user ${id}`, account_id: id, email, name: "", role, ...nobody })
          .execute();
      }
      await addPayingAccount(db, id);
      const number = toPayerNumber(id);
      await db.insertInto("wallet_rows").values({ account_id: number, balance_nanodollars: balance }).execute();
      const charge = { ...spendingRow(id), day: today - 3, spent_nanodollars: spend };
      await db.insertInto("spending").values(charge).execute();
    }
  });
  return store;
}

const filled = filledStore();

/** The ids of all pages, one after the other. */
async function pagesOf(read: (offset: number) => Promise<readonly { readonly id: string }[]>): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const page = await read(ids.length);
    ids.push(...page.map(({ id }) => id));
    if (page.length < pageSize) return ids;
  }
}

type Value = string | number | null;

/** Sorts by a value, those without one last, and then by id. */
function sorted<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  value: (row: Row) => Value,
  order: "asc" | "desc",
) {
  const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
  const compare = (one: Value, other: Value) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    const ascending =
      typeof one === "number" ? one - Number(other) : byBytes(one.toLowerCase(), String(other).toLowerCase());
    return order === "asc" ? ascending : -ascending;
  };
  return rows
    .toSorted((one, other) => compare(value(one), value(other)) || byBytes(idOf(one), idOf(other)))
    .map((row) => idOf(row));
}

describe("a list of all accounts", () => {
  const values: Record<AccountSearch["order"], (facts: Facts) => Value> = {
    email: ({ email }) => email,
    balance: ({ balance }) => balance,
    spend: ({ spend }) => spend,
    last_used: ({ key }) => key.lastUsedAt,
    created: ({ createdAt }) => createdAt,
  };
  const isOf = (kind: (typeof accountKinds)[number] | undefined, { role, isDisabled }: Facts) => {
    if (kind === undefined) return true;
    if (kind === "none") return role === undefined;
    return kind === "disabled" ? isDisabled : role === kind;
  };

  test.each(accountOrders)("has each that fits once, in pages, by %s", async (order) => {
    const store = await filled;
    for (const kind of [undefined, ...accountKinds.filter((kind) => kind !== "team")]) {
      for (const text of ["", "NAME 1", "12", "%"]) {
        const search = { text, order, kind, limit: pageSize };
        const ids = await pagesOf((offset) => searchAccounts(store, { ...search, offset }, now));
        const fitting = all.filter(
          (facts) =>
            isOf(kind, facts) &&
            [facts.email, facts.name, facts.id].some((part) => part?.toLowerCase().includes(text.toLowerCase())),
        );
        const isNewestFirst = order === "created";
        const rows = isNewestFirst ? fitting.toSorted((one, other) => (one.id < other.id ? 1 : -1)) : fitting;
        const expected = isNewestFirst
          ? rows.toSorted((one, other) => other.createdAt - one.createdAt).map(({ id }) => id)
          : sorted(rows, ({ id }) => id, values[order], order === "email" ? "asc" : "desc");
        expect([kind, text, ids]).toEqual([kind, text, expected]);
      }
    }
  });

  test("tells of each its role, wallet, spend and last use", async () => {
    const [row] = await searchAccounts(await filled, { text: "acc0013", order: "email", limit: 2, offset: 0 }, now);
    const facts = all.find(({ id }) => id === "acc0013");
    expect(row).toMatchObject({
      id: "acc0013",
      email: facts?.email,
      role: facts?.role,
      balanceNanodollars: facts?.balance,
      chargedNanodollars: facts?.spend,
      lastUsedAt: facts?.key.lastUsedAt,
    });
  });
});

describe("a list of the keys of all accounts", () => {
  const orders: Record<KeySearch["order"], readonly ["asc" | "desc", (facts: Facts) => Value]> = {
    created: ["desc", ({ key }) => key.createdAt],
    last_used: ["desc", ({ key }) => key.lastUsedAt],
    expires: ["asc", ({ key }) => key.expiresAt],
    name: ["asc", ({ key }) => key.name],
  };

  test.each(keyOrders)("has each that fits once, in pages, by %s", async (order) => {
    const store = await filled;
    for (const state of ["active", "ended", "all"] as const) {
      for (const text of ["", "KEY 1", "12", "%"]) {
        const search = { text, order, state, limit: pageSize };
        const ids = await pagesOf((offset) => searchKeys(store, now, { ...search, offset }));
        const fitting = all.filter(({ key, id, email, name }) => {
          const hasEnded = key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
          const parts = [key.id, key.name, id, email, name];
          return (
            (state === "all" || hasEnded === (state === "ended")) &&
            parts.some((part) => part?.toLowerCase().includes(text.toLowerCase()))
          );
        });
        const newestFirst = fitting.toSorted((one, other) => (one.key.id < other.key.id ? 1 : -1));
        const expected =
          order === "created"
            ? newestFirst.toSorted((one, other) => other.key.createdAt - one.key.createdAt).map(({ key }) => key.id)
            : sorted(fitting, ({ key }) => key.id, orders[order][1], orders[order][0]);
        expect([state, text, ids]).toEqual([state, text, expected]);
      }
    }
  });
});

test.skipIf(engine === "postgres")(
  "a search of all rows of the embedded store lets others go on meanwhile",
  async () => {
    const store = await filled;
    let turns = 0;
    let isSearching = true;
    const turn = () => {
      turns += 1;
      if (isSearching) setImmediate(turn);
    };
    setImmediate(turn);
    await searchAccounts(store, { text: "nobody", order: "email", limit: 50, offset: 0 }, now);
    const ofAccounts = turns;
    await searchKeys(store, now, { text: "nobody", state: "all", order: "name", limit: 50, offset: 0 });
    isSearching = false;
    // 128 rows first, and never more than twice as many as before.
    expect(ofAccounts).toBeGreaterThanOrEqual(3);
    expect(turns - ofAccounts).toBeGreaterThanOrEqual(3);
  },
);

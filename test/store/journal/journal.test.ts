import { describe, expect, test } from "bun:test";
import { isConstraintError } from "../../../src/store/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { chargeOf, endOf, openOf } from "./facts.ts";
import { never, temporaryBooks, until } from "./ground.ts";

describe("a batch", () => {
  test("stands in the journal first and in the tables a moment later", async () => {
    const books = temporaryBooks();
    const store = await books.open({ waitMs: 1 });
    await store.writeBooks(chargeOf("c1"));
    expect(books.tables().calls).toBe(0);
    expect(books.journalText()).toContain("c1");
    await until(() => books.tables().applied === 1);
    expect(books.tables()).toEqual({ calls: 1, settled: 1, entries: 1, balance: -10, requests: 1, applied: 1 });
  });

  test("is applied before anybody asks the tables for it", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    await store.writeBooks(chargeOf("c1"));
    expect(await store.db.selectFrom("wallets").select("balance_nanodollars").execute()).toHaveLength(1);
    expect(books.tables().applied).toBe(1);
    await store.writeBooks(chargeOf("c2"));
    await store.change(async (db) => {
      expect(await db.selectFrom("calls").select("id").execute()).toHaveLength(2);
    });
  });

  test("that ends a call in another slice than it was opened in completes its row", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    const open = openOf("c1");
    await store.writeBooks([open]);
    expect((await store.db.selectFrom("calls").select("state").execute()).map(({ state }) => state)).toEqual(["open"]);
    await store.writeBooks([endOf(open)]);
    await store.writeBooks([endOf(open, { chargedNanodollars: 99 })]);
    await store.close();
    expect(books.tables()).toEqual({ calls: 1, settled: 1, entries: 1, balance: -10, requests: 1, applied: 2 });
  });

  test("is refused whole when an id is taken, be it applied, waiting or in the same batch", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    await store.writeBooks([openOf("c1")]);
    for (const taken of [
      [openOf("c2"), openOf("c1")],
      [openOf("c2"), openOf("c2")],
    ]) {
      expect(isConstraintError(await errorOf(store.writeBooks(taken)))).toBe(true);
    }
    await store.db.selectFrom("calls").select("id").execute();
    expect(isConstraintError(await errorOf(store.writeBooks([openOf("c1")])))).toBe(true);
    await store.writeBooks([openOf("c2")]);
    await store.close();
    expect(books.tables()).toMatchObject({ calls: 2, applied: 2 });
  });
});

describe("readFunds", () => {
  test("counts what waits, and counts it once when another process has applied it", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    const free = (callId: string, quotaDay: number) => {
      const open = openOf(callId, { premium: false, quotaDay });
      return [open, endOf(open, { chargedNanodollars: 0, quotaTokens: 7 })];
    };
    await store.writeBooks([...chargeOf("c1"), ...free("f1", 3)]);
    const first = { balanceNanodollars: -10, quotaDay: 3, usedTokens: 7 };
    expect(store.readFunds("acc_1")).toEqual(first);
    expect(books.tables().calls).toBe(0);
    await books.open();
    expect(books.tables().calls).toBe(2);
    expect(store.readFunds("acc_1")).toEqual(first);
    await store.writeBooks([...chargeOf("c2"), ...free("f2", 3)]);
    expect(store.readFunds("acc_1")).toEqual({ balanceNanodollars: -20, quotaDay: 3, usedTokens: 14 });
    await store.writeBooks(free("f3", 4));
    expect(store.readFunds("acc_1")).toEqual({ balanceNanodollars: -20, quotaDay: 4, usedTokens: 7 });
    expect(store.readFunds("acc_2")).toEqual({ balanceNanodollars: 0, quotaDay: undefined, usedTokens: 0 });
  });

  test("leaves out an end that is written twice", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    const [open, end] = chargeOf("c1");
    await store.writeBooks([open, end, end]);
    await store.writeBooks([end]);
    expect(store.readFunds("acc_1")).toMatchObject({ balanceNanodollars: -10 });
  });
});

describe("the owner of a journal", () => {
  test("is the first that writes; another process writes to the tables, and both count", async () => {
    const books = temporaryBooks();
    const [owner, other] = [await books.open(never), await books.open(never)];
    await owner.writeBooks(chargeOf("c1"));
    await other.writeBooks(chargeOf("c2"));
    expect(books.tables()).toMatchObject({ calls: 1, balance: -10 });
    expect(other.readFunds("acc_1")).toMatchObject({ balanceNanodollars: -20 });
    expect(owner.readFunds("acc_1")).toMatchObject({ balanceNanodollars: -20 });
  });

  test("takes the journal away when it closes, and the next goes on with its numbers", async () => {
    const books = temporaryBooks();
    const first = await books.open(never);
    await first.writeBooks(chargeOf("c1"));
    await first.close();
    expect(books.journalBytes()).toBeUndefined();
    const second = await books.open(never);
    await second.writeBooks(chargeOf("c2"));
    await second.close();
    expect(books.tables()).toEqual({ calls: 2, settled: 2, entries: 2, balance: -20, requests: 2, applied: 2 });
  });

  test("empties it when it is long and all is applied", async () => {
    const books = temporaryBooks();
    const store = await books.open({ waitMs: 1, rotateBytesMin: 3000 });
    let emptied = 0;
    let before = 0;
    for (let i = 0; i < 60; i++) {
      await store.writeBooks(chargeOf(`c${i}`));
      await until(() => books.tables().applied === i + 1);
      const now = books.journalBytes() as number;
      if (now < before) emptied += 1;
      before = now;
      expect(now).toBeLessThan(4000);
    }
    expect(emptied).toBeGreaterThan(3);
    expect(books.tables()).toMatchObject({ settled: 60, balance: -600 });
  });

  test("applies at most a slice in a transaction, and the rest in later turns", async () => {
    const books = temporaryBooks();
    const store = await books.open({ waitMs: 1, sliceWritesMax: 10 });
    for (let i = 0; i < 50; i++) await store.writeBooks(chargeOf(`c${i}`));
    const seen = new Set<number>();
    await until(() => {
      seen.add(books.tables().applied);
      return seen.has(50);
    });
    // Five batches of two writes are a slice.
    expect([...seen].filter((applied) => applied % 5 !== 0)).toEqual([]);
    await store.close();
    expect(books.tables()).toMatchObject({ settled: 50, applied: 50 });
  });
});

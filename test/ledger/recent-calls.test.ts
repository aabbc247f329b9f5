import { describe, expect, test } from "bun:test";
import {
  exportCalls,
  readRecentCalls,
  readStatement,
  readUsage,
  verifyLedger,
  walletOf,
} from "../../src/ledger/index.ts";
import type { Store } from "../../src/store/index.ts";
import { journalBounds } from "../../src/store/sqlite/journal/journal-bounds.ts";
import { chargeOf } from "../store/journal/facts.ts";
import { never, temporaryBooks } from "../store/journal/ground.ts";

const account = "acc_1";
const shownIds = async (store: Store) => (await readRecentCalls(store, account, { limit: 50 })).map(({ id }) => id);

describe("the latest calls, which are only shown", () => {
  test("apply nothing themselves: what was written in the last moment may be missing", async () => {
    const books = temporaryBooks();
    const store = await books.open(never);
    await store.writeBooks(chargeOf("c1"));
    expect(await shownIds(store)).toEqual([]);
    expect(books.tables().applied).toBe(0);
    await walletOf(store, account);
    expect(await shownIds(store)).toEqual(["c1"]);
    await store.writeBooks(chargeOf("c2"));
    expect(await shownIds(store)).toEqual(["c1"]);
  });

  test("are whole by themselves as soon as the journal is applied, which is 50 ms later", async () => {
    expect(journalBounds.waitMs).toBe(50);
    const store = await temporaryBooks().open();
    await store.writeBooks(chargeOf("c1"));
    const deadline = Date.now() + 20_000;
    while ((await shownIds(store)).length === 0 && Date.now() < deadline) await Bun.sleep(5);
    expect(await shownIds(store)).toEqual(["c1"]);
  });

  test("are whole for a process beside the one that serves", async () => {
    const books = temporaryBooks();
    const [owner, other] = [await books.open(never), await books.open(never)];
    await owner.writeBooks(chargeOf("c1"));
    expect(await shownIds(other)).toEqual(["c1"]);
  });

  test("are paged by time, and by id within a millisecond", async () => {
    const store = await temporaryBooks().open(never);
    for (const id of ["c1", "c2", "c3"]) await store.writeBooks(chargeOf(id));
    await walletOf(store, account);
    expect(await shownIds(store)).toEqual(["c3", "c2", "c1"]);
    const ids = async (page: { limit: number; before?: number; beforeId?: string }) =>
      (await readRecentCalls(store, account, page)).map(({ id }) => id);
    expect(await ids({ limit: 2 })).toEqual(["c3", "c2"]);
    expect(await ids({ limit: 2, before: 7, beforeId: "c2" })).toEqual(["c1"]);
    expect(await ids({ limit: 2, before: 7 })).toEqual([]);
  });
});

describe("what decides or proves", () => {
  const counted: [string, (store: Store) => Promise<number>][] = [
    ["the sums of usage", async (store) => (await usageOf(store)).requests],
    ["the wallet", async (store) => (await walletOf(store, account)).balanceNanodollars / -10],
    ["the statement", async (store) => (await readStatement(store, account)).length],
    ["the export", async (store) => (await Array.fromAsync(exportCalls(store, { from: 0, until: 9 }))).flat().length],
    ["ledger verify", async (store) => (await verifyLedger(store)).counts.calls],
  ];

  test.each(counted)("has every call at once: %s", async (_, count) => {
    const store = await temporaryBooks().open(never);
    await store.writeBooks(chargeOf("c1"));
    expect(await count(store)).toBe(1);
  });
});

async function usageOf(store: Store) {
  const sums = await readUsage(store, account, { startDay: 0, endDay: 0, period: "daily" });
  return sums.totals.figures;
}

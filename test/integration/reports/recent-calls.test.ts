import { describe, expect, test } from "bun:test";
import type { Store } from "../../../src/db/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import {
  exportCalls,
  type LogCursor,
  readRecentCalls,
  readStatement,
  readUsageBuckets,
} from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { chargeOf } from "../db/facts.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";

const account = "acc_1";

describe("the latest calls", () => {
  test("are paged by time, and by id within a millisecond", async () => {
    const store = await temporaryStore();
    for (const id of ["c1", "c2", "c3"]) await recordCalls(store, chargeOf(id));
    const ids = async (page: { limit: number; before?: LogCursor }) =>
      (await readRecentCalls(store, account, page)).map(({ id }) => id);
    expect(await ids({ limit: 50 })).toEqual(["c3", "c2", "c1"]);
    expect(await ids({ limit: 2 })).toEqual(["c3", "c2"]);
    expect(await ids({ limit: 2, before: { at: 7, id: "c2" } })).toEqual(["c1"]);
    expect(await ids({ limit: 2, before: { at: 7, id: "" } })).toEqual([]);
  });
});

describe("a call that was written is there at once", () => {
  const counted: [string, (store: Store) => Promise<number | undefined>][] = [
    ["the latest calls", async (store) => (await readRecentCalls(store, account, { limit: 50 })).length],
    ["the sums of usage", async (store) => (await usageOf(store)).requests],
    ["the wallet", async (store) => (await readWalletState(store, account)).balanceNanodollars / -10],
    ["the statement", async (store) => (await readStatement(store, account)).length],
    ["the export", async (store) => (await Array.fromAsync(exportCalls(store, { from: 0, until: 9 }))).flat().length],
    ["ledger verify", async (store) => (await verifyLedger(store)).counts.calls],
  ];

  test.each(counted)("in %s", async (_, count) => {
    const store = await temporaryStore();
    await recordCalls(store, chargeOf("c1"));
    expect(await count(store)).toBe(1);
  });

  test.each(counted)("in %s of another process", async (_, count) => {
    const file = temporaryFile();
    const [store, other] = [await temporaryStore(file), await temporaryStore(file)];
    await recordCalls(store, chargeOf("c1"));
    expect(await count(other)).toBe(1);
  });
});

async function usageOf(store: Store) {
  const sums = await readUsageBuckets(store, account, { startDay: 0, endDay: 0, period: "daily" });
  return sums.totals.figures;
}

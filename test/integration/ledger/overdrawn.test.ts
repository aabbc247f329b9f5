import { expect, test } from "bun:test";
import { toPayerNumber } from "../../../src/db/index.ts";
import { readOverdrawn } from "../../../src/ledger/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { addAccount } from "./fixture.ts";

test("wallets below zero are counted and summed, and those at zero or above are not", async () => {
  const store = await temporaryStore();
  expect(await readOverdrawn(store)).toEqual({ accounts: 0, nanodollars: 0 });
  const balances = { rich: 100, even: 0, overdrawn: -10, deep: -3_000_000_005 };
  for (const [id, nanodollars] of Object.entries(balances)) {
    await addAccount(store, id, 1);
    const set = { balance_nanodollars: nanodollars };
    await store.db.updateTable("wallet_rows").set(set).where("account_id", "=", toPayerNumber(id)).execute();
  }
  expect(await readOverdrawn(store)).toEqual({ accounts: 2, nanodollars: 3_000_000_015 });
});

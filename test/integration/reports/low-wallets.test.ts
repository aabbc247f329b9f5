import { expect, test } from "bun:test";
import { addPayingAccount, toPayerNumber } from "../../../src/db/index.ts";
import { readLowWallets, readWalletPace } from "../../../src/reports/index.ts";
import { spendingRow } from "../../support/ledger-rows.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;
const today = 20_000;
const now = today * dayMs + dayMs / 2;
const count = 1200;

/** Facts of a wallet by its number: its balance, and what was charged so many days ago. */
function factsOf(number: number) {
  const charges = Array.from({ length: number % 4 }, (_, place) => ({
    daysAgo: ((number * 7 + place * 3) % 10) + (place === 0 ? 0 : 1),
    charged: 1 + ((number * 31 + place) % 500),
  }));
  return { accountId: `acc${String(number).padStart(4, "0")}`, balance: (number * 97) % 2000, charges };
}

test("the wallets that run out first are those of all wallets, in whatever ranges these are read", async () => {
  const store = await temporaryStore();
  const wallets = Array.from({ length: count }, (_, number) => factsOf(number));
  await store.change(async (db) => {
    for (const { accountId, balance, charges } of wallets) {
      const number = toPayerNumber(accountId);
      await addPayingAccount(db, accountId);
      await db.insertInto("wallet_rows").values({ account_id: number, balance_nanodollars: balance }).execute();
      const byDay = Map.groupBy(charges, ({ daysAgo }) => today - daysAgo);
      for (const [day, those] of byDay) {
        const charged = those.reduce((sum, each) => sum + each.charged, 0);
        await db
          .insertInto("spending")
          .values({ ...spendingRow(accountId), day, spent_nanodollars: charged })
          .execute();
      }
    }
  });
  const expected = wallets
    .flatMap(({ accountId, balance, charges }) => {
      const latest = charges.filter(({ daysAgo }) => daysAgo < 7);
      if (latest.length === 0) return [];
      const days = Math.max(...latest.map(({ daysAgo }) => daysAgo)) + 1;
      const daily = Math.round(latest.reduce((sum, each) => sum + each.charged, 0) / days);
      const daysLeft = Math.floor((balance / daily) * 10) / 10;
      return [{ accountId, balanceNanodollars: balance, dailyNanodollars: daily, daysLeft }];
    })
    .filter(({ daysLeft }) => daysLeft < 7)
    .sort((one, other) => one.daysLeft - other.daysLeft || one.balanceNanodollars - other.balanceNanodollars);
  expect(expected.length).toBeGreaterThan(100);
  const keyOf = ({ daysLeft, balanceNanodollars }: (typeof expected)[number]) => [daysLeft, balanceNanodollars];
  const low = await readLowWallets(store, now, 50);
  expect(low.map(keyOf)).toEqual(expected.slice(0, 50).map(keyOf));
  const all = await readLowWallets(store, now, count);
  const byId = (one: { accountId: string }, other: { accountId: string }) => (one.accountId < other.accountId ? -1 : 1);
  expect(all.toSorted(byId)).toEqual(expected.toSorted(byId));
  for (const pace of low.slice(0, 3)) expect(await readWalletPace(store, now, pace.accountId)).toEqual(pace);
});

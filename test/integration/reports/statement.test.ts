import { expect, test } from "bun:test";
import { createAccounts } from "../../../src/accounts/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { readStatement } from "../../../src/reports/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;

test("a statement has a line a movement and a line a day of charges, and ends with the balance", async () => {
  const store = await temporaryStore();
  const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
  const { id: accountId } = await createAccounts({ store, defaults }).create({ email: "ada@example.org" });
  await creditWallet(store, { accountId, nanodollars: 100, note: "first" }, () => 5);
  await creditWallet(store, { accountId, nanodollars: -10, note: "back" }, () => dayMs + 5);
  const charges = [
    { day: 0, charged_nanodollars: 9 },
    { day: 1, charged_nanodollars: 1 },
  ];
  await store.db
    .insertInto("daily_charges")
    .values(charges.map((charge) => ({ account_id: accountId, ...charge })))
    .execute();
  expect(await readStatement(store, accountId)).toEqual([
    { at: 2 * dayMs - 1, kind: "charges", nanodollars: -1, note: undefined, balanceNanodollars: 80 },
    { at: dayMs + 5, kind: "debit", nanodollars: -10, note: "back", balanceNanodollars: 81 },
    { at: dayMs - 1, kind: "charges", nanodollars: -9, note: undefined, balanceNanodollars: 91 },
    { at: 5, kind: "credit", nanodollars: 100, note: "first", balanceNanodollars: 100 },
  ]);
});

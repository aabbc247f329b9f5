import { expect, test } from "bun:test";
import { createAccounts } from "../../../src/keys/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { readStatement } from "../../../src/reports/index.ts";
import { addCharge } from "../../support/ledger-rows.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;

test("a statement has a line a movement and a line a day of charges, and ends with the balance", async () => {
  const store = await temporaryStore();
  const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
  const { id: accountId } = await createAccounts({ store, defaults }).create({ email: "ada@example.org" });
  const credit = (nanodollars: number, note: string, at: number) =>
    creditWallet(store, { accountId, nanodollars, note, reference: note }, () => at);
  await credit(100, "first", 5);
  await credit(-10, "back", dayMs + 5);
  await addCharge(store, accountId, 0, 9);
  await addCharge(store, accountId, 1, 1);
  expect(await readStatement(store, accountId)).toEqual([
    { at: 2 * dayMs - 1, kind: "charges", nanodollars: -1, note: undefined, balanceNanodollars: 80 },
    {
      id: `credit:${accountId}:back`,
      at: dayMs + 5,
      kind: "debit",
      nanodollars: -10,
      note: "back",
      balanceNanodollars: 81,
    },
    { at: dayMs - 1, kind: "charges", nanodollars: -9, note: undefined, balanceNanodollars: 91 },
    {
      id: `credit:${accountId}:first`,
      at: 5,
      kind: "credit",
      nanodollars: 100,
      note: "first",
      balanceNanodollars: 100,
    },
  ]);
});

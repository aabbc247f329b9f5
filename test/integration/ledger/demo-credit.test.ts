import { expect, test } from "bun:test";
import { moveWallet, type Store } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { creditWallet, giveDemoCredit, readWalletState, takeDemoCredit } from "../../../src/ledger/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const now = () => 5;

async function openAccount() {
  const store = await temporaryStore();
  const { id } = await createAccounts({ store, defaults }).create({ email: "ada@example.org" });
  return { store, id };
}

const balanceOf = async (store: Store, id: string) => (await readWalletState(store, id)).balanceNanodollars;
const charge = (store: Store, id: string, nanodollars: number) =>
  store.change((db) => moveWallet(db, id, -nanodollars));

test("demo credit is given once, to one account, and its entry says what it is", async () => {
  const { store, id } = await openAccount();
  await giveDemoCredit(store, id, now);
  await giveDemoCredit(store, id, now);
  const other = await createAccounts({ store, defaults }).create({ email: "ben@example.org" });
  await giveDemoCredit(store, other.id, now);
  expect(await balanceOf(store, id)).toBe(10e9);
  expect(await balanceOf(store, other.id)).toBe(0);
  const entries = await store.db.selectFrom("transactions").select(["kind", "note"]).execute();
  expect(entries).toEqual([{ kind: "credit", note: "Demo credit for the sandbox, not real money" }]);
});

test("what simulated calls left of it is taken back once, and other money stays whole", async () => {
  for (const [charged, left] of [
    [0, 25e9],
    [3e9, 25e9],
    [10e9, 25e9],
    [12e9, 23e9],
  ] as const) {
    const { store, id } = await openAccount();
    await giveDemoCredit(store, id, now);
    await creditWallet(store, { accountId: id, nanodollars: 25e9, note: "Invoice 1" }, now);
    await charge(store, id, charged);
    await takeDemoCredit(store, now);
    expect([charged, await balanceOf(store, id)]).toEqual([charged, left]);
    await charge(store, id, 1);
    await takeDemoCredit(store, now);
    expect(await balanceOf(store, id)).toBe(left - 1);
  }
});

test("nothing is taken where none was given", async () => {
  const { store, id } = await openAccount();
  await creditWallet(store, { accountId: id, nanodollars: 5, note: "Invoice 1" }, now);
  await takeDemoCredit(store, now);
  expect(await balanceOf(store, id)).toBe(5);
});

import { describe, expect, test } from "bun:test";
import {
  creditWallet,
  giveDemoCredit,
  readReversed,
  readWalletState,
  reverseCredit,
  verifyLedger,
  whyIrreversible,
} from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engine, temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, ledgerFixture } from "./fixture.ts";

const credit = { accountId: "acc_1", nanodollars: 50_000, note: "top-up", reference: "invoice 7" };
const transactionId = "credit:acc_1:invoice 7";

describe("reverseCredit", () => {
  test("takes a credit back as a whole, with an entry, and the ledger adds up", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1");
    await creditWallet(store, { ...credit, nanodollars: 5, reference: "other" });
    await creditWallet(store, credit);
    expect(await reverseCredit(store, { transactionId }, () => 9)).toEqual({
      entryId: `reversal:${transactionId}`,
      accountId: "acc_1",
      nanodollars: -50_000,
      note: "Reversal: top-up",
      balanceNanodollars: 5,
    });
    const entry = store.db.selectFrom("transactions").selectAll().where("id", "=", `reversal:${transactionId}`);
    expect(await entry.executeTakeFirst()).toMatchObject({ kind: "debit", amount_nanodollars: -50_000, at: 9 });
    expect([...(await readReversed(store, "acc_1"))]).toEqual([transactionId]);
    expect((await verifyLedger(store)).differences).toEqual([]);
    // Its reference stays used: a repeated payment does not bring it back.
    expect(await creditWallet(store, credit)).toMatchObject({ repeated: true, balanceNanodollars: 5 });
  });

  test("is refused a second time, and moves nothing then", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1");
    await creditWallet(store, credit);
    await reverseCredit(store, { transactionId }, () => 9);
    const error = await errorOf(reverseCredit(store, { transactionId, note: "again" }, () => 10));
    expect(error).toMatchObject({ code: "conflict", param: "transaction_id" });
    expect(error.message).toBe(`Cannot reverse ${transactionId}: It was already reversed`);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(0);
  });

  test("counts once when the same credit is reversed several times at once, and by another process", async () => {
    const file = temporaryFile();
    const stores = [await temporaryStore(file), await temporaryStore(file)];
    const [one, other] = stores as [(typeof stores)[number], (typeof stores)[number]];
    await addAccount(one, "acc_1");
    await creditWallet(one, credit);
    const race = (raced: typeof stores) =>
      Promise.allSettled(
        [...raced, ...raced, ...raced].map((store) => reverseCredit(store, { transactionId }, () => 9)),
      );
    // Two connections to one SQLite file wait for each other's lock, which here blocks the thread that would release it.
    const ended = engine === "sqlite" ? [...(await race([one])), ...(await race([other]))] : await race(stores);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const end of ended) {
      if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "conflict" });
    }
    expect((await readWalletState(one, "acc_1")).balanceNanodollars).toBe(0);
    expect((await verifyLedger(one)).differences).toEqual([]);
  });

  test("leaves the balance below zero where it was spent, and running calls keep what they hold", async () => {
    const { store, ledger } = await ledgerFixture();
    await addAccount(store, "acc_1");
    await creditWallet(store, credit);
    await ledger.sync();
    await ledger.admit(createAdmission({ accountId: "acc_1", holdNanodollars: 300 }));
    await creditWallet(store, { ...credit, nanodollars: -70, reference: "spent" });
    expect((await reverseCredit(store, { transactionId }, () => 9)).balanceNanodollars).toBe(-70);
    await ledger.sync();
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: -70, heldNanodollars: 300 });
    const refused = await errorOf(ledger.admit(createAdmission({ accountId: "acc_1", holdNanodollars: 1 })));
    expect(refused).toMatchObject({ code: "insufficient_balance" });
  });

  test("refuses what is no credit by hand, with the reason, and moves nothing", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1");
    await addAccount(store, "acc_2");
    await creditWallet(store, { ...credit, nanodollars: -7, reference: "debit" });
    await creditWallet(store, { ...credit, reference: "stripe:cs_1", isPayment: true });
    await giveDemoCredit(store, "acc_1", () => 5);
    await store.db
      .insertInto("transactions")
      .values({ id: "voucher:v1", account_id: "acc_1", kind: "credit", amount_nanodollars: 3, note: "Voucher", at: 6 })
      .execute();
    await creditWallet(store, credit);
    const { entryId } = await reverseCredit(store, { transactionId }, () => 9);
    const before = await readWalletState(store, "acc_1");
    for (const [id, says] of [
      ["credit:acc_1:debit", "It is a debit"],
      ["payment:acc_1:stripe:cs_1", "refund it there"],
      ["credit:acc_1:sandbox-demo", "It is the demo credit"],
      ["voucher:v1", "It belongs to a voucher"],
      [entryId, "It is a debit"],
    ] as const) {
      const error = await errorOf(reverseCredit(store, { transactionId: id }, () => 10));
      expect([id, error]).toMatchObject([id, { code: "conflict" }]);
      expect(error.message).toContain(says);
    }
    for (const target of [{ transactionId: "credit:acc_1:none" }, { transactionId, accountId: "acc_2" }]) {
      expect(await errorOf(reverseCredit(store, target, () => 10))).toMatchObject({ code: "not_found" });
    }
    expect(await readWalletState(store, "acc_1")).toEqual(before);
  });
});

test("a list says of each transaction whether it can be reversed", () => {
  const reversed = new Set([transactionId]);
  const why = (id: string, nanodollars = 1) => whyIrreversible({ id, nanodollars }, reversed);
  expect([why(transactionId), why("credit:acc_1:x"), why("credit:acc_1:x", -1), why("voucher:x")]).toEqual([
    "reversed",
    undefined,
    "debit",
    "voucher",
  ]);
  // Only the demo credit itself, and only payments themselves.
  expect([why("credit:acc_1:sandbox-demo"), why("credit:acc_1:not:sandbox-demo")]).toEqual(["demo_credit", undefined]);
  expect([why("payment:acc_1:stripe:cs_1"), why("credit:acc_1:stripe:cs_1")]).toEqual(["payment", undefined]);
});

test("verify names a reversal that takes back another amount, or the credit of another account", async () => {
  const store = await temporaryStore();
  await addAccount(store, "acc_1");
  await addAccount(store, "acc_2");
  await creditWallet(store, credit);
  await creditWallet(store, { ...credit, reference: "second" });
  await reverseCredit(store, { transactionId }, () => 9);
  await reverseCredit(store, { transactionId: "credit:acc_1:second" }, () => 9);
  const change = (id: string, set: { amount_nanodollars: number } | { account_id: string }) =>
    store.db.updateTable("transactions").set(set).where("id", "=", `reversal:${id}`).execute();
  await change(transactionId, { amount_nanodollars: -49_000 });
  await change("credit:acc_1:second", { account_id: "acc_2" });
  const { differences } = await verifyLedger(store);
  expect(differences.filter((text) => text.startsWith("Transaction"))).toEqual([
    `Transaction reversal:${transactionId} takes back 0.000049 USD, its credit is 0.00005 USD`,
    "Transaction reversal:credit:acc_1:second takes back 0.00005 USD: its account has no such credit",
  ]);
});

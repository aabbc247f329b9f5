import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { creditWallet, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, ledgerFixture } from "./fixture.ts";

const credit = { accountId: "acc_1", nanodollars: 70, note: "top-up" };

describe("creditWallet", () => {
  test("adds and takes away, with an entry each, also below zero", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1");
    expect(await creditWallet(store, credit, () => 5)).toMatchObject({ balanceNanodollars: 70, repeated: false });
    expect(await creditWallet(store, { ...credit, nanodollars: -100, note: "mistake" })).toMatchObject({
      balanceNanodollars: -30,
    });
    const entries = await store.db.selectFrom("transactions").select(["kind", "amount_nanodollars", "note"]).execute();
    expect(entries.map((entry) => `${entry.kind} ${entry.amount_nanodollars} ${entry.note}`).sort()).toEqual([
      "credit 70 top-up",
      "debit -100 mistake",
    ]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: -30, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("counts a repeated reference once, and one without a reference each time", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1");
    await addAccount(store, "acc_2");
    const paid = { ...credit, reference: "invoice 7" };
    const first = await creditWallet(store, paid);
    expect(await creditWallet(store, paid)).toEqual({ ...first, repeated: true });
    expect((await creditWallet(store, { ...paid, accountId: "acc_2" })).repeated).toBe(false);
    await creditWallet(store, credit);
    expect((await creditWallet(store, credit)).balanceNanodollars).toBe(210);
    const error = await errorOf(creditWallet(store, { ...paid, nanodollars: 71 }));
    expect(error).toMatchObject({ code: "conflict" });
    expect(error.message).toBe(
      "Reference invoice 7 was used for 0.00000007 USD and cannot be for 0.000000071 USD; use another reference",
    );
  });

  test("counts a reference once also when two processes use it", async () => {
    const file = temporaryFile();
    const [one, other] = [await temporaryStore(file), await temporaryStore(file)];
    await addAccount(one, "acc_1");
    const paid = { ...credit, reference: "invoice 7" };
    const first = await creditWallet(one, paid);
    const second = await creditWallet(other, paid);
    expect([first.repeated, second.repeated]).toEqual([false, true]);
  });

  test.each([
    ["nothing", { nanodollars: 0 }, "0 nanodollars is not a whole number other than 0"],
    ["half a nanodollar", { nanodollars: 0.5 }, "0.5 nanodollars is not"],
    ["no number", { nanodollars: Number.NaN }, "NaN nanodollars is not"],
    ["more than 2^53", { nanodollars: 2 ** 53 }, "9007199254740992 nanodollars is not"],
    ["less than -2^53", { nanodollars: -(2 ** 53) }, "-9007199254740992 nanodollars is not"],
    ["a sum over 2^53", { nanodollars: 2 ** 53 - 70 }, "the balance of 0.00000007 USD would leave the range"],
    ["an empty reference", { reference: "" }, "the reference has 0 characters"],
    ["a long reference", { reference: "x".repeat(201) }, "the reference has 201 characters"],
    ["a long note", { note: "x".repeat(501) }, "the note has 501 characters"],
  ])("refuses %s and writes nothing", async (_what, fields, reason) => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1", 70);
    const error = await errorOf(creditWallet(store, { ...credit, ...fields }));
    expect(error).toBeInstanceOf(GatewayError);
    expect(error.message).toStartWith(`Cannot move the wallet: ${reason}`);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 70, heldNanodollars: 0 });
  });

  test("takes up to 2^53 - 1 nanodollars exactly", async () => {
    const store = await temporaryStore();
    await addAccount(store, "acc_1", Number.MAX_SAFE_INTEGER);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(Number.MAX_SAFE_INTEGER);
  });

  test("refuses an unknown account", async () => {
    const store = await temporaryStore();
    expect((await errorOf(creditWallet(store, credit))).message).toBe("Account acc_1 does not exist");
    expect((await verifyLedger(store)).counts.transactions).toBe(0);
  });

  test("is seen at once by the ledger of its process", async () => {
    const { store, ledger } = await ledgerFixture();
    await addAccount(store, "acc_1");
    expect(await errorOf(ledger.admit(createAdmission()))).toMatchObject({ code: "insufficient_balance" });
    await creditWallet(store, credit);
    expect((await ledger.admit(createAdmission())).heldNanodollars).toBe(10);
  });
});

describe("a ledger whose store another process writes to", () => {
  test("sees a credit before it refuses a call, beside what it holds itself", async () => {
    const file = temporaryFile();
    const { store, ledger } = await ledgerFixture(file);
    const outside = await temporaryStore(file);
    await addAccount(store, "acc_1", 10);
    await ledger.admit(createAdmission());
    await creditWallet(outside, credit);
    await ledger.admit(createAdmission());
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 80, heldNanodollars: 20 });
    expect(await readWalletState(outside, "acc_1")).toEqual({ balanceNanodollars: 80, heldNanodollars: 20 });
  });

  test("refuses what the store does not have either, with nothing held for it", async () => {
    const file = temporaryFile();
    const { store, ledger } = await ledgerFixture(file);
    await addAccount(store, "acc_1", 10);
    await ledger.admit(createAdmission());
    for (let times = 0; times < 3; times++) {
      expect(await errorOf(ledger.admit(createAdmission()))).toMatchObject({ code: "insufficient_balance" });
    }
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 10, heldNanodollars: 10 });
  });
});

import { expect, test } from "bun:test";
import type { LedgerWrite, Store } from "../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement } from "./fixture.ts";

/** A store that takes the next end of a call, and whose answer to that is lost. */
function losingOneAnswer(store: Store): Store {
  let lost = false;
  const writeLedger = async (batch: readonly LedgerWrite[]) => {
    const refused = await store.writeLedger(batch);
    if (lost || batch.every(({ kind }) => kind === "open")) return refused;
    lost = true;
    throw new Error("Connection lost");
  };
  return Object.create(store, { writeLedger: { value: writeLedger } }) as Store;
}

test("a charge whose answer was lost stands once, also where the account was read anew before the next try", async () => {
  const store = await temporaryStore();
  const ledger = new ProcessLedger({ store: losingOneAnswer(store) });
  await addAccount(store, "acc_1", 100);
  const admission = createAdmission();
  await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId));
  store.bumpRevision();
  await ledger.readWalletState("acc_1");
  expect(await ledger.sync()).toBe(0);
  expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
  expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
  expect((await verifyLedger(store)).ok).toBe(true);
});

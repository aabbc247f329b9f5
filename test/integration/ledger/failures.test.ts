import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../src/contract/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { readOnlyDisk } from "./disks.ts";
import { addAccount, createAdmission, createSettlement, ledgerFixture } from "./fixture.ts";

describe("when the disk takes no writes", () => {
  test("a call is refused with 503 and nothing is held, nothing counted", async () => {
    const { store, ledger, readOnly } = await readOnlyDisk();
    await addAccount(store, "acc_1", 100);
    await readOnly(true);
    const claims = [createAdmission({ limitTokens: 5 }), createAdmission({ premium: false })];
    const errors = (await Promise.all(claims.map((admission) => errorOf(ledger.admit(admission))))) as GatewayError[];
    for (const error of errors) {
      expect([error.code, error.status, error.retryAfterMs]).toEqual(["unavailable", 503, 1000]);
      expect(error.message).toBe("The call could not be recorded, so it was not made; try again");
      expect((error.cause as Error).message).toContain("readonly");
    }
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 0 });
    expect(await ledger.readQuotaState(createAdmission().caller)).toMatchObject({ usedTokens: 0, heldTokens: 0 });
    expect(await ledger.readLimitState(createAdmission().caller)).toMatchObject({
      remainingRequests: 1e6,
      remainingTokens: 1e9,
    });
    await readOnly(false);
    await ledger.admit(claims[0] as (typeof claims)[number]);
  });

  test("a charge is kept, still counts, and is written once when the disk is back", async () => {
    const { store, ledger, readOnly } = await readOnlyDisk();
    await addAccount(store, "acc_1", 100);
    const claims = [createAdmission(), createAdmission({ premium: false })];
    for (const admission of claims) await ledger.admit(admission);
    await readOnly(true);
    // The answer of a call that will be charged is given out.
    for (const { callId } of claims) await ledger.settle(createSettlement(callId));
    await ledger.settle(createSettlement(claims[0]?.callId as string));
    expect(await ledger.sync()).toBe(2);
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    expect(await ledger.readQuotaState(createAdmission().caller)).toMatchObject({ usedTokens: 10, heldTokens: 0 });
    await readOnly(false);
    expect(await ledger.sync()).toBe(0);
    await ledger.settle(createSettlement(claims[0]?.callId as string));
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("a credit from elsewhere and a charge that is not written yet both count, once", async () => {
    const { store, ledger, readOnly } = await readOnlyDisk();
    await addAccount(store, "acc_1", 100);
    const admission = createAdmission();
    await ledger.admit(admission);
    await readOnly(true);
    await ledger.settle(createSettlement(admission.callId));
    store.bumpRevision();
    expect((await ledger.readWalletState("acc_1")).balanceNanodollars).toBe(90);
    await readOnly(false);
    await ledger.sync();
    store.bumpRevision();
    expect((await ledger.readWalletState("acc_1")).balanceNanodollars).toBe(90);
  });

  test("closing says which charges could not be written", async () => {
    const { store, ledger, readOnly } = await readOnlyDisk();
    await addAccount(store, "acc_1", 100);
    const admission = createAdmission();
    await ledger.admit(admission);
    await readOnly(true);
    await ledger.settle(createSettlement(admission.callId));
    expect((await errorOf(ledger.close())).message).toBe(`Cannot write the charges of 1 calls: ${admission.callId}`);
  });
});

test("a disk that takes the ends of some calls admits no more until it has taken those that wait", async () => {
  const { store } = await ledgerFixture();
  await addAccount(store, "acc_1", 100);
  const [large, small, next] = [createAdmission(), createAdmission(), createAdmission()];
  let isFull = true;
  const writeLedger: Store["writeLedger"] = (batch, onCommitted) => {
    const hasLarge = batch.some((write) => write.kind === "end" && write.open.callId === large.callId);
    if (isFull && hasLarge) return Promise.reject(new Error("database or disk is full"));
    return store.writeLedger(batch, onCommitted);
  };
  const ledger = new ProcessLedger({ store: Object.create(store, { writeLedger: { value: writeLedger } }) as Store });
  for (const admission of [large, small]) await ledger.admit(admission);
  await ledger.settle(createSettlement(large.callId));
  await ledger.settle(createSettlement(small.callId));
  expect(((await errorOf(ledger.admit(next))) as GatewayError).status).toBe(503);
  isFull = false;
  await ledger.admit(next);
  await ledger.settle(createSettlement(next.callId));
  expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 70, heldNanodollars: 0 });
  expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { open: 0 } });
});

test("a call whose id another running call has takes no other call of its batch with it", async () => {
  const { store, ledger } = await ledgerFixture();
  await addAccount(store, "acc_1", 100);
  const taken = createAdmission();
  await new ProcessLedger({ store }).admit(taken);
  const others = [createAdmission(), createAdmission()];
  const outcomes = await Promise.allSettled([taken, ...others].map((admission) => ledger.admit(admission)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 20 });
});

test("a closed ledger admits nothing and still settles what runs", async () => {
  const { store, ledger } = await ledgerFixture();
  await addAccount(store, "acc_1", 100);
  const admission = createAdmission();
  await ledger.admit(admission);
  await ledger.close();
  expect(((await errorOf(ledger.admit(createAdmission()))) as GatewayError).code).toBe("unavailable");
  await ledger.settle(createSettlement(admission.callId));
  expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(90);
});

test("an account that cannot be read is 503 and not a refusal of money", async () => {
  const { store, ledger } = await ledgerFixture();
  await store.close();
  expect(((await errorOf(ledger.admit(createAdmission()))) as GatewayError).code).toBe("unavailable");
});

test("accounts beyond the bound are forgotten when idle, and kept while they hold or are limited", async () => {
  const { store, clock } = await ledgerFixture();
  const ledger = new ProcessLedger({ store, now: () => clock.time, accountsMax: 2 });
  await addAccount(store, "acc_1", 100);
  const busy = createAdmission();
  await ledger.admit(busy);
  for (let i = 2; i < 50; i++) {
    await addAccount(store, `acc_${i}`);
    await ledger.admit(createAdmission({ accountId: `acc_${i}`, premium: false, requestsPerMinute: 1 }));
  }
  expect((await ledger.readWalletState("acc_1")).heldNanodollars).toBe(10);
  const again = createAdmission({ accountId: "acc_9", premium: false, requestsPerMinute: 1 });
  expect(((await errorOf(ledger.admit(again))) as GatewayError).code).toBe("rate_limit_exceeded");
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Extension, GatewayError } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { createAdmission, createSettlement } from "./admissions.ts";
import { engineNames, historyCount, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, dayMs, ledgerFixture, readOwnBudgets } from "./fixture.ts";

const engines = useEngines();

function createExtension(callId: string, amount: number, least = amount, limitTokens = 1): Extension {
  return {
    callId,
    holdNanodollars: amount,
    minNanodollars: least,
    holdTokens: amount,
    minTokens: least,
    limitTokens,
  };
}

const month = 31 * dayMs;

describe.each(engineNames)("an extended hold: %s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  async function fixture(nanodollars: number) {
    const fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", nanodollars);
    return fixture;
  }

  test("of nothing, for what costs nothing, needs no money and no budget, also when it is extended", async () => {
    const { store, ledger } = await fixture(5);
    const free = { holdNanodollars: 0, minNanodollars: 0 };
    const budgets = {
      keyLimits: { budgetNanodollars: 5, budgetPeriod: "month" as const },
      accountBudget: { limitNanodollars: 5, period: "month" as const },
    };
    const paid = await ledger.admit(createAdmission({ holdNanodollars: 5, ...budgets }));
    // More than was held: the wallet is below zero.
    await ledger.settle(createSettlement(paid.callId, { costNanodollars: 8 }));
    for (const limits of [{}, budgets]) {
      const admission = createAdmission({ ...free, ...limits });
      expect(await ledger.admit(admission)).toMatchObject({ heldNanodollars: 0, availableNanodollars: 0 });
      expect(await ledger.extend(createExtension(admission.callId, 0))).toEqual({ heldNanodollars: 0, heldTokens: 0 });
      const refused = await errorOf(ledger.extend(createExtension(admission.callId, 1)));
      expect((refused as GatewayError).code).toBe(limits === budgets ? "budget_exceeded" : "insufficient_balance");
      await ledger.settle(createSettlement(admission.callId, { costNanodollars: 0 }));
      const priced = await errorOf(ledger.admit(createAdmission({ holdNanodollars: 1, minNanodollars: 0, ...limits })));
      expect((priced as GatewayError).code).toBe(limits === budgets ? "budget_exceeded" : "insufficient_balance");
    }
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: -3, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("is what was asked for, then what is left, then refused and kept; and is charged once", async () => {
    const { store, ledger } = await fixture(100);
    const { callId, ...rest } = createAdmission();
    const hold = await ledger.admit({ callId, ...rest });
    expect(hold).toMatchObject({ heldNanodollars: 10, availableNanodollars: 100, availableTokens: 0 });
    expect(await ledger.extend(createExtension(callId, 60))).toEqual({ heldNanodollars: 60, heldTokens: 0 });
    expect(await ledger.extend(createExtension(callId, 160, 61))).toEqual({ heldNanodollars: 100, heldTokens: 0 });
    const refused = await errorOf(ledger.extend(createExtension(callId, 160, 101)));
    expect((refused as GatewayError).code).toBe("insufficient_balance");
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 100 });
    // SQLite writes it with the next batch, for which nothing waits.
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 100 });
    const settlement = createSettlement(callId, { costNanodollars: 70 });
    await Promise.all([ledger.settle(settlement), ledger.settle(settlement)]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 30, heldNanodollars: 0 });
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 30, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
    const ended = await errorOf(ledger.extend(createExtension(callId, 200)));
    expect(ended.message).toContain("it does not run");
  });

  test("is bounded by the budget of the key too", async () => {
    const { store, ledger } = await fixture(1000);
    const keyLimits = { budgetNanodollars: 50 };
    const admission = createAdmission({ keyLimits });
    const { callId } = admission;
    expect(await ledger.admit(admission)).toMatchObject({ heldNanodollars: 10, availableNanodollars: 50 });
    const other = createAdmission({ keyLimits });
    expect(await ledger.admit(other)).toMatchObject({ heldNanodollars: 10, availableNanodollars: 40 });
    expect((await ledger.extend(createExtension(callId, 60, 20))).heldNanodollars).toBe(40);
    const refused = await errorOf(ledger.extend(createExtension(callId, 60, 41)));
    expect((refused as GatewayError).code).toBe("budget_exceeded");
    await ledger.settle(createSettlement(callId, { costNanodollars: 40 }));
    await ledger.settle(createSettlement(other.callId));
    expect((await readOwnBudgets(ledger, admission.caller)).budget).toMatchObject({
      spentNanodollars: 50,
      heldNanodollars: 0,
    });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("is bounded by the daily quota, which other calls hold too", async () => {
    const { store, ledger } = await fixture(0);
    const [admission, other] = [createAdmission({ premium: false }), createAdmission({ premium: false })];
    const { callId } = admission;
    expect(await ledger.admit(admission)).toMatchObject({ heldTokens: 10, availableTokens: 100 });
    expect(await ledger.admit(other)).toMatchObject({ heldTokens: 10, availableTokens: 90 });
    expect(await ledger.extend(createExtension(callId, 200, 20))).toEqual({ heldNanodollars: 0, heldTokens: 90 });
    const refused = await errorOf(ledger.extend(createExtension(callId, 200, 91)));
    expect((refused as GatewayError).code).toBe("quota_exceeded");
    expect(((await errorOf(ledger.admit(createAdmission({ premium: false })))) as GatewayError).code).toBe(
      "quota_exceeded",
    );
    await ledger.settle(createSettlement(callId, { quotaTokens: 85 }));
    await ledger.settle(createSettlement(other.callId));
    expect(await ledger.readQuotaState(admission.caller)).toMatchObject({ usedTokens: 95, heldTokens: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("after midnight all of the free quota that it holds is of the new day", async () => {
    const { store, ledger, clock } = await fixture(1000);
    const [admission, other] = [createAdmission({ premium: false }), createAdmission({ premium: false })];
    await ledger.admit(admission);
    await ledger.admit(other);
    clock.time += dayMs;
    expect((await ledger.extend(createExtension(admission.callId, 90))).heldTokens).toBe(90);
    // The other call still holds of the day before.
    expect((await ledger.extend(createExtension(admission.callId, 100))).heldTokens).toBe(100);
    const refused = await errorOf(ledger.extend(createExtension(other.callId, 20)));
    expect((refused as GatewayError).code).toBe("quota_exceeded");
    await ledger.settle(createSettlement(admission.callId, { quotaTokens: 95 }));
    await ledger.settle(createSettlement(other.callId));
    expect(await ledger.readQuotaState(admission.caller)).toMatchObject({ usedTokens: 95, heldTokens: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("in a new month it counts in the budget of the month in which it began", async () => {
    const { store, ledger, clock } = await fixture(1000);
    const keyLimits = { budgetNanodollars: 100 };
    const [admission, other] = [createAdmission({ keyLimits }), createAdmission({ keyLimits })];
    await ledger.admit(admission);
    await ledger.admit(other);
    clock.time += month;
    expect((await ledger.extend(createExtension(admission.callId, 90))).heldNanodollars).toBe(90);
    const refused = await errorOf(ledger.extend(createExtension(admission.callId, 100)));
    expect((refused as GatewayError).code).toBe("budget_exceeded");
    const ofNewMonth = createAdmission({ keyLimits, holdNanodollars: 100, openedAt: clock.time });
    expect((await ledger.admit(ofNewMonth)).heldNanodollars).toBe(100);
    await ledger.settle(createSettlement(admission.callId, { costNanodollars: 85 }));
    await ledger.settle(createSettlement(other.callId));
    const { budget } = await readOwnBudgets(ledger, admission.caller);
    expect(budget).toMatchObject({ spentNanodollars: 0, heldNanodollars: 100 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("its tokens count against the minute once, also beyond the limit, and are corrected at the end", async () => {
    const { ledger } = await fixture(1000);
    const admission = createAdmission({ tokensPerMinute: 100, limitTokens: 20 });
    const { caller, callId } = admission;
    await ledger.admit(admission);
    await ledger.extend(createExtension(callId, 20, 20, 70));
    expect((await ledger.readLimitState(caller)).remainingTokens).toBe(30);
    await ledger.extend(createExtension(callId, 30, 30, 170));
    expect((await ledger.readLimitState(caller)).remainingTokens).toBe(0);
    const refused = await errorOf(ledger.admit(createAdmission({ tokensPerMinute: 100 })));
    expect((refused as GatewayError).code).toBe("rate_limit_exceeded");
    await ledger.settle(createSettlement(callId, { meters: { inputToken: 10, outputToken: 30 } }));
    expect((await ledger.readLimitState(caller)).remainingTokens).toBe(60);
  });

  test("a call that ends while it is extended gives all of it back", async () => {
    const { store, ledger } = await fixture(100);
    const admission = createAdmission();
    await ledger.admit(admission);
    const extending = ledger.extend(createExtension(admission.callId, 80));
    await Promise.all([extending, ledger.settle(createSettlement(admission.callId))]);
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("the sum of holds never exceeds balance, budget or quota, in any order of extensions", async () => {
    const budget = 80;
    const step = fc.record({
      key: fc.constantFrom("key_1", "key_2"),
      premium: fc.boolean(),
      steps: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
      share: fc.integer({ min: 0, max: 100 }),
      waits: fc.nat(8),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (calls) => {
        const { store, ledger } = await fixture(150);
        const caller = createAdmission({ keyLimits: { budgetNanodollars: budget } }).caller;
        const check = async () => {
          const { balanceNanodollars, heldNanodollars } = await ledger.readWalletState("acc_1");
          expect(heldNanodollars).toBeLessThanOrEqual(balanceNanodollars);
          const { usedTokens, heldTokens } = await ledger.readQuotaState(caller);
          expect(usedTokens + heldTokens).toBeLessThanOrEqual(100);
        };
        const running = calls.map(async ({ key: keyId, premium, steps, share, waits }) => {
          const admission = createAdmission({ keyId, premium, keyLimits: { budgetNanodollars: budget } });
          const outcome = await ledger.admit(admission).catch((error: unknown) => error);
          if (outcome instanceof GatewayError) return;
          if (outcome instanceof Error) throw outcome;
          let held = (outcome as { heldNanodollars: number; heldTokens: number }) ?? {};
          for (const more of steps) {
            for (let i = 0; i < waits; i++) await new Promise(setImmediate);
            const before = premium ? held.heldNanodollars : held.heldTokens;
            const extended = await ledger
              .extend(createExtension(admission.callId, before + more, before + 1))
              .catch((error: unknown) => error);
            if (extended instanceof GatewayError) break;
            if (extended instanceof Error) throw extended;
            held = extended as typeof held;
            const now = premium ? held.heldNanodollars : held.heldTokens;
            expect(now).toBeGreaterThan(before);
            expect(now).toBeLessThanOrEqual(before + more);
            await check();
          }
          const amount = Math.ceil(((premium ? held.heldNanodollars : held.heldTokens) * share) / 100);
          await ledger.settle(
            createSettlement(admission.callId, { costNanodollars: premium ? amount : 0, quotaTokens: amount }),
          );
        });
        await Promise.all(running);
        const { balanceNanodollars, heldNanodollars } = await ledger.readWalletState("acc_1");
        expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
        expect(heldNanodollars).toBe(0);
        expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars, heldNanodollars });
        for (const { charged_nanodollars } of await store.db.selectFrom("key_charges").selectAll().execute()) {
          expect(charged_nanodollars).toBeLessThanOrEqual(budget);
        }
        expect((await verifyLedger(store)).differences).toEqual([]);
        await store.close();
      }),
      { numRuns: historyCount },
    );
  });
});

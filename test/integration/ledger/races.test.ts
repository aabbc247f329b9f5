import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError, type Hold } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, historyCount, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, createAdmission, createSettlement, ledgerFixture, readOwnBudgets } from "./fixture.ts";

const engines = useEngines();

const budget = 80;

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  describe("64 calls at once", () => {
    test("on a wallet for ten and a half: ten full holds, one of what is left, the rest refused", async () => {
      const { store, ledger } = await ledgerFixture(undefined, make);
      await addAccount(store, "acc_1", 105);
      const claims = Array.from({ length: 64 }, () => createAdmission({ holdNanodollars: 10 }));
      const outcomes = await Promise.allSettled(claims.map((admission) => ledger.admit(admission)));
      const held = outcomes.flatMap((outcome) =>
        outcome.status === "fulfilled" ? [outcome.value.heldNanodollars] : [],
      );
      expect(held).toEqual([...Array.from({ length: 10 }, () => 10), 5]);
      const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
      expect(refused).toEqual(Array.from({ length: 53 }, () => "insufficient_balance"));
      await Promise.all(claims.slice(0, 11).map(({ callId }) => ledger.settle(createSettlement(callId))));
      expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
      expect((await verifyLedger(store)).differences).toEqual([]);
    });

    test("on a quota for ten: ten held, the rest refused", async () => {
      const { ledger } = await ledgerFixture(undefined, make);
      const claims = Array.from({ length: 64 }, () => createAdmission({ premium: false, holdTokens: 10 }));
      const outcomes = await Promise.allSettled(claims.map((admission) => ledger.admit(admission)));
      expect(outcomes.filter((outcome) => outcome.status === "fulfilled").length).toBe(10);
    });

    test("that each settle at once and twice are charged once", async () => {
      const { store, ledger } = await ledgerFixture(undefined, make);
      await addAccount(store, "acc_1", 1000);
      const claims = Array.from({ length: 64 }, () => createAdmission());
      await Promise.all(
        claims.map(async (admission) => {
          await ledger.admit(admission);
          const settlement = createSettlement(admission.callId);
          await Promise.all([ledger.settle(settlement), ledger.settle(settlement)]);
          await ledger.settle(settlement);
        }),
      );
      expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 360, heldNanodollars: 0 });
      expect((await verifyLedger(store)).differences).toEqual([]);
    });
  });

  test("a call that is already running is not admitted again", async () => {
    const { store, ledger } = await ledgerFixture(undefined, make);
    await addAccount(store, "acc_1", 100);
    const admission = createAdmission();
    await ledger.admit(admission);
    expect((await errorOf(ledger.admit(admission))).message).toContain(
      `Cannot admit call ${admission.callId}: it is already running`,
    );
    expect((await ledger.readWalletState("acc_1")).heldNanodollars).toBe(10);
  });

  test("whatever calls cost of what they hold, a wallet and a budget are never overdrawn", async () => {
    const step = fc.record({
      key: fc.constantFrom("key_1", "key_2"),
      hold: fc.integer({ min: 1, max: 60 }),
      least: fc.integer({ min: 0, max: 60 }),
      share: fc.integer({ min: 0, max: 100 }),
      turns: fc.nat(4),
      waits: fc.nat(12),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const { store, ledger } = await ledgerFixture(undefined, make);
        await addAccount(store, "acc_1", 150);
        const running = steps.map(async ({ key: keyId, hold, least, share, turns, waits }) => {
          for (let i = 0; i < waits; i++) await new Promise(setImmediate);
          const keyLimits = { budgetNanodollars: budget };
          const minNanodollars = Math.min(hold, least);
          const admission = createAdmission({ keyId, keyLimits, holdNanodollars: hold, minNanodollars });
          const outcome = await ledger.admit(admission).catch((error: unknown) => error);
          if (outcome instanceof GatewayError) return;
          if (outcome instanceof Error) throw outcome;
          const { heldNanodollars } = outcome as Hold;
          expect(heldNanodollars).toBeGreaterThanOrEqual(minNanodollars);
          for (let i = 0; i < turns; i++) await new Promise(setImmediate);
          const costNanodollars = Math.ceil((heldNanodollars * share) / 100);
          await ledger.settle(createSettlement(admission.callId, { costNanodollars }));
        });
        await Promise.all(running);
        expect((await ledger.readWalletState("acc_1")).balanceNanodollars).toBeGreaterThanOrEqual(0);
        for (const { charged_nanodollars } of await store.db.selectFrom("key_charges").selectAll().execute()) {
          expect(charged_nanodollars).toBeLessThanOrEqual(budget);
        }
        expect((await verifyLedger(store)).differences).toEqual([]);
        await store.close();
      }),
      { numRuns: historyCount },
    );
  });

  test("in any order of holds, settles and credits, balance, held and spent add up, in memory and on disk", async () => {
    const step = fc.record({
      account: fc.constantFrom("acc_1", "acc_2"),
      key: fc.constantFrom("plain", "bounded_1", "bounded_2"),
      premium: fc.boolean(),
      hold: fc.integer({ min: 0, max: 60 }),
      spends: fc.integer({ min: 0, max: 70 }),
      end: fc.constantFrom("settled", "released"),
      turns: fc.integer({ min: 0, max: 3 }),
      waits: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { store, ledger } = await ledgerFixture(undefined, make);
        const spent = new Map([
          ["acc_1", 0],
          ["acc_2", 0],
        ]);
        const paid = new Map<string, number>();
        for (const id of spent.keys()) await addAccount(store, id, 200);
        const running = steps.map(async ({ account, key, premium, hold, spends, end, turns, waits }) => {
          for (let i = 0; i < waits; i++) await new Promise(setImmediate);
          const keyId = `${account}_${key}`;
          const keyLimits = key === "plain" ? undefined : { budgetNanodollars: budget };
          const holds = { premium, holdNanodollars: hold, holdTokens: hold };
          const admission = createAdmission({ accountId: account, keyId, keyLimits, ...holds });
          const before = await ledger.readWalletState(account);
          const outcome = await ledger.admit(admission).catch((error: unknown) => error);
          if (outcome instanceof GatewayError) return;
          if (outcome instanceof Error) throw outcome;
          if (premium) expect(before.balanceNanodollars - before.heldNanodollars).toBeGreaterThan(0);
          for (let i = 0; i < turns; i++) await new Promise(setImmediate);
          await ledger.settle(
            createSettlement(admission.callId, { outcome: end, costNanodollars: spends, quotaTokens: spends }),
          );
          if (premium && end === "settled") spent.set(account, (spent.get(account) as number) + spends);
          if (premium && end === "settled") paid.set(keyId, (paid.get(keyId) ?? 0) + spends);
        });
        await Promise.all(running);
        for (const [keyId, sum] of paid) {
          const caller = createAdmission({
            accountId: keyId.slice(0, 5),
            keyId,
            keyLimits: { budgetNanodollars: budget },
          }).caller;
          expect((await readOwnBudgets(ledger, caller)).budget).toMatchObject({
            spentNanodollars: sum,
            heldNanodollars: 0,
          });
        }
        const days = await store.db.selectFrom("key_charges").select(["key_id", "charged_nanodollars"]).execute();
        const written = new Map(days.map((row) => [row.key_id, row.charged_nanodollars]));
        expect(written).toEqual(new Map([...paid].filter(([, sum]) => sum > 0)));
        for (const [id, sum] of spent) {
          expect(await ledger.readWalletState(id)).toEqual({ balanceNanodollars: 200 - sum, heldNanodollars: 0 });
          expect(await readWalletState(store, id)).toEqual({ balanceNanodollars: 200 - sum, heldNanodollars: 0 });
        }
        expect((await verifyLedger(store)).differences).toEqual([]);
        await store.close();
      }),
      { numRuns: historyCount },
    );
  });
});

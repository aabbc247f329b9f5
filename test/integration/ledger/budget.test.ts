import { describe, expect, test } from "bun:test";
import type { GatewayError, KeyLimits } from "../../../src/contract/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import {
  type AdmissionFields,
  addAccount,
  type BillingFixture,
  createAdmission,
  createSettlement,
  dayMs,
  ledgerFixture,
  newYear,
  readOwnBudgets,
} from "./fixture.ts";

const engines = useEngines();
const keyLimits: KeyLimits = { budgetNanodollars: 100 };
const february = newYear + 31 * dayMs;

async function pay(
  fixture: Pick<BillingFixture, "ledger" | "clock">,
  nanodollars: number,
  fields: AdmissionFields = {},
) {
  const admission = createAdmission({
    keyLimits,
    holdNanodollars: nanodollars,
    openedAt: fixture.clock.time,
    ...fields,
  });
  const hold = await fixture.ledger.admit(admission);
  await fixture.ledger.settle(createSettlement(admission.callId, { costNanodollars: nanodollars }));
  return hold;
}

const budgetOf = async ({ ledger }: Pick<BillingFixture, "ledger">, fields: AdmissionFields = {}) =>
  (await readOwnBudgets(ledger, createAdmission({ keyLimits, ...fields }).caller)).budget;

async function daysOf({ store }: BillingFixture) {
  const rows = await store.db
    .selectFrom("key_charges")
    .select(["key_id", "day", "charged_nanodollars"])
    .orderBy("day")
    .orderBy("key_id")
    .execute();
  return rows.map((row) => [row.key_id, row.day, row.charged_nanodollars]);
}

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  async function fixture() {
    const made = await ledgerFixture(undefined, make);
    await addAccount(made.store, "acc_1", 1000);
    return made;
  }

  describe("the monthly budget of a key", () => {
    test("pays its last nanodollar by one hold of what is left, and refuses the next call, naming all figures", async () => {
      const made = await fixture();
      await pay(made, 95);
      const last = createAdmission({ keyLimits, holdNanodollars: 10 });
      expect((await made.ledger.admit(last)).heldNanodollars).toBe(5);
      const error = (await errorOf(pay(made, 1))) as GatewayError;
      expect([error.code, error.status, error.retryAfterMs]).toEqual(["budget_exceeded", 403, 31 * dayMs]);
      expect(error.message).toBe(
        "Monthly budget of this key reached: 0.0000001 USD (set for this key), 0.000000095 USD spent and 0.000000005 USD held by running calls, and this request needs up to 0.000000001 USD; it resets at 2026-02-01T00:00:00.000Z; raise the budget, or use another key or a free model",
      );
      await made.ledger.settle(createSettlement(last.callId, { costNanodollars: 12 }));
      expect(await budgetOf(made)).toEqual({
        limitNanodollars: 100,
        spentNanodollars: 107,
        heldNanodollars: 0,
        resetsAt: february,
      });
      expect(await errorOf(pay(made, 1))).toBeDefined();
      expect(await daysOf(made)).toEqual([["key_1", newYear / dayMs, 107]]);
      expect((await verifyLedger(made.store)).differences).toEqual([]);
    });

    test("is freed by a release, and is not asked of a call that costs the account nothing", async () => {
      const made = await fixture();
      const admission = createAdmission({ keyLimits, holdNanodollars: 100 });
      await made.ledger.admit(admission);
      expect(await errorOf(pay(made, 1))).toBeDefined();
      await pay(made, 1, { premium: false });
      await made.ledger.settle(createSettlement(admission.callId, { outcome: "released" }));
      expect(await budgetOf(made)).toMatchObject({ spentNanodollars: 0, heldNanodollars: 0 });
      await pay(made, 100);
      await pay(made, 1, { premium: false });
      expect(await daysOf(made)).toEqual([["key_1", newYear / dayMs, 100]]);
    });

    test("binds its key alone, and what keys without a budget spend is known too", async () => {
      const made = await fixture();
      await pay(made, 100);
      expect(await errorOf(pay(made, 1))).toBeDefined();
      await pay(made, 50, { keyId: "key_2", keyLimits: undefined });
      await pay(made, 50, { keyId: "key_3", keyLimits: { budgetNanodollars: 60 } });
      expect(await daysOf(made)).toEqual([
        ["key_1", newYear / dayMs, 100],
        ["key_2", newYear / dayMs, 50],
        ["key_3", newYear / dayMs, 50],
      ]);
    });

    test("of nothing lets no premium call through", async () => {
      const made = await fixture();
      expect(((await errorOf(pay(made, 1, { keyLimits: { budgetNanodollars: 0 } }))) as GatewayError).code).toBe(
        "budget_exceeded",
      );
    });

    test("never lends what the wallet has not", async () => {
      const made = await fixture();
      const most = { keyLimits: { budgetNanodollars: 5000 } };
      expect((await made.ledger.admit(createAdmission({ ...most, holdNanodollars: 3000 }))).heldNanodollars).toBe(1000);
      expect(((await errorOf(pay(made, 1, most))) as GatewayError).code).toBe("insufficient_balance");
    });

    test("begins anew with the UTC month, to the millisecond", async () => {
      const made = await fixture();
      await pay(made, 100);
      made.clock.time = february - 1;
      expect(await errorOf(pay(made, 1))).toBeDefined();
      made.clock.time = february;
      expect(await budgetOf(made)).toEqual({
        limitNanodollars: 100,
        spentNanodollars: 0,
        heldNanodollars: 0,
        resetsAt: february + 28 * dayMs,
      });
      await pay(made, 100);
      expect(await daysOf(made)).toEqual([
        ["key_1", newYear / dayMs, 100],
        ["key_1", february / dayMs, 100],
      ]);
    });

    test("of the month in which a call began pays for it, though it ends in the next", async () => {
      const made = await fixture();
      made.clock.time = february - 1;
      const admission = createAdmission({ keyLimits, holdNanodollars: 60, openedAt: made.clock.time });
      await made.ledger.admit(admission);
      made.clock.time += 2;
      expect(await budgetOf(made)).toMatchObject({ heldNanodollars: 0 });
      await pay(made, 100);
      await made.ledger.settle(createSettlement(admission.callId, { costNanodollars: 70 }));
      expect(await budgetOf(made)).toMatchObject({ spentNanodollars: 100, heldNanodollars: 0 });
      expect(await daysOf(made)).toEqual([
        ["key_1", february / dayMs - 1, 70],
        ["key_1", february / dayMs, 100],
      ]);
      expect((await verifyLedger(made.store)).differences).toEqual([]);
    });

    test.each([1, 40, 400])(
      "is not minted by a clock that steps back %i days, also after a new start",
      async (days) => {
        const made = await fixture();
        await pay(made, 100);
        made.clock.time -= days * dayMs;
        expect(await errorOf(pay(made, 1))).toBeDefined();
        const again = { ...made, ledger: await make({ store: made.store, now: () => made.clock.time }) };
        expect(await errorOf(pay(again, 1))).toBeDefined();
        made.clock.time = february;
        await pay(again, 100);
        expect((await verifyLedger(made.store)).differences).toEqual([]);
      },
    );

    test("follows a change of it with the next call, and keeps what the month has paid", async () => {
      const made = await fixture();
      await pay(made, 100);
      expect((await pay(made, 100, { keyLimits: { budgetNanodollars: 150 } })).heldNanodollars).toBe(50);
      expect(await errorOf(pay(made, 1, { keyLimits: { budgetNanodollars: 200 } }))).toBeDefined();
      expect(await budgetOf(made)).toMatchObject({ spentNanodollars: 200 });
    });

    test("is known to a ledger that starts later, with what running calls hold", async () => {
      const made = await fixture();
      await pay(made, 40);
      const again = { ...made, ledger: await make({ store: made.store, now: () => made.clock.time }) };
      expect(await budgetOf(again)).toMatchObject({ spentNanodollars: 40 });
      expect((await pay(again, 100)).heldNanodollars).toBe(60);
    });

    test("is raced for by 64 calls: ten whole holds and one of what is left, the others refused", async () => {
      const made = await fixture();
      const claims = Array.from({ length: 64 }, () => createAdmission({ keyLimits: { budgetNanodollars: 105 } }));
      const outcomes = await Promise.allSettled(claims.map((admission) => made.ledger.admit(admission)));
      const held = outcomes.flatMap((outcome) =>
        outcome.status === "fulfilled" ? [outcome.value.heldNanodollars] : [],
      );
      expect(held).toEqual([...Array.from({ length: 10 }, () => 10), 5]);
      const codes = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
      expect(new Set(codes)).toEqual(new Set(["budget_exceeded"]));
    });
  });

  describe("limits of a key of its own", () => {
    const free = { premium: false, holdTokens: 0 };
    const done = async ({ ledger }: BillingFixture, fields: AdmissionFields, meters = {}) => {
      const admission = createAdmission({ ...free, ...fields });
      const hold = await ledger.admit(admission);
      await ledger.settle(createSettlement(admission.callId, { quotaTokens: 0, meters }));
      return hold;
    };

    test("let in their last request and refuse the next, and use up nothing of other keys", async () => {
      const made = await fixture();
      const narrow = { requestsPerMinute: 600, keyLimits: { requestsPerMinute: 2 } };
      await done(made, narrow);
      expect((await done(made, narrow)).limits).toMatchObject({ limitRequests: 2, remainingRequests: 0 });
      const error = (await errorOf(done(made, narrow))) as GatewayError;
      expect([error.code, error.retryAfterMs]).toEqual(["rate_limit_exceeded", 30_000]);
      expect(error.message).toBe("Request limit reached: 2 requests a minute for this key; try again in 30 s");
      for (let i = 0; i < 100; i++) await done(made, { requestsPerMinute: 600, keyId: "key_2" });
      made.clock.time += 30_000;
      await done(made, narrow);
    });

    test("let in their last token and refuse the next, those of answers too", async () => {
      const made = await fixture();
      const narrow = { keyLimits: { tokensPerMinute: 1000 } };
      await done(made, { ...narrow, limitTokens: 100 }, { inputToken: 100, outputToken: 900 });
      const error = (await errorOf(done(made, { ...narrow, limitTokens: 100 }))) as GatewayError;
      expect(error.message).toBe(
        "Token limit reached: 1000 tokens a minute for this key, and this request has 100; try again in 6 s",
      );
      expect((await made.ledger.readLimitState(createAdmission(narrow).caller)).remainingTokens).toBe(0);
      expect(
        (await made.ledger.readLimitState(createAdmission({ keyId: "key_2" }).caller)).remainingTokens,
      ).toBeGreaterThan(1000);
    });

    test("let so many calls run at once and no more, beside those of other keys", async () => {
      const made = await fixture();
      const narrow = { ...free, keyLimits: { concurrentCalls: 1 } };
      const running = createAdmission(narrow);
      await made.ledger.admit(running);
      expect(((await errorOf(made.ledger.admit(createAdmission(narrow)))) as GatewayError).message).toBe(
        "Concurrency limit reached: 1 calls at once for this key; try again when one of them has ended",
      );
      await made.ledger.admit(createAdmission({ ...free, keyId: "key_2" }));
      expect((await made.ledger.readLimitsUsage(running.caller)).calls).toEqual({ limit: 1, running: 1 });
      await made.ledger.settle(createSettlement(running.callId, { quotaTokens: 0 }));
      await made.ledger.admit(createAdmission(narrow));
    });

    test("do not widen those of the account", async () => {
      const made = await fixture();
      const wide = { requestsPerMinute: 1, keyLimits: { requestsPerMinute: 100 } };
      expect((await done(made, wide)).limits).toMatchObject({ limitRequests: 1, remainingRequests: 0 });
      expect((await errorOf(done(made, wide))).message).toContain("for this account");
    });
  });
});

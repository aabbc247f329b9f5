import { describe, expect, test } from "bun:test";
import type { BudgetPeriod, GatewayError } from "../../../src/contract/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import {
  type AccountBudget,
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

/** A Thursday, in a week that began in the old year. */
const start = newYear;
const ends: readonly (readonly [BudgetPeriod, number, string])[] = [
  ["day", newYear + dayMs, "Daily"],
  ["week", newYear + 4 * dayMs, "Weekly"],
  ["month", newYear + 31 * dayMs, "Monthly"],
];

async function pay({ ledger, clock }: Pick<BillingFixture, "ledger" | "clock">, cost: number, fields: AdmissionFields) {
  const admission = createAdmission({ holdNanodollars: cost, openedAt: clock.time, ...fields });
  const hold = await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId, { costNanodollars: cost }));
  return hold;
}

async function refusalOf(...call: Parameters<typeof pay>): Promise<[string, string, number | undefined]> {
  const { code, message, retryAfterMs } = (await errorOf(pay(...call))) as GatewayError;
  return [code, message.split(":")[0] as string, retryAfterMs];
}

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  async function fixture() {
    const made = await ledgerFixture(undefined, make);
    await addAccount(made.store, "acc_1", 100_000);
    const budgetsOf = async (fields: AdmissionFields) =>
      await readOwnBudgets(made.ledger, createAdmission(fields).caller);
    return { ...made, budgetsOf };
  }

  test.each(ends)("a budget of a key by the %s ends to the millisecond and names it", async (period, end, word) => {
    const made = await fixture();
    const fields = { keyLimits: { budgetNanodollars: 100, budgetPeriod: period } };
    await pay(made, 100, fields);
    for (const time of [start, end - 1]) {
      made.clock.time = time;
      const refused = await refusalOf(made, 1, fields);
      expect(refused).toEqual(["budget_exceeded", `${word} budget of this key reached`, end - time]);
    }
    made.clock.time = end;
    await pay(made, 100, fields);
    expect((await made.budgetsOf(fields)).budget).toMatchObject({ spentNanodollars: 100 });
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });

  test.each([
    ["month", "day"],
    ["month", "week"],
    ["day", "month"],
    ["day", "week"],
  ] as const)("a budget that was by the %s and is by the %s mints nothing of its period", async (before, after) => {
    const made = await fixture();
    await pay(made, 100, { keyLimits: { budgetNanodollars: 100, budgetPeriod: before } });
    const changed = { keyLimits: { budgetNanodollars: 100, budgetPeriod: after } };
    expect((await refusalOf(made, 1, changed))[0]).toBe("budget_exceeded");
    made.clock.time = ends.find(([period]) => period === after)?.[1] as number;
    await pay(made, 100, changed);
    expect((await refusalOf(made, 1, changed))[0]).toBe("budget_exceeded");
  });

  test.each(ends)("a budget of an account by the %s binds all its keys", async (period, end, word) => {
    const made = await fixture();
    // What the account has spent before it has a budget counts.
    await pay(made, 30, { keyId: "key_9" });
    const accountBudget: AccountBudget = { limitNanodollars: 100, period };
    await pay(made, 60, { accountBudget, keyId: "key_1" });
    expect((await pay(made, 50, { accountBudget, keyId: "key_2" })).heldNanodollars).toBe(10);
    const refused = await refusalOf(made, 1, { accountBudget, keyId: "key_3" });
    expect(refused).toEqual(["budget_exceeded", `${word} budget of this account reached`, end - start]);
    expect(await made.budgetsOf({ accountBudget })).toMatchObject({
      budget: undefined,
      accountBudget: { limitNanodollars: 100, spentNanodollars: 140, heldNanodollars: 0, resetsAt: end },
    });
    await pay(made, 1, { accountBudget, premium: false });
    await pay(made, 1, {});
    made.clock.time = end - 1;
    expect((await refusalOf(made, 1, { accountBudget }))[0]).toBe("budget_exceeded");
    // A new start knows it as well.
    const again = { ...made, ledger: await make({ store: made.store, now: () => made.clock.time }) };
    expect((await refusalOf(again, 1, { accountBudget }))[0]).toBe("budget_exceeded");
    made.clock.time = end;
    await pay(again, 100, { accountBudget });
    expect((await refusalOf(again, 1, { accountBudget }))[0]).toBe("budget_exceeded");
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });

  test("a call names the budget or the wallet that is the scarcest", async () => {
    const made = await fixture();
    const of = (account: number, key: number): AdmissionFields => ({
      accountBudget: { limitNanodollars: account, period: "day" },
      keyLimits: { budgetNanodollars: key },
      minNanodollars: 90,
    });
    const said = async (...limits: [number, number]) => (await refusalOf(made, 90, of(...limits)))[1];
    expect(await said(50, 60)).toBe("Daily budget of this account reached");
    expect(await said(60, 50)).toBe("Monthly budget of this key reached");
    const poor = { ...of(80, 80), accountId: "acc_2" };
    await addAccount(made.store, "acc_2", 70);
    expect((await refusalOf(made, 90, poor))[0]).toBe("insufficient_balance");
    expect((await refusalOf(made, 1, { accountBudget: { limitNanodollars: 0, period: "week" } }))[1]).toBe(
      "Weekly budget of this account reached",
    );
  });

  test("a running call keeps to the budget of its account when it is extended", async () => {
    const made = await fixture();
    const accountBudget: AccountBudget = { limitNanodollars: 100, period: "day" };
    const admission = createAdmission({ accountBudget, holdNanodollars: 40 });
    const { availableNanodollars } = await made.ledger.admit(admission);
    expect(availableNanodollars).toBe(100);
    const raise = (holdNanodollars: number, minNanodollars: number) =>
      made.ledger.extend({ ...admission, holdNanodollars, minNanodollars });
    expect((await raise(500, 50)).heldNanodollars).toBe(100);
    const refused = (await errorOf(raise(200, 150))) as GatewayError;
    expect([refused.code, refused.message.split(":")[0]]).toEqual([
      "budget_exceeded",
      "Daily budget of this account reached",
    ]);
    expect((await errorOf(pay(made, 1, { accountBudget }))) as GatewayError).toMatchObject({ code: "budget_exceeded" });
    await made.ledger.settle(createSettlement(admission.callId, { costNanodollars: 70 }));
    expect((await pay(made, 100, { accountBudget })).heldNanodollars).toBe(30);
  });

  test("64 calls at once hold no more than the account's budget, and charged as they go exceed it by less than one", async () => {
    const made = await fixture();
    const accountBudget: AccountBudget = { limitNanodollars: 105, period: "week" };
    const calls = () =>
      Array.from({ length: 64 }, (_, index) => createAdmission({ accountBudget, keyId: `key_${index % 8}` }));
    const outcomes = await Promise.allSettled(calls().map((admission) => made.ledger.admit(admission)));
    const held = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value.heldNanodollars] : []));
    expect(held.sort((one, other) => other - one)).toEqual([...Array.from({ length: 10 }, () => 10), 5]);
    const admitted = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value.callId] : []));
    await Promise.all(admitted.map((id) => made.ledger.settle(createSettlement(id, { outcome: "released" }))));
    for (let round = 0; round < 6; round++) {
      await Promise.all(calls().map((admission) => goThrough(made, admission, 7)));
    }
    const { spentNanodollars, heldNanodollars } = (await made.budgetsOf({ accountBudget })).accountBudget ?? {};
    expect(heldNanodollars).toBe(0);
    expect(spentNanodollars).toBeGreaterThanOrEqual(105);
    expect(spentNanodollars).toBeLessThan(112);
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });
});

/** Admits and settles a call, unless the budget refuses it. */
async function goThrough(
  { ledger }: BillingFixture,
  admission: ReturnType<typeof createAdmission>,
  costNanodollars: number,
): Promise<void> {
  const outcome = await ledger.admit(admission).catch((error: GatewayError) => error.code);
  if (typeof outcome === "string") expect(outcome).toBe("budget_exceeded");
  else await ledger.settle(createSettlement(admission.callId, { costNanodollars }));
}

import { describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import type { Budget, GatewayError } from "../../../src/contract/index.ts";
import { toPayerNumber } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { deleteBudget, eachAccount, readBudgetOf, readSpentBySubject } from "../../../src/tenants/index.ts";
import { createBudget } from "../../support/budgets.ts";
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

async function pay({ ledger, clock }: BillingFixture, nanodollars: number, fields: AdmissionFields = {}) {
  const admission = createAdmission({ holdNanodollars: nanodollars, openedAt: clock.time, ...fields });
  const hold = await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId, { costNanodollars: nanodollars }));
  return hold;
}

const codeOf = (paying: Promise<unknown>) =>
  paying.then(
    () => undefined,
    (error: GatewayError) => error.code,
  );

const make = ({ store, clock }: BillingFixture, fields: Partial<Parameters<typeof createBudget>[1]>) =>
  createBudget(
    store,
    { by: commandLine, accountId: "acc_1", subject: "tag", limitNanodollars: 100, period: "month", ...fields },
    clock.time,
  );

/** The subjects that have spent of a budget, as they are stored. */
const spentOf = async ({ store, clock }: BillingFixture, { accountId, id }: Awaited<ReturnType<typeof createBudget>>) =>
  readSpentBySubject(store, await readBudgetOf(store, accountId, id), { limit: 10, now: clock.time });

describe.each(engineNames)("%s engine", (name) => {
  const makeLedger: MakeLedger = (options) => engines[name](options);
  async function fixture() {
    const made = await ledgerFixture(undefined, makeLedger);
    await addAccount(made.store, "acc_1", 100_000);
    await addAccount(made.store, "acc_2", 100_000);
    return made;
  }
  const sound = async ({ store }: BillingFixture) => expect((await verifyLedger(store)).differences).toEqual([]);

  test.each([
    ["a day", "a month", "day", "month"],
    ["a week", "a month", "week", "month"],
    ["a month", "a day", "month", "day"],
    ["a month", "a week", "month", "week"],
  ] as const)(
    "a key whose budget of %s becomes one of %s has spent what its calls cost in it",
    async (_, __, before, after) => {
      const made = await fixture();
      // Wednesday, Thursday and Friday of a week in the middle of a month.
      for (const day of [13, 14, 15]) {
        made.clock.time = newYear + day * dayMs;
        await pay(made, 20, {
          keyLimits: { budgetNanodollars: 20, budgetPeriod: before === "day" ? "day" : undefined },
        }).catch(() => pay(made, 20));
      }
      const { budget } = await readOwnBudgets(
        made.ledger,
        createAdmission({ keyLimits: { budgetNanodollars: 1000, budgetPeriod: after } }).caller,
      );
      expect(budget?.spentNanodollars).toBe({ day: 20, week: 60, month: 60 }[after]);
      await sound(made);
    },
  );

  test("a budget counts what was spent in its period before it was made, and nothing of the month before", async () => {
    const made = await fixture();
    made.clock.time = newYear - 10 * dayMs;
    await pay(made, 500, { tag: "t" });
    made.clock.time = newYear + dayMs;
    await pay(made, 40, { tag: "t" });
    await pay(made, 30, { tag: "t", keyId: "key_2" });
    await pay(made, 7, { tag: "t", accountId: "acc_2" });
    await pay(made, 5);
    const each = await make(made, {});
    const ofKey = await make(made, { keyId: "key_2", name: "t" });
    const budgets = [each, ofKey];
    expect((await pay(made, 50, { budgets, tag: "t" })).heldNanodollars).toBe(30);
    expect(await codeOf(pay(made, 1, { budgets, tag: "t" }))).toBe("budget_exceeded");
    expect(await spentOf(made, each)).toEqual([
      { accountId: "acc_1", name: "t", spentNanodollars: 120 },
      { accountId: "acc_1", name: "", spentNanodollars: 5 },
    ]);
    const spent = await spentOf(made, ofKey);
    expect(spent).toEqual([{ accountId: "acc_1", name: "t", spentNanodollars: 30 }]);
    await sound(made);
  });

  test("calls that run while a budget is made count for it when they end, and hold of it until then", async () => {
    const made = await fixture();
    const running = createAdmission({ tag: "t", holdNanodollars: 60, openedAt: made.clock.time });
    await made.ledger.admit(running);
    const budgets = [await make(made, {})];
    expect((await pay(made, 50, { budgets, tag: "t" })).heldNanodollars).toBe(40);
    expect(await codeOf(pay(made, 1, { budgets, tag: "t" }))).toBe("budget_exceeded");
    await made.ledger.settle(createSettlement(running.callId, { costNanodollars: 20 }));
    expect((await pay(made, 50, { budgets, tag: "t" })).heldNanodollars).toBe(30);
    await sound(made);
  });

  test("a request that was authenticated before a budget was made counts for it too", async () => {
    const made = await fixture();
    const budgets = [await make(made, {})];
    const running = createAdmission({ budgets, tag: "t", holdNanodollars: 10, openedAt: made.clock.time });
    await made.ledger.admit(running);
    const early = createAdmission({ tag: "t", holdNanodollars: 70, openedAt: made.clock.time });
    await made.ledger.admit(early);
    expect((await pay(made, 50, { budgets, tag: "t" })).heldNanodollars).toBe(20);
    await made.ledger.settle(createSettlement(early.callId, { costNanodollars: 70 }));
    await made.ledger.settle(createSettlement(running.callId, { costNanodollars: 10 }));
    expect(await codeOf(pay(made, 1, { budgets, tag: "t" }))).toBe("budget_exceeded");
    await sound(made);
  });

  test("a budget of the gateway binds each account by itself, and that of the account binds too", async () => {
    const made = await fixture();
    const overEach = await make(made, { accountId: eachAccount, subject: "account" });
    const own = await make(made, { subject: "account", limitNanodollars: 150 });
    const budgets: Budget[] = [own, overEach];
    await pay(made, 70, { budgets });
    expect((await pay(made, 50, { budgets, keyId: "key_2" })).heldNanodollars).toBe(30);
    const error = (await errorOf(pay(made, 1, { budgets }))) as GatewayError;
    expect(error.message).toStartWith("Monthly budget of this account reached: 0.0000001 USD");
    expect((await pay(made, 90, { budgets: [overEach], accountId: "acc_2" })).heldNanodollars).toBe(90);
    expect(await codeOf(pay(made, 1, { budgets: [own] }))).toBeUndefined();
    await sound(made);
  });

  test("a budget of the gateway over each end user counts those of two accounts apart", async () => {
    const made = await fixture();
    await pay(made, 30, { endUser: "ada" });
    const budget = await make(made, { accountId: eachAccount, subject: "end_user" });
    const budgets = [budget];
    expect((await pay(made, 100, { budgets, endUser: "ada" })).heldNanodollars).toBe(70);
    expect(await codeOf(pay(made, 1, { budgets, endUser: "ada" }))).toBe("budget_exceeded");
    expect((await pay(made, 100, { budgets, endUser: "ada", accountId: "acc_2" })).heldNanodollars).toBe(100);
    expect(await spentOf(made, budget)).toEqual([
      { accountId: "acc_1", name: "ada", spentNanodollars: 130 },
      { accountId: "acc_2", name: "ada", spentNanodollars: 100 },
    ]);
    await sound(made);
    await deleteBudget(made.store, { by: commandLine, accountId: eachAccount, id: budget.id }, made.clock.time);
    const rows = made.store.db.selectFrom("spending").select("name").where("subject_id", "=", toPayerNumber(budget.id));
    expect(await rows.execute()).toEqual([]);
    await sound(made);
  });

  test("a session's budget begins anew when the session was silent for a day, and not at midnight", async () => {
    const made = await fixture();
    await pay(made, 30, { session: "s" });
    const budgets = [await make(made, { subject: "session", period: "session" })];
    const session = { budgets, session: "s" };
    for (const hours of [20, 23, 24]) {
      made.clock.time += hours * 3_600_000;
      await pay(made, 10, session);
    }
    expect((await pay(made, 100, session)).heldNanodollars).toBe(40);
    made.clock.time += dayMs - 1;
    const error = (await errorOf(pay(made, 1, session))) as GatewayError;
    expect(error.message).toStartWith('Session budget of session "s" reached');
    expect((await pay(made, 50, { ...session, session: "other" })).heldNanodollars).toBe(50);
    made.clock.time += 2;
    expect((await pay(made, 90, session)).heldNanodollars).toBe(90);
    expect((await pay(made, 90, session)).heldNanodollars).toBe(10);
    // A start in between knows it as well.
    const again = { ...made, ledger: await makeLedger({ store: made.store, now: () => made.clock.time }) };
    expect(await codeOf(pay(again, 1, session))).toBe("budget_exceeded");
    await sound(made);
  });

  test("an account that is billed afterwards spends its budget and no more, whatever its wallet has", async () => {
    const made = await fixture();
    const accountId = "acc_3";
    await addAccount(made.store, accountId);
    expect(await codeOf(pay(made, 1, { accountId }))).toBe("insufficient_balance");
    const fields = {
      accountId,
      accountBudget: { limitNanodollars: 100, period: "month" as const },
      isBilledAfterwards: true,
    };
    expect((await pay(made, 70, fields)).heldNanodollars).toBe(70);
    const running = createAdmission({ ...fields, holdNanodollars: 20, openedAt: made.clock.time });
    expect((await made.ledger.admit(running)).availableNanodollars).toBe(30);
    expect((await made.ledger.extend({ ...running, holdNanodollars: 90, minNanodollars: 10 })).heldNanodollars).toBe(
      30,
    );
    expect(await codeOf(pay(made, 1, fields))).toBe("budget_exceeded");
    await made.ledger.settle(createSettlement(running.callId, { costNanodollars: 30 }));
    expect(await made.ledger.readWalletState(accountId)).toEqual({ balanceNanodollars: -100, heldNanodollars: 0 });
    expect(await codeOf(pay(made, 1, { ...fields, accountBudget: undefined }))).toBe("insufficient_balance");
    await sound(made);
  });

  test("a clock that was a year ahead uses up the budgets of the day that sees it, and no others", async () => {
    const made = await fixture();
    const keyLimits = { budgetNanodollars: 100, budgetPeriod: "day" as const };
    made.clock.time = newYear + 400 * dayMs;
    await pay(made, 100, { keyLimits });
    made.clock.time = newYear;
    expect(await codeOf(pay(made, 1, { keyLimits }))).toBe("budget_exceeded");
    made.clock.time += dayMs;
    const again = { ...made, ledger: await makeLedger({ store: made.store, now: () => made.clock.time }) };
    expect((await pay(again, 100, { keyLimits })).heldNanodollars).toBe(100);
    made.clock.time = newYear + 400 * dayMs;
    expect(await codeOf(pay(again, 1, { keyLimits }))).toBe("budget_exceeded");
    await sound(made);
  });

  test("a clock that was ahead by the rest of the month uses up that month, and none of the next but its own day", async () => {
    const made = await fixture();
    const keyLimits = { budgetNanodollars: 100 };
    const february = newYear + 31 * dayMs;
    made.clock.time = february;
    await pay(made, 100, { keyLimits });
    made.clock.time = newYear;
    expect(await codeOf(pay(made, 1, { keyLimits }))).toBe("budget_exceeded");
    const [row] = await made.store.db
      .selectFrom("spending")
      .select("counted_day")
      .where("counted_day", "is not", null)
      .execute();
    expect(row?.counted_day).toBe(newYear / dayMs);
    const weekly = { keyLimits: { ...keyLimits, budgetPeriod: "week" as const } };
    made.clock.time = newYear + 7 * dayMs;
    const again = { ...made, ledger: await makeLedger({ store: made.store, now: () => made.clock.time }) };
    expect((await pay(again, 100, weekly)).heldNanodollars).toBe(100);
    await sound(made);
  });
});

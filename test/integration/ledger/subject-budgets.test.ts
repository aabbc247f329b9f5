import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Budget, GatewayError } from "../../../src/contract/index.ts";
import { type Store, toPayerNumber } from "../../../src/db/index.ts";
import { createPruner, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { rollUp } from "../../support/usage.ts";
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
} from "./fixture.ts";

const engines = useEngines();

const eachUser: Budget = { id: "bud_users", subject: "end_user", limitNanodollars: 100, period: "day" };
const ofAda: Budget = { ...eachUser, id: "bud_ada", name: "ada", limitNanodollars: 300, period: "month" };

/** The verification compares those that are stored. */
async function store({ db }: Store, budgets: readonly Budget[]): Promise<void> {
  for (const { id, subject, name, keyId, limitNanodollars, period } of budgets) {
    await db
      .insertInto("budgets")
      .values({
        id,
        no: toPayerNumber(id),
        account_id: "acc_1",
        key_id: keyId ?? null,
        subject,
        name: name ?? null,
        budget_nanodollars: limitNanodollars,
        budget_period: period,
        raise_nanodollars: null,
        raise_until: null,
        created_at: 0,
        counted_from: 0,
        counted_to: null,
      })
      .execute();
  }
}

async function pay({ ledger, clock }: BillingFixture, nanodollars: number, fields: AdmissionFields) {
  const admission = createAdmission({ holdNanodollars: nanodollars, openedAt: clock.time, ...fields });
  const hold = await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId, { costNanodollars: nanodollars }));
  return hold;
}

const refusal = async (paying: Promise<unknown>) => (await errorOf(paying)) as GatewayError;

async function spentOf({ store: { db } }: BillingFixture) {
  const rows = await db
    .selectFrom("spending")
    .innerJoin("budgets", "budgets.no", "spending.subject_id")
    .select(["budgets.id", "spending.name", "day", "spent_nanodollars"])
    .orderBy("budgets.id")
    .orderBy("spending.name")
    .orderBy("day")
    .execute();
  return rows.map((row) => [row.id, row.name, row.day, row.spent_nanodollars]);
}

describe.each(engineNames)("%s engine", (engine) => {
  const make: MakeLedger = (options) => engines[engine](options);
  async function fixture(...budgets: Budget[]) {
    const made = await ledgerFixture(undefined, make);
    await addAccount(made.store, "acc_1", 100_000);
    await store(made.store, budgets);
    return made;
  }

  test("a refusal says whether the budget is everybody's or somebody's own", async () => {
    const made = await fixture();
    const none = { limitNanodollars: 0, period: "day" } as const;
    const says = async (budget: Omit<Budget, "id" | "limitNanodollars" | "period">, fields: AdmissionFields = {}) => {
      const budgets = [{ id: "bud_1", ...none, ...budget }];
      const { message } = await refusal(pay(made, 1, { endUser: "ada", ...fields, budgets }));
      return message.slice(0, message.indexOf(","));
    };
    const gateway = { isOfGateway: true } as const;
    expect([
      await says({ subject: "account" }),
      await says({ subject: "account", ...gateway }),
      await says({ subject: "team", ...gateway }),
      await says({ subject: "key", name: "key_1" }, { keyId: "key_1" }),
      await says({ subject: "key" }),
      await says({ subject: "key", ...gateway }),
      await says({ subject: "end_user", name: "ada" }),
      await says({ subject: "end_user", keyId: "key_1" }, { keyId: "key_1" }),
      await says({ subject: "end_user", ...gateway }),
      await says({ subject: "end_user", name: "ada", ...gateway }),
    ]).toEqual([
      "Daily budget of this account reached: 0 USD (set for this account)",
      "Daily budget of this account reached: 0 USD (set for each account)",
      "Daily budget of this team reached: 0 USD (set for each team)",
      "Daily budget of this key reached: 0 USD (set for this key)",
      "Daily budget of this key reached: 0 USD (set for each key of this account)",
      "Daily budget of this key reached: 0 USD (set for each key of every account)",
      'Daily budget of end user "ada" reached: 0 USD (set for this end user of this account)',
      'Daily budget of end user "ada" reached: 0 USD (set for each end user of this key)',
      'Daily budget of end user "ada" reached: 0 USD (set for each end user of every account)',
      'Daily budget of end user "ada" reached: 0 USD (set for this end user of every account)',
    ]);
  });

  describe("a budget of each end user", () => {
    test("binds each by itself, and those that are not named together", async () => {
      const budgets = [eachUser];
      const made = await fixture(...budgets);
      await pay(made, 100, { budgets, endUser: "ada" });
      await pay(made, 60, { budgets, endUser: "ben" });
      await pay(made, 100, { budgets });
      const ofUser = await refusal(pay(made, 1, { budgets, endUser: "ada" }));
      expect([ofUser.code, ofUser.status, ofUser.retryAfterMs]).toEqual(["budget_exceeded", 403, dayMs]);
      expect(ofUser.message).toBe(
        'Daily budget of end user "ada" reached: 0.0000001 USD (set for each end user of this account), 0.0000001 USD spent and 0 USD held by running calls, and this request needs up to 0.000000001 USD; it resets at 2026-01-02T00:00:00.000Z; raise the budget, or use a free model',
      );
      expect((await refusal(pay(made, 1, { budgets }))).message).toContain("of requests without end user reached");
      expect((await pay(made, 60, { budgets, endUser: "ben" })).heldNanodollars).toBe(40);
      made.clock.time += dayMs;
      await pay(made, 7, { budgets, endUser: "ada" });
      const day = newYear / dayMs;
      expect(await spentOf(made)).toEqual([
        ["bud_users", "", day, 100],
        ["bud_users", "ada", day, 100],
        ["bud_users", "ada", day + 1, 7],
        ["bud_users", "ben", day, 120],
      ]);
      expect((await verifyLedger(made.store)).differences).toEqual([]);
    });

    test("says of sessions that all requests without one count together, and how to name one", async () => {
      const budgets: Budget[] = [{ ...eachUser, id: "bud_runs", subject: "session", period: "session" }];
      const made = await fixture(...budgets);
      await pay(made, 100, { budgets });
      expect((await refusal(pay(made, 1, { budgets }))).message).toMatch(
        /^Session budget of all requests that name no session reached: .*; name a session in the header session-id, raise the budget, or use a free model$/,
      );
      const ofRun = { budgets, session: "run-1" };
      await pay(made, 100, ofRun);
      expect((await refusal(pay(made, 1, ofRun))).message).toMatch(
        /^Session budget of session "run-1" reached: .* running calls, and this request needs up to \S+ USD; raise the budget, or use a free model$/,
      );
    });

    test("is not that of one who has a budget of its own, whose limit may be raised for a time", async () => {
      const made = await fixture(eachUser, ofAda);
      const budgets = [eachUser, ofAda];
      await pay(made, 300, { budgets, endUser: "ada" });
      expect((await refusal(pay(made, 1, { budgets, endUser: "ada" }))).message).toStartWith(
        'Monthly budget of end user "ada"',
      );
      const raised = [eachUser, { ...ofAda, raise: { nanodollars: 50, until: newYear + 1000 } }];
      expect((await pay(made, 90, { budgets: raised, endUser: "ada" })).heldNanodollars).toBe(50);
      made.clock.time += 1000;
      expect((await refusal(pay(made, 1, { budgets: raised, endUser: "ada" }))).message).toContain(
        "0.0000003 USD (set for this end user of this account), ",
      );
    });

    test("costs a call that is free nothing, and writes nothing for names that spent nothing", async () => {
      const budgets = [eachUser];
      const made = await fixture(...budgets);
      for (const endUser of ["a", "b", "c"]) {
        const admission = createAdmission({ budgets, endUser });
        await made.ledger.admit(admission);
        await made.ledger.settle(createSettlement(admission.callId, { outcome: "released" }));
        await pay(made, 1000, { budgets, endUser, premium: false });
      }
      expect(await spentOf(made)).toEqual([]);
    });
  });

  test.each<[Budget["subject"], AdmissionFields, AdmissionFields, string]>([
    ["account", {}, { keyId: "key_2", model: "m2" }, "this account"],
    ["key", {}, {}, "this key"],
    ["tag", { tag: "nightly" }, { tag: "nightly", model: "m2" }, 'tag "nightly"'],
    ["model", { model: "m1" }, { model: "m1", tag: "b" }, 'model "m1"'],
  ])("a lifetime budget of %s counts its calls of all days, and says so", async (subject, first, second, owner) => {
    const names: Partial<Record<Budget["subject"], string>> = { key: "key_1", tag: "nightly", model: "m1" };
    const name = names[subject];
    const budgets: Budget[] = [{ id: "bud_1", subject, name, limitNanodollars: 100, period: "lifetime" }];
    const made = await fixture(...budgets);
    await pay(made, 70, { budgets, ...first });
    made.clock.time += 400 * dayMs;
    expect((await pay(made, 70, { budgets, ...second })).heldNanodollars).toBe(30);
    const error = await refusal(pay(made, 1, { budgets, ...second }));
    expect(error.message).toStartWith(`Lifetime budget of ${owner} reached: `);
    expect([error.code, error.retryAfterMs]).toEqual(["budget_exceeded", undefined]);
    if (subject !== "account") {
      const other = { keyId: "key_9", tag: "other", session: "other", model: "other" };
      expect((await pay(made, 1, { budgets, ...other })).heldNanodollars).toBe(1);
    }
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });

  test("names with any signs are themselves", async () => {
    const budgets = [eachUser];
    const made = await fixture(...budgets);
    const names = ['["bud_users","ada",20454]', "a'b\\c\"d", "%_", "\u{1f600}é", "E'\\'", "null", " ada", "ada "];
    for (const endUser of names) {
      const admission = createAdmission({ budgets, endUser, holdNanodollars: 100 });
      await made.ledger.admit(admission);
      expect((await refusal(pay(made, 1, { budgets, endUser }))).code).toBe("budget_exceeded");
    }
    expect((await pay(made, 100, { budgets, endUser: "ada" })).heldNanodollars).toBe(100);
  });

  test("64 calls at once on budgets of their tag and their end user: each is used to its last nanodollar by holds, and by no more", async () => {
    const budgets: Budget[] = [
      { id: "bud_tags", subject: "tag", limitNanodollars: 105, period: "week" },
      { ...eachUser, limitNanodollars: 55 },
    ];
    const made = await fixture(...budgets);
    const calls = Array.from({ length: 64 }, (_, at) => {
      return createAdmission({ budgets, tag: "t", endUser: at % 2 === 0 ? "ada" : "ben", holdNanodollars: 10 });
    });
    const outcomes = await Promise.allSettled(calls.map((call) => made.ledger.admit(call)));
    const held = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value.heldNanodollars : 0));
    expect(held.reduce((sum, hold) => sum + hold)).toBe(105);
    const ofAda = held.filter((_, at) => at % 2 === 0).reduce((sum, hold) => sum + hold);
    expect(ofAda).toBeLessThanOrEqual(55);
    expect(105 - ofAda).toBeLessThanOrEqual(55);
    for (const [at, call] of calls.entries()) {
      if (held[at] === 0) continue;
      await made.ledger.settle(createSettlement(call.callId, { costNanodollars: held[at] as number }));
    }
    expect((await refusal(pay(made, 1, { budgets, tag: "t", endUser: "cleo" }))).message).toContain('tag "t"');
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });

  test("the hold of a stream grows within its budget, and after midnight is still that of the day on which it began", async () => {
    const budgets = [eachUser];
    const made = await fixture(...budgets);
    const call = createAdmission({ budgets, endUser: "ada", holdNanodollars: 10 });
    const { availableNanodollars } = await made.ledger.admit(call);
    expect(availableNanodollars).toBe(100);
    const more = { ...call, holdNanodollars: 80, minNanodollars: 70 };
    expect((await made.ledger.extend(more)).heldNanodollars).toBe(80);
    expect((await pay(made, 30, { budgets, endUser: "ada" })).heldNanodollars).toBe(20);
    const error = await refusal(made.ledger.extend({ ...more, holdNanodollars: 90, minNanodollars: 90 }));
    expect(error.message).toStartWith('Daily budget of end user "ada" reached');
    made.clock.time += dayMs;
    const later = await refusal(made.ledger.extend({ ...more, holdNanodollars: 90, minNanodollars: 90 }));
    expect(later.message).toStartWith('Daily budget of end user "ada" reached');
    expect((await pay(made, 99, { budgets, endUser: "ada" })).heldNanodollars).toBe(99);
    await made.ledger.settle(createSettlement(call.callId, { costNanodollars: 70 }));
    const day = newYear / dayMs;
    expect(await spentOf(made)).toEqual([
      ["bud_users", "ada", day, 100],
      ["bud_users", "ada", day + 1, 99],
    ]);
    expect((await verifyLedger(made.store)).differences).toEqual([]);
  });

  test("the caller sees what its budgets have left", async () => {
    const ofKey: Budget = { id: "bud_key", subject: "key", limitNanodollars: 500, period: "week" };
    const budgets = [eachUser, ofAda, ofKey];
    const made = await fixture(...budgets);
    await pay(made, 40, { budgets, endUser: "ada" });
    const running = createAdmission({ budgets, endUser: "ada", holdNanodollars: 10 });
    await made.ledger.admit(running);
    const { budgets: states } = await made.ledger.readLimitsUsage(running.caller);
    const figures = { spentNanodollars: 40, heldNanodollars: 10 };
    expect(states).toEqual([
      { budget: ofAda, limitNanodollars: 300, ...figures, resetsAt: newYear + 31 * dayMs },
      { budget: ofKey, limitNanodollars: 500, ...figures, resetsAt: newYear + 4 * dayMs },
    ]);
  });

  test("the verification finds a budget that was changed, and pruned calls still count against one that never ends", async () => {
    const budgets: Budget[] = [
      { id: "bud_1", subject: "tag", name: "t", limitNanodollars: 100, period: "lifetime" },
      eachUser,
    ];
    const made = await fixture(...budgets);
    await pay(made, 60, { budgets, tag: "t", endUser: "ada" });
    made.clock.time += 100 * dayMs;
    await pay(made, 10, { budgets, tag: "t", endUser: "ada" });
    await rollUp(made.store, () => made.clock.time);
    const prune = createPruner({ store: made.store, retentionDays: 5, now: () => made.clock.time });
    while ((await prune()) > 0) {
      // Until all is done.
    }
    expect((await made.store.db.selectFrom("calls").select("id").execute()).length).toBe(1);
    const day = newYear / dayMs;
    expect(await spentOf(made)).toEqual([
      ["bud_1", "t", day, 60],
      ["bud_1", "t", day + 100, 10],
      ["bud_users", "ada", day + 100, 10],
    ]);
    expect((await verifyLedger(made.store)).differences).toEqual([]);
    expect((await pay(made, 90, { budgets, tag: "t" })).heldNanodollars).toBe(30);
    await made.store.db.updateTable("spending").set({ spent_nanodollars: 5 }).where("name", "=", "ada").execute();
    expect((await verifyLedger(made.store)).differences).toEqual([
      expect.stringMatching(
        new RegExp(`^Budget bud_users of ada of acc_1 on day ${day + 100}: spent_nanodollars is 5, calls sum to 10`),
      ),
    ]);
  });

  test("whatever calls cost of what they hold, no budget is ever exceeded", async () => {
    const step = fc.record({
      endUser: fc.constantFrom("ada", "ben", undefined),
      tag: fc.constantFrom("x", "y", undefined),
      hold: fc.integer({ min: 1, max: 60 }),
      least: fc.integer({ min: 0, max: 60 }),
      share: fc.integer({ min: 0, max: 100 }),
      grows: fc.integer({ min: 0, max: 40 }),
      isReleased: fc.boolean(),
    });
    const budgets: Budget[] = [
      eachUser,
      { ...ofAda, limitNanodollars: 70 },
      { id: "bud_tag", subject: "tag", name: "x", limitNanodollars: 90, period: "lifetime" },
      { id: "bud_all", subject: "account", limitNanodollars: 180, period: "month" },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        const made = await fixture(...budgets);
        await Promise.all(
          steps.map(async ({ hold, least, share, grows, isReleased, ...names }) => {
            const minNanodollars = Math.min(least, hold);
            const call = createAdmission({ budgets, ...names, holdNanodollars: hold, minNanodollars });
            const admitted = await made.ledger.admit(call).catch(() => undefined);
            if (admitted === undefined) return;
            let { heldNanodollars } = admitted;
            if (grows > 0) {
              const more = { ...call, holdNanodollars: heldNanodollars + grows, minNanodollars: heldNanodollars };
              ({ heldNanodollars } = await made.ledger.extend(more).catch(() => admitted));
            }
            const outcome = isReleased ? ("released" as const) : ("settled" as const);
            const costNanodollars = Math.floor((heldNanodollars * share) / 100);
            await made.ledger.settle(createSettlement(call.callId, { outcome, costNanodollars }));
          }),
        );
        const limits = { bud_users: 100, bud_ada: 70, bud_tag: 90, bud_all: 180 };
        for (const [id, , , spent] of await spentOf(made)) {
          expect(spent as number).toBeLessThanOrEqual(limits[id as keyof typeof limits]);
        }
        const { budgets: states } = await made.ledger.readLimitsUsage(createAdmission({ budgets }).caller);
        expect(states?.map(({ heldNanodollars }) => heldNanodollars)).toEqual([0, 0, 0]);
        expect((await verifyLedger(made.store)).differences).toEqual([]);
        await made.ledger.close();
      }),
      { numRuns: 12 },
    );
  });
});

import { expect, test } from "bun:test";
import { budgetPeriods, budgetSubjects } from "../../../../src/contract/index.ts";
import { isWhole, periodsOf, subjectsOf, whyEach } from "../../../../src/dashboard/features/budgets/budget-choices.ts";
import { checkBudget, eachAccount } from "../../../../src/tenants/index.ts";

/** Whether the API takes a budget. */
function isTaken(budget: Parameters<typeof checkBudget>[0]): boolean {
  try {
    checkBudget(budget, 1);
    return true;
  } catch {
    return false;
  }
}

test("the form of a budget offers every combination that the API takes, and no other", () => {
  const wrong: string[] = [];
  for (const isOfGateway of [false, true]) {
    for (const subject of budgetSubjects) {
      for (const whose of ["each", "one"] as const) {
        for (const period of budgetPeriods) {
          const isOffered =
            subjectsOf(isOfGateway).some(([one]) => one === subject) &&
            (whose === "each" || (whyEach({ isOfGateway, subject }) === undefined && !isWhole({ subject }))) &&
            openPeriods({ isOfGateway, subject, whose }).includes(period);
          const name = whose === "one" ? "a" : null;
          const account = isOfGateway ? eachAccount : "acc_1";
          const budget = { account_id: account, subject, name, budget_period: period, budget_nanodollars: 1 };
          if (isTaken(budget) !== isOffered) wrong.push(`${account} ${subject} ${whose} ${period}`);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
});

function openPeriods(choice: Parameters<typeof periodsOf>[0]): readonly string[] {
  const { options, refused = [] } = periodsOf(choice);
  return options.map(([period]) => period).filter((period) => !refused.includes(period));
}

test("whatever cannot be chosen has a reason beside it", () => {
  for (const isOfGateway of [false, true]) {
    for (const [subject] of subjectsOf(isOfGateway)) {
      for (const whose of ["each", "one"] as const) {
        const { options, refused = [], reason } = periodsOf({ isOfGateway, subject, whose });
        const isLimited = refused.length > 0 || options.length < 4;
        expect([subject, whose, reason !== undefined]).toEqual([subject, whose, isLimited]);
      }
    }
  }
});

test("a session has its own period at once", () => {
  expect(openPeriods({ isOfGateway: true, subject: "session", whose: "each" })).toEqual(["session"]);
});

import type { Transaction } from "kysely";
import { type Budget, type BudgetPeriod, GatewayError, isAmount } from "../contract/index.ts";
import {
  type BudgetFigures,
  type Database,
  dayOf,
  daysOfPeriod,
  endOfPeriod,
  ownBudgetId,
  type Store,
  startOfPeriod,
  toPayerNumber,
} from "../db/index.ts";
import { emptyColumns } from "../lib/fields.ts";
import { budgetFields } from "./budget-fields.ts";

/** The budget that `budget_usd` of an account or a key shows. */
export interface OwnBudget {
  readonly limitNanodollars: number;
  readonly period: BudgetPeriod;
}

/** An account, or a key of it. */
export interface BudgetOwner {
  readonly accountId: string;
  /** Absent: the account itself. */
  readonly keyId?: string | undefined;
}

/** A budget of an account with its spending. */
export interface SpentOwnBudget extends OwnBudget {
  readonly spentNanodollars: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/**
 * Sets or removes the own budget of an account or a key. Call by `Store.change`.
 *
 * @throws {GatewayError} `invalid_request`; `conflict` when another budget of it has this period.
 */
export async function setOwnBudget(
  db: Transaction<Database>,
  { accountId, keyId }: BudgetOwner,
  budget: OwnBudget | undefined,
  now: number,
): Promise<void> {
  const id = ownBudgetId(keyId ?? accountId);
  if (budget === undefined) {
    if (keyId === undefined) await expectNoBudgetNeeded(db, accountId);
    await db.deleteFrom("budgets").where("id", "=", id).execute();
    return;
  }
  const { limitNanodollars, period } = budget;
  if (!isAmount(limitNanodollars)) {
    const message = `The budget is ${limitNanodollars} nanodollars, expected a whole number from 0 to 2^53 - 1`;
    throw new GatewayError("invalid_request", message, { param: "budget_usd" });
  }
  const [subject, name] = keyId === undefined ? (["account", null] as const) : (["key", keyId] as const);
  const other = await db
    .selectFrom("budgets")
    .select("id")
    .where("account_id", "=", accountId)
    .where("subject", "=", subject)
    .where("name", "is not distinct from", name)
    .where("budget_period", "=", period)
    .where("id", "<>", id)
    .executeTakeFirst();
  if (other !== undefined) {
    const whose = keyId === undefined ? "account" : "key";
    throw new GatewayError(
      "conflict",
      `The ${whose} has another budget for this period, ${other.id}; change that one`,
      {
        param: "budget_period",
      },
    );
  }
  const values = { budget_nanodollars: limitNanodollars, budget_period: period };
  await db
    .insertInto("budgets")
    .values({
      ...emptyColumns(budgetFields),
      id,
      no: toPayerNumber(id),
      account_id: accountId,
      subject,
      name,
      ...values,
      created_at: now,
      counted_from: 0,
      counted_to: null,
    })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(values))
    .execute();
}

/** @throws {GatewayError} `conflict` for an account that is billed afterwards, which nothing else bounds. */
export async function expectNoBudgetNeeded(db: Transaction<Database>, accountId: string): Promise<void> {
  const account = await db
    .selectFrom("accounts")
    .select("id")
    .where("id", "=", accountId)
    .where("billed_afterwards", "=", 1)
    .executeTakeFirst();
  if (account === undefined) return;
  throw new GatewayError(
    "conflict",
    "The account is billed afterwards, and needs a budget; set billed_afterwards to false first (--billed-afterwards off)",
    {
      param: "budget_usd",
    },
  );
}

/**
 * Lets the budget of an account bound its premium calls in place of the wallet, or no longer.
 *
 * @throws {GatewayError} `invalid_request` for an account without a budget.
 */
export async function setBilledAfterwards(db: Transaction<Database>, accountId: string, isOn: boolean): Promise<void> {
  if (isOn) {
    const budget = await db
      .selectFrom("budgets")
      .select("id")
      .where("id", "=", ownBudgetId(accountId))
      .executeTakeFirst();
    if (budget === undefined) {
      const message = "An account that is billed afterwards needs a budget; send budget_usd too";
      throw new GatewayError("invalid_request", message, { param: "billed_afterwards" });
    }
  }
  await db
    .updateTable("accounts")
    .set({ billed_afterwards: isOn ? 1 : 0 })
    .where("id", "=", accountId)
    .execute();
}

/** The account's own budget in its current period; `undefined` if it has no budget. */
export async function readAccountBudget(
  store: Store,
  accountId: string,
  now: number,
): Promise<SpentOwnBudget | undefined> {
  const row = await store.db
    .selectFrom("budgets")
    .select(["id", "budget_nanodollars", "budget_period"])
    .where("id", "=", ownBudgetId(accountId))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const period = toOwnPeriod(row.budget_period);
  const from = startOfPeriod(now, period);
  const budget: Budget = { id: row.id, subject: "account", limitNanodollars: row.budget_nanodollars, period };
  const sums = { subjectNo: toPayerNumber(accountId), name: "", ...daysOfPeriod(now, period), today: dayOf(now) };
  const draw = { budget, name: "", sums, limitNanodollars: row.budget_nanodollars };
  const figures = await store.readBudgets({ accountId, keyId: "" }, [draw]);
  return {
    limitNanodollars: row.budget_nanodollars,
    period,
    spentNanodollars: (figures[0] as BudgetFigures).spentNanodollars,
    resetsAt: endOfPeriod(from, period),
  };
}

/** The period of an own budget, which always ends. */
export function toOwnPeriod(period: Budget["period"] | null): BudgetPeriod {
  return period === "day" || period === "week" ? period : "month";
}

import type { Transaction } from "kysely";
import { type AccountBudget, GatewayError, isAmount } from "../contract/index.ts";
import { type Database, endOfPeriod, type Store, startOfPeriod } from "../db/index.ts";

/** A budget of an account with what of it is spent. */
export interface SpentBudget extends AccountBudget {
  readonly spentNanodollars: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/** Sets or removes the budget of an account. Call by `Store.change`. @throws {GatewayError} `invalid_request` */
export async function setAccountBudget(
  db: Transaction<Database>,
  accountId: string,
  budget: AccountBudget | undefined,
): Promise<void> {
  if (budget !== undefined && !isAmount(budget.limitNanodollars)) {
    const message = `The budget is ${budget.limitNanodollars} nanodollars, expected a whole number from 0 to 2^53 - 1`;
    throw new GatewayError("invalid_request", message, { param: "budget_usd" });
  }
  const columns = { budget_nanodollars: budget?.limitNanodollars ?? null, budget_period: budget?.period ?? null };
  await db.updateTable("accounts").set(columns).where("id", "=", accountId).execute();
}

/** The budget of an account in its running period; `undefined` when it has none. */
export async function readAccountBudget(
  store: Store,
  accountId: string,
  now: number,
): Promise<SpentBudget | undefined> {
  const row = await store.db
    .selectFrom("accounts")
    .select(["budget_nanodollars", "budget_period"])
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (row === undefined || row.budget_nanodollars === null) return undefined;
  const period = row.budget_period ?? "month";
  const since = startOfPeriod(now, period);
  return {
    limitNanodollars: row.budget_nanodollars,
    period,
    spentNanodollars: await store.readSpent(accountId, since),
    resetsAt: endOfPeriod(since, period),
  };
}

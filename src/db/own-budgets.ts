import { type RawBuilder, type SqlBool, sql } from "kysely";

/** The id of the budget that `budget_usd` of a key or an account shows and sets. It may have others for other periods. */
export function ownBudgetId(ownerId: string): string {
  return `bud_${ownerId}`;
}

/** Joins the table `budgets`, as `own`, to a key or an account. */
export function isOwnBudget(of: "keys" | "accounts"): RawBuilder<SqlBool> {
  return sql<SqlBool>`own.id = 'bud_' || ${sql.ref(`${of}.id`)}`;
}

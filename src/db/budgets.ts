import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { BudgetSubject, namedSubjects } from "../contract/index.ts";
import type { OpenCall } from "./ledger-records.ts";

/** The id of the budget that `budget_usd` of a key or an account shows and sets. It may have others for other periods. */
export function ownBudgetId(ownerId: string): string {
  return `bud_${ownerId}`;
}

/** Joins the table `budgets`, as `own`, to a key or an account. */
export function isOwnBudget(of: "keys" | "accounts"): RawBuilder<SqlBool> {
  return sql<SqlBool>`own.id = 'bud_' || ${sql.ref(`${of}.id`)}`;
}

type NamedCall = Pick<OpenCall, "keyId" | "model" | "session" | "tag" | "endUser">;

/**
 * Returns the names under which budgets count a call. Calls without a name count as one subject too, so leaving the
 * name out does not avoid a budget. The function `end_calls` of PostgreSQL and {@link countedName} follow the same
 * rule.
 */
export function namesOf({
  keyId,
  model,
  session = "",
  tag = "",
  endUser = "",
}: NamedCall): Record<BudgetSubject, string> {
  return { account: "", team: "", key: keyId, end_user: endUser, tag, session, model };
}

/** {@link namesOf} in SQL, of the rows `calls` and `budgets`. */
export const countedName = sql<string>`coalesce(case budgets.subject when 'end_user' then calls.end_user
  when 'tag' then calls.tag when 'session' then calls.session else calls.model end, '')`;

/** A budget that counts calls by a name of theirs. */
export type NamedSubject = (typeof namedSubjects)[number];

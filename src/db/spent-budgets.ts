import { type Kysely, type RawBuilder, sql } from "kysely";
import type { BudgetPeriod, BudgetSubject, SubjectBudget } from "../contract/index.ts";
import { firstDayOfPeriod, isOfRunningPeriod, raisedBudget } from "./dates.ts";
import type { Database } from "./schema.ts";

/** A budget in its running period. */
export interface SpentBudget {
  readonly accountId: string;
  /** Absent for the budget of an account. */
  readonly keyId?: string;
  /** The name of the key or the subject, or the e-mail of the account. */
  readonly name: string;
  readonly period: SubjectBudget["period"];
  /** The budget of a subject that has the name: its id, what the subject is, and whose it is. */
  readonly ofSubject?: { readonly id: string; readonly kind: BudgetSubject; readonly account: string };
  readonly budgetNanodollars: number;
  readonly spentNanodollars: number;
}

/** The own budget of a key or an account, whose period always ends. */
type OwnBudget = SpentBudget & { readonly period: BudgetPeriod };

/** Filter of budgets; those come first of which the most is spent. */
interface BudgetFilter {
  /** Absent: of all accounts. */
  readonly accountIds?: readonly string[] | undefined;
  /** The least share that is spent. */
  readonly leastShare: number;
  readonly limit: number;
}

/** The budgets of keys that are not revoked. */
export async function readKeyBudgets(
  { db }: { readonly db: Kysely<Database> },
  now: number,
  { accountIds, leastShare, limit }: BudgetFilter,
): Promise<OwnBudget[]> {
  const rows = await db
    .selectFrom("key_budget_usage")
    .innerJoin("keys", "keys.id", "key_budget_usage.key_id")
    .select(["keys.id", "keys.name", "keys.account_id", "keys.budget_nanodollars", "keys.budget_period"])
    .select("spent_nanodollars")
    .where(isOfRunningPeriod(now))
    .where("keys.revoked_at", "is", null)
    .where("keys.budget_nanodollars", ">", 0)
    .$narrowType<{ budget_nanodollars: number }>()
    .where("spent_nanodollars", ">=", shareOf("keys.budget_nanodollars", leastShare))
    .$if(accountIds !== undefined, (query) => query.where("keys.account_id", "in", accountIds ?? []))
    .orderBy("spent_nanodollars", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    accountId: row.account_id,
    keyId: row.id,
    name: row.name,
    period: row.budget_period ?? "month",
    budgetNanodollars: row.budget_nanodollars,
    spentNanodollars: row.spent_nanodollars,
  }));
}

/** The budgets that all keys of an account share. */
export async function readAccountBudgets(
  { db }: { readonly db: Kysely<Database> },
  now: number,
  { accountIds, leastShare, limit }: BudgetFilter,
): Promise<OwnBudget[]> {
  // A join would have the embedded store look at all accounts, in the order of the groups.
  const spent = sql<number>`(select coalesce(cast(sum(charged_nanodollars) as bigint), 0) from daily_charges
    where daily_charges.account_id = accounts.id and daily_charges.day >= ${firstDayOfPeriod("accounts", now)})`;
  const rows = await db
    .selectFrom("accounts")
    .select(["accounts.id", "accounts.email", "accounts.budget_nanodollars", "accounts.budget_period"])
    .select(spent.as("spent"))
    .where("accounts.budget_nanodollars", ">", 0)
    .$narrowType<{ budget_nanodollars: number }>()
    .where("accounts.disabled_at", "is", null)
    .where(spent, ">=", shareOf("accounts.budget_nanodollars", leastShare))
    .$if(accountIds !== undefined, (query) => query.where("accounts.id", "in", accountIds ?? []))
    .orderBy("spent", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    accountId: row.id,
    name: row.email,
    period: row.budget_period ?? "month",
    budgetNanodollars: row.budget_nanodollars,
    spentNanodollars: Number(row.spent),
  }));
}

/** The budgets of subjects, with what is added to them for a while. */
export async function readSubjectBudgets(
  { db }: { readonly db: Kysely<Database> },
  now: number,
  { accountIds, leastShare, limit }: BudgetFilter,
): Promise<SpentBudget[]> {
  const amount = raisedBudget(now);
  const rows = await db
    .selectFrom("budgets")
    .innerJoin("budget_usage", "budget_usage.budget_id", "budgets.id")
    .innerJoin("accounts", "accounts.id", "budgets.account_id")
    .select(["budgets.id", "budgets.account_id", "accounts.email", "budgets.subject", "budget_usage.name"])
    .select(["budgets.budget_period", "budget_usage.spent_nanodollars", amount.as("amount")])
    .where("accounts.disabled_at", "is", null)
    .where("budget_usage.period_start", "=", firstDayOfPeriod("budgets", now))
    .where(amount, ">", 0)
    .where("budget_usage.spent_nanodollars", ">=", sql<number>`${amount} * ${sql.lit(leastShare)}`)
    .$if(accountIds !== undefined, (query) => query.where("budgets.account_id", "in", accountIds ?? []))
    .orderBy("budget_usage.spent_nanodollars", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    accountId: row.account_id,
    name: row.name,
    period: row.budget_period,
    ofSubject: { id: row.id, kind: row.subject, account: row.email },
    budgetNanodollars: Number(row.amount),
    spentNanodollars: row.spent_nanodollars,
  }));
}

function shareOf(column: string, share: number): RawBuilder<number> {
  return sql<number>`${sql.ref(column)} * ${sql.lit(share)}`;
}

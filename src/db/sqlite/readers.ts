import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import type { AccountBalance, BudgetQuery } from "../account-balance.ts";
import { type KeyRecord, keyQuery } from "../key-query.ts";
import type { Database } from "../schema.ts";
import type { EmbeddedStore } from "../store.ts";

interface Row {
  balance: number | null;
  day: number | null;
  used: number | null;
  period_start?: number | null;
  spent?: number | null;
}

/**
 * Prepares the look-up of an account's money and quota. It is one statement, so that all it says is of one moment. Why
 * its parameters are `+?`: see `PlannedOnceDialect`.
 */
export function prepareBalanceReader(
  database: DatabaseSync,
): (accountId: string, budgetQuery?: BudgetQuery) => AccountBalance {
  const latest = `from daily_quota_usage where account_id = +?1 order by day desc limit 1`;
  const ofAccount = `select
    (select balance_nanodollars from wallets where account_id = +?1) as balance,
    (select day ${latest}) as day, (select used_tokens ${latest}) as used`;
  const latestPeriod = `from key_budget_usage where account_id = +?1 and key_id = +?2 and period_start >= +?3
      order by period_start desc limit 1`;
  const plain = database.prepare(ofAccount);
  const withBudget = database.prepare(
    `${ofAccount}, (select period_start ${latestPeriod}) as period_start, (select spent_nanodollars ${latestPeriod}) as spent`,
  );
  return (accountId, budgetQuery) => {
    const row =
      budgetQuery === undefined
        ? plain.get(accountId)
        : withBudget.get(accountId, budgetQuery.keyId, budgetQuery.periodStart);
    const { balance, day, used, period_start: periodStart, spent } = row as unknown as Row;
    return {
      balanceNanodollars: balance === null ? 0 : balance,
      quotaDay: day === null ? undefined : day,
      usedTokens: used === null ? 0 : used,
      ...(budgetQuery !== undefined && {
        budget: { periodStart: periodStart ?? undefined, spentNanodollars: spent ?? 0, othersNanodollars: 0 },
      }),
    };
  };
}

/** Prepares the look-up of what an account's calls cost that began since a day. */
export function prepareSpentReader(database: DatabaseSync): (accountId: string, sinceDay: number) => number {
  const statement = database.prepare(
    "select coalesce(sum(charged_nanodollars), 0) as spent from daily_charges where account_id = +?1 and day >= +?2",
  );
  return (accountId, sinceDay) => (statement.get(accountId, sinceDay) as unknown as { spent: number }).spent;
}

/** Prepares the look-up of budgets of subjects. */
export function prepareBudgetsReader(database: DatabaseSync): EmbeddedStore["readBudgets"] {
  const statement = database.prepare(
    "select spent_nanodollars as spent from budget_usage where budget_id = +?1 and name = +?2 and period_start = +?3",
  );
  return (_accountId, draws) =>
    draws.map(({ budget, name, periodStart }) => {
      const row = statement.get(budget.id, name, periodStart) as { spent: number } | undefined;
      return { spentNanodollars: row === undefined ? 0 : row.spent, heldNanodollars: 0 };
    });
}

/** Compiles the look-up once and returns the reader. */
export function prepareKeyReader(
  db: Kysely<Database>,
  database: DatabaseSync,
  column?: "foreign_hash",
): (value: string) => KeyRecord | undefined {
  const statement = database.prepare(keyQuery(db, "sqlite", column).compile().sql);
  return (value) => statement.get(value) as KeyRecord | undefined;
}

import type { DatabaseSync } from "node:sqlite";
import type { BudgetAsked, Funds } from "../../funds.ts";
import { appliedSetting } from "./applier.ts";

/** What the tables say of an account, and the last batch of the journal that is in them. */
export interface WrittenFunds {
  readonly funds: Funds;
  readonly applied: number;
}

interface Row {
  applied: string | null;
  balance: number | null;
  day: number | null;
  used: number | null;
  month?: number | null;
  spent?: number | null;
}

/**
 * Compiles the look-up once. It is one statement, so that all it says is of one moment. What stands for the pluses is
 * said in `dialect.ts`.
 */
export function prepareWrittenFunds(database: DatabaseSync): (accountId: string, asked?: BudgetAsked) => WrittenFunds {
  const latest = `from quota_days where account_id = +?1 order by day desc limit 1`;
  const ofAccount = `select
    (select value from settings where name = '${appliedSetting}') as applied,
    (select balance_nanodollars from wallets where account_id = +?1) as balance,
    (select day ${latest}) as day, (select used_tokens ${latest}) as used`;
  const latestMonth = `from key_months where account_id = +?1 and key_id = +?2 and month >= +?3
      order by month desc limit 1`;
  const plain = database.prepare(ofAccount);
  const withBudget = database.prepare(
    `${ofAccount}, (select month ${latestMonth}) as month, (select spent_nanodollars ${latestMonth}) as spent`,
  );
  return (accountId, asked) => {
    const row = asked === undefined ? plain.get(accountId) : withBudget.get(accountId, asked.keyId, asked.month);
    const { applied, balance, day, used, month, spent } = row as unknown as Row;
    return {
      applied: applied === null ? 0 : Number(applied),
      funds: {
        balanceNanodollars: balance === null ? 0 : balance,
        quotaDay: day === null ? undefined : day,
        usedTokens: used === null ? 0 : used,
        ...(asked !== undefined && {
          budget: { month: month ?? undefined, spentNanodollars: spent ?? 0, othersNanodollars: 0 },
        }),
      },
    };
  };
}

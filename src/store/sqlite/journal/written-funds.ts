import type { DatabaseSync } from "node:sqlite";
import type { Funds } from "../../funds.ts";
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
}

/** Compiles the look-up once. It is one statement, so that all it says is of one moment. */
export function prepareWrittenFunds(database: DatabaseSync): (accountId: string) => WrittenFunds {
  const latest = "from quota_days where account_id = ?1 order by day desc limit 1";
  const statement = database.prepare(`select
    (select value from settings where name = '${appliedSetting}') as applied,
    (select balance_nanodollars from wallets where account_id = ?1) as balance,
    (select day ${latest}) as day, (select used_tokens ${latest}) as used`);
  return (accountId) => {
    const { applied, balance, day, used } = statement.get(accountId) as unknown as Row;
    return {
      applied: applied === null ? 0 : Number(applied),
      funds: {
        balanceNanodollars: balance === null ? 0 : balance,
        quotaDay: day === null ? undefined : day,
        usedTokens: used === null ? 0 : used,
      },
    };
  };
}

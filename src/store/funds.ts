import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import type { Database } from "./database.ts";

/** What is written of an account's money and quota. */
export interface Funds {
  /** 0 for an account that never had an entry. */
  balanceNanodollars: number;
  /** The latest day on which quota was drawn, days since 1970; absent when none ever was. */
  quotaDay: number | undefined;
  /** Drawn on that day. */
  usedTokens: number;
  /** Held by open calls of other processes; absent where no other writes. */
  others?: { nanodollars: number; tokens: number };
}

/** Compiles the look-ups once and returns the reader. */
export function prepareFunds(db: Kysely<Database>, database: DatabaseSync): (accountId: string) => Funds {
  const wallet = database.prepare(
    db.selectFrom("wallets").select("balance_nanodollars").where("account_id", "=", "").compile().sql,
  );
  const quota = database.prepare(
    db
      .selectFrom("quota_days")
      .select(["day", "used_tokens"])
      .where("account_id", "=", "")
      .orderBy("day", "desc")
      .compile().sql,
  );
  return (accountId) => {
    const purse = wallet.get(accountId) as { balance_nanodollars: number } | undefined;
    const drawn = quota.get(accountId) as { day: number; used_tokens: number } | undefined;
    return {
      balanceNanodollars: purse === undefined ? 0 : purse.balance_nanodollars,
      quotaDay: drawn?.day,
      usedTokens: drawn === undefined ? 0 : drawn.used_tokens,
    };
  };
}

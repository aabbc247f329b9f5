import type { Transaction } from "kysely";
import { addPayingAccount, toPayerNumber } from "./payers.ts";
import type { Database } from "./schema.ts";

/** An account's money and quota as they are written. */
export interface AccountBalance {
  /** 0 for an account that never had an entry. */
  balanceNanodollars: number;
  /** The latest day on which quota was drawn, days since 1970; absent when none ever was. */
  quotaDay: number | undefined;
  /** Drawn on that day. */
  usedTokens: number;
  /** Held by open calls; absent in the embedded store, whose process knows it by itself. */
  held?: HeldAmounts;
  /** Budget of the requested key. */
  budget?: BudgetBalance | undefined;
}

/** Held by the open calls of all processes of a shared store. */
export interface HeldAmounts {
  nanodollars: number;
  /** The latest day whose quota they draw on; absent when none does. */
  quotaDay: number | undefined;
  /** Held of that day. */
  tokens: number;
}

/** Payments of the budget of a key. */
export interface BudgetBalance {
  /** The start of the latest period from the asked one on in which it paid; absent if it never paid. */
  periodStart: number | undefined;
  /** Paid in that period. */
  spentNanodollars: number;
  /** Held in that period, or else the asked one, by open calls; 0 in the embedded store, whose process knows it by itself. */
  othersNanodollars: number;
}

/** A key whose budget is asked for, and the first UTC day of the period. */
export interface BudgetQuery {
  keyId: string;
  periodStart: number;
}

/**
 * Adds to a wallet in the statement itself: another process may be charging it at the same time. For the transaction
 * that writes the entry.
 *
 * @returns The balance afterwards as text, which may be beyond 2^53: no driver says such a number.
 */
export async function moveWallet(db: Transaction<Database>, accountId: string, nanodollars: number): Promise<string> {
  await addPayingAccount(db, accountId);
  const { balance } = await db
    .insertInto("wallet_rows")
    .values({ account_id: toPayerNumber(accountId), balance_nanodollars: nanodollars })
    .onConflict((conflict) =>
      conflict.column("account_id").doUpdateSet((set) => ({
        balance_nanodollars: set("wallet_rows.balance_nanodollars", "+", set.ref("excluded.balance_nanodollars")),
      })),
    )
    .returning((wallet) => wallet.cast<string>("balance_nanodollars", "text").as("balance"))
    .executeTakeFirstOrThrow();
  return balance;
}

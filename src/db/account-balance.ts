import type { Transaction } from "kysely";
import { addPayingAccount, toPayerNumber } from "./payers.ts";
import type { Database } from "./schema.ts";

/** An account's money and quota as they are written. */
export interface AccountBalance {
  /** 0 for an account that never had an entry. */
  balanceNanodollars: number;
  /** The latest day with quota drawn, in days since 1970, at most one day ahead; undefined if none was ever drawn. */
  quotaDay: number | undefined;
  /** Tokens drawn on that day, plus tokens drawn on days further ahead that count for it: see {@link toQuota}. */
  usedTokens: number;
  /** Amounts held by open calls; absent in the embedded store, whose process counts them in memory. */
  held?: HeldAmounts;
}

/** Held by the open calls of all processes of a shared store. */
export interface HeldAmounts {
  nanodollars: number;
  /** The latest day whose quota they draw on; absent when none does. */
  quotaDay: number | undefined;
  /** Held of that day. */
  tokens: number;
}

/** Quota of an account as its rows say. */
interface QuotaRows {
  /** The latest day that is at most one day ahead, and the tokens drawn on it. */
  readonly day: number | null;
  readonly used: number | null;
  /** Drawn on days further ahead that counts today; absent when nothing was. */
  readonly ahead: number | null;
}

/**
 * Combines the quota drawn on a day with quota that was drawn further ahead. A row dated more than one day ahead was
 * written while a clock was wrong. It counts once, on the first day that sees it, and the writer that sees it stores
 * that day in `counted_day`. So a wrong clock neither creates quota nor denies it to an account for long.
 */
export function toQuota(
  { day, used, ahead }: QuotaRows,
  today: number,
): Pick<AccountBalance, "quotaDay" | "usedTokens"> {
  const isOfToday = day !== null && day >= today;
  const drawn = used === null ? 0 : used;
  if (ahead === null) return { quotaDay: day === null ? undefined : day, usedTokens: drawn };
  return { quotaDay: isOfToday ? day : today, usedTokens: (isOfToday ? drawn : 0) + ahead };
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

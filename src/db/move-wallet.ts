import type { Transaction } from "kysely";
import type { Database } from "./database.ts";

/**
 * Adds to a wallet in the statement itself: another process may be charging it at the same time. For the transaction
 * that writes the entry.
 *
 * @returns The balance afterwards as text, which may be beyond 2^53: no driver says such a number.
 */
export async function moveWallet(db: Transaction<Database>, accountId: string, nanodollars: number): Promise<string> {
  const { balance } = await db
    .insertInto("wallets")
    .values({ account_id: accountId, balance_nanodollars: nanodollars })
    .onConflict((conflict) =>
      conflict.column("account_id").doUpdateSet((set) => ({
        balance_nanodollars: set("wallets.balance_nanodollars", "+", set.ref("excluded.balance_nanodollars")),
      })),
    )
    .returning((wallet) => wallet.cast<string>("balance_nanodollars", "text").as("balance"))
    .executeTakeFirstOrThrow();
  return balance;
}

import type { Store } from "../db/index.ts";

const dayMs = 86_400_000;
/** The days whose charges tell how long a wallet lasts. */
const paceDays = 7;
/** A wallet that lasts for less than this is low. */
export const lowDays = 7;

/** Charges of an account a day at its present pace, in nanodollars, and how long its wallet lasts. */
export interface WalletPace {
  readonly accountId: string;
  readonly balanceNanodollars: number;
  readonly dailyNanodollars: number;
  /** In tenths of a day; 0 where nothing is left. */
  readonly daysLeft: number;
}

/**
 * The pace at which wallets are spent: what was charged in the last days, shared among the days since the first of these
 * charges, because an account that began a day ago has spent for a day. Accounts without charges are left out.
 *
 * @param of One account, or all whose wallets are low.
 */
export async function readWalletPaces(
  { db }: Pick<Store, "db">,
  now: number,
  of: { readonly accountId: string } | "low",
): Promise<WalletPace[]> {
  const today = Math.floor(now / dayMs);
  const rows = await db
    .selectFrom("daily_charges")
    .innerJoin("wallets", "wallets.account_id", "daily_charges.account_id")
    .select(["wallets.account_id", "wallets.balance_nanodollars"])
    .select(({ fn }) => [fn.sum<number>("charged_nanodollars").as("charged"), fn.min<number>("day").as("first")])
    .where("day", ">", today - paceDays)
    .where("charged_nanodollars", ">", 0)
    .$if(of !== "low", (query) => query.where("daily_charges.account_id", "=", (of as { accountId: string }).accountId))
    .groupBy(["wallets.account_id", "wallets.balance_nanodollars"])
    // Nobody spends less a day than a seventh of that; who has more lasts for longer in any case.
    .$if(of === "low", (query) =>
      query.having(({ eb, fn, ref }) =>
        eb(ref("wallets.balance_nanodollars"), "<", eb(fn.sum<number>("charged_nanodollars"), "*", lowDays)),
      ),
    )
    .execute();
  const paces = rows.map(({ account_id: accountId, balance_nanodollars: balance, charged, first }): WalletPace => {
    const daily = Math.round(Number(charged) / (today - Number(first) + 1));
    const days = daily === 0 ? Number.POSITIVE_INFINITY : balance / daily;
    return {
      accountId,
      balanceNanodollars: balance,
      dailyNanodollars: daily,
      daysLeft: Math.max(0, Math.floor(days * 10) / 10),
    };
  });
  return of === "low" ? paces.filter(({ daysLeft }) => daysLeft < lowDays) : paces;
}

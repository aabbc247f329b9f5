import type { Store } from "../db/index.ts";
import { startOfDay } from "../db/index.ts";

/** A line of an account's statement: a movement made by hand, or all charges of a UTC day together. */
export interface StatementLine {
  /** Milliseconds since 1970; of a day's charges its end. */
  at: number;
  kind: "charges" | "credit" | "debit";
  /** Negative where the wallet paid. */
  nanodollars: number;
  note: string | undefined;
  /** After this line. */
  balanceNanodollars: number;
}

/**
 * The whole statement of an account, newest first. Charges are summed up by the day of their calls: an account may have ten
 * million of them, and nobody reads those one by one.
 */
export async function readStatement({ db }: Store, accountId: string): Promise<StatementLine[]> {
  const [byHand, charges] = await Promise.all([
    db
      .selectFrom("transactions")
      .select(["at", "kind", "amount_nanodollars", "note"])
      .where("account_id", "=", accountId)
      .execute(),
    db
      .selectFrom("daily_charges")
      .select(["day", "charged_nanodollars as charged"])
      .where("account_id", "=", accountId)
      .execute(),
  ]);
  const lines = [
    ...byHand.map(({ at, kind, amount_nanodollars: nanodollars, note }) => ({
      at,
      kind,
      nanodollars,
      note: note ?? undefined,
    })),
    ...charges.map(({ day, charged }) => ({
      at: startOfDay(day + 1) - 1,
      kind: "charges" as const,
      nanodollars: -charged,
      note: undefined,
    })),
  ].sort((one, other) => one.at - other.at);
  let balance = 0;
  return lines
    .map((line) => {
      balance += line.nanodollars;
      return { ...line, balanceNanodollars: balance };
    })
    .reverse();
}

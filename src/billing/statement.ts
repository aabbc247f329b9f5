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
 * The whole statement of an account, newest first. Charges are summed up by the day of their calls, out of the sums
 * of days: an account may have ten million of them, and nobody reads those one by one.
 */
export async function readStatement({ db }: Store, accountId: string): Promise<StatementLine[]> {
  const [byHand, charges] = await Promise.all([
    db
      .selectFrom("entries")
      .select(["at", "kind", "amount_nanodollars", "note"])
      .where("account_id", "=", accountId)
      .where("kind", "<>", "charge")
      .execute(),
    db
      .selectFrom("usage_days")
      .select((row) => ["day", row.fn.sum<number>("charged_nanodollars").as("charged")])
      .where("account_id", "=", accountId)
      .groupBy("day")
      .execute(),
  ]);
  const lines = [
    ...byHand.map(({ at, kind, amount_nanodollars: nanodollars, note }) => ({
      at,
      kind: kind as "credit" | "debit",
      nanodollars,
      note: note ?? undefined,
    })),
    ...charges
      .filter(({ charged }) => charged !== 0)
      .map(({ day, charged }) => ({
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

import { dayOf, type Store, startOfDay, startOfPeriod } from "../db/index.ts";
import { readUsageBuckets, type UsageFigures } from "./usage.ts";

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

/** The wallet of an account in a UTC month; opening balance, charges and transactions add up to the closing one. */
export interface MonthlyStatement {
  /** The month of the first line of the account, or this one, milliseconds since 1970. */
  readonly firstMonth: number;
  readonly openingNanodollars: number;
  /** Negative where the wallet paid. */
  readonly chargesNanodollars: number;
  /** Models that were charged, the most expensive first; of some charges the model may not be known. */
  readonly models: readonly { readonly id: string; readonly figures: UsageFigures }[];
  /** Credits and debits, oldest first. */
  readonly transactions: readonly StatementLine[];
  readonly closingNanodollars: number;
}

/** @param span First moment of the month, and first moment of the next month. */
export async function readMonthlyStatement(
  store: Store,
  accountId: string,
  { from, until }: { from: number; until: number },
): Promise<MonthlyStatement> {
  const span = { startDay: dayOf(from), endDay: dayOf(until) - 1 };
  const { totals } = await readUsageBuckets(store, accountId, { period: "monthly", ...span });
  // After the models: a call that ends in between is among the charges alone.
  const lines = (await readStatement(store, accountId)).reverse();
  const before = lines.filter(({ at }) => at < from);
  const within = lines.filter(({ at }) => at >= from && at < until);
  const charges = within.filter(({ kind }) => kind === "charges");
  const openingNanodollars = before.at(-1)?.balanceNanodollars ?? 0;
  return {
    firstMonth: startOfDay(startOfPeriod(lines[0]?.at ?? from)),
    openingNanodollars,
    chargesNanodollars: charges.reduce((sum, { nanodollars }) => sum + nanodollars, 0),
    models: [...totals.byModel]
      .map(([id, figures]) => ({ id, figures }))
      .filter(({ figures }) => figures.charged_nanodollars !== 0)
      .sort((one, other) => other.figures.charged_nanodollars - one.figures.charged_nanodollars),
    transactions: within.filter(({ kind }) => kind !== "charges"),
    closingNanodollars: within.at(-1)?.balanceNanodollars ?? openingNanodollars,
  };
}

import { type RawBuilder, sql } from "kysely";
import { dayOf, type Store, startOfDay, startOfPeriod } from "../db/index.ts";
import { isBehind, type PageQuery, toPageStart } from "../db/page.ts";
import { readUsageBuckets, type UsageFigures } from "./usage.ts";

/** A line of an account's statement: a movement made by hand, or all charges of a UTC day together. */
export interface StatementLine {
  /** Absent for the charges of a day. */
  id?: string;
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
      .select(["id", "at", "kind", "amount_nanodollars", "note"])
      .where("account_id", "=", accountId)
      .execute(),
    db
      .selectFrom("daily_charges")
      .select(["day", "charged_nanodollars as charged"])
      .where("account_id", "=", accountId)
      .execute(),
  ]);
  const lines = [
    ...byHand.map(({ id, at, kind, amount_nanodollars: nanodollars, note }) => ({
      id,
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

/** The wallet of an account in a UTC month, in sums; they add up to the closing balance. */
export interface WalletSums {
  readonly openingNanodollars: number;
  readonly creditsNanodollars: number;
  /** Negative. */
  readonly debitsNanodollars: number;
  /** Negative where the wallet paid. */
  readonly chargesNanodollars: number;
  readonly closingNanodollars: number;
}

/** An account with its sums of a month. */
export interface AccountSums {
  readonly account: { readonly id: string; readonly email: string; readonly name: string | null };
  readonly sums: WalletSums;
}

/**
 * A page of accounts with their sums, oldest accounts first. Accounts without any movement until the end of the span are left
 * out, so a page may have fewer than `limit`; `next` is where the next page begins, and absent on the last one.
 *
 * @throws {GatewayError} `invalid_request` for an `after` that is no account.
 */
export async function readStatements(
  { db }: Pick<Store, "db">,
  span: { readonly from: number; readonly until: number },
  { limit, after }: PageQuery,
): Promise<{ readonly rows: readonly AccountSums[]; readonly next: string | undefined }> {
  let query = db.selectFrom("accounts").select(["id", "email", "name"]);
  if (after !== undefined) {
    const last = db.selectFrom("accounts").select(["id", "created_at"]).where("id", "=", after);
    query = query.where(isBehind("created_at", "id", toPageStart(await last.executeTakeFirst(), after)));
  }
  const accounts = await query.orderBy("created_at").orderBy("id").limit(limit).execute();
  const sums = await readWalletSums(
    { db },
    accounts.map(({ id }) => id),
    span,
  );
  const rows = accounts.flatMap((account) => {
    const own = sums.get(account.id);
    return own === undefined ? [] : [{ account, sums: own }];
  });
  return { rows, next: accounts.length < limit ? undefined : accounts.at(-1)?.id };
}

/** The first moment of the gateway, milliseconds since 1970: of its oldest account, or of its first call. */
export async function readFirstMoment({ db }: Pick<Store, "db">, now: number): Promise<number> {
  const [account, call] = await Promise.all([
    db
      .selectFrom("accounts")
      .select("created_at as at")
      .orderBy("created_at")
      .orderBy("id")
      .limit(1)
      .executeTakeFirst(),
    db.selectFrom("calls").select("opened_at as at").orderBy("id_bytes").limit(1).executeTakeFirst(),
  ]);
  return Math.min(now, ...[account, call].flatMap((first) => (first === undefined ? [] : [Number(first.at)])));
}

/** The sums of all accounts together. @param span First moment of the month, and first moment of the next month. */
export async function readStatementTotals(
  { db }: Pick<Store, "db">,
  span: { readonly from: number; readonly until: number },
): Promise<WalletSums> {
  const { byHand, charges } = sumsQueries({ db }, span);
  const [hand, spent] = await Promise.all([byHand.executeTakeFirst(), charges.executeTakeFirst()]);
  return toWalletSums(hand, spent);
}

/**
 * The sums of several accounts, by their ids. Accounts without any movement until the end of the span are left out.
 *
 * @param span First moment of the month, and first moment of the next month.
 */
async function readWalletSums(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[],
  span: { readonly from: number; readonly until: number },
): Promise<ReadonlyMap<string, WalletSums>> {
  if (accountIds.length === 0) return new Map();
  const all = sumsQueries({ db }, span);
  const [byHand, charges] = await Promise.all([
    all.byHand.select("account_id").where("account_id", "in", accountIds).groupBy("account_id").execute(),
    all.charges.select("account_id").where("account_id", "in", accountIds).groupBy("account_id").execute(),
  ]);
  const handOf = new Map(byHand.map((row) => [row.account_id, row]));
  const chargesOf = new Map(charges.map((row) => [row.account_id, row]));
  const ids = new Set([...handOf.keys(), ...chargesOf.keys()]);
  return new Map([...ids].map((id) => [id, toWalletSums(handOf.get(id), chargesOf.get(id))]));
}

/** Sums of credits, debits and charges until the end of a month: those before it, and those in it. */
function sumsQueries({ db }: Pick<Store, "db">, { from, until }: { readonly from: number; readonly until: number }) {
  const [startDay, endDay] = [dayOf(from), dayOf(until)];
  const sumIf = (condition: RawBuilder<unknown>, amount: RawBuilder<unknown>) =>
    sql<number>`coalesce(cast(sum(case when ${condition} then ${amount} else 0 end) as bigint), 0)`;
  const moved = sql`amount_nanodollars`;
  return {
    byHand: db
      .selectFrom("transactions")
      .select([
        sumIf(sql`at < ${from}`, moved).as("before"),
        sumIf(sql`at >= ${from} and amount_nanodollars > 0`, moved).as("credits"),
        sumIf(sql`at >= ${from} and amount_nanodollars < 0`, moved).as("debits"),
      ])
      .where("at", "<", until),
    charges: db
      .selectFrom("daily_charges")
      .select([
        sumIf(sql`day < ${startDay}`, sql`charged_nanodollars`).as("before"),
        sumIf(sql`day >= ${startDay}`, sql`charged_nanodollars`).as("charges"),
      ])
      .where("day", "<", endDay),
  };
}

function toWalletSums(
  hand: { readonly before: number; readonly credits: number; readonly debits: number } | undefined,
  spent: { readonly before: number; readonly charges: number } | undefined,
): WalletSums {
  const openingNanodollars = Number(hand?.before ?? 0) - Number(spent?.before ?? 0);
  const [creditsNanodollars, debitsNanodollars] = [Number(hand?.credits ?? 0), Number(hand?.debits ?? 0)];
  const chargesNanodollars = 0 - Number(spent?.charges ?? 0);
  const closingNanodollars = openingNanodollars + creditsNanodollars + debitsNanodollars + chargesNanodollars;
  return { openingNanodollars, creditsNanodollars, debitsNanodollars, chargesNanodollars, closingNanodollars };
}

/** A movement of a wallet other than the charge of a call. */
export interface WalletTransaction {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: string;
  readonly nanodollars: number;
  readonly note: string | undefined;
}

/** A page of the transactions of an account, newest first. @throws {GatewayError} `invalid_request` for an unknown `after`. */
export async function readTransactions(
  { db }: Pick<Store, "db">,
  accountId: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<WalletTransaction[]> {
  const all = db.selectFrom("transactions").where("account_id", "=", accountId);
  let query = all.select(["id", "at", "kind", "amount_nanodollars as nanodollars", "note"]);
  if (after !== undefined) {
    const last = await all.select(["id", "at"]).where("id", "=", after).executeTakeFirst();
    const { at, id } = toPageStart(last, after);
    query = query.where("at", "<=", at).where((where) => where.or([where("at", "<", at), where("id", "<", id)]));
  }
  const rows = await query.orderBy("at", "desc").orderBy("id", "desc").limit(limit).execute();
  return rows.map(({ note, ...row }) => ({ ...row, note: note ?? undefined }));
}

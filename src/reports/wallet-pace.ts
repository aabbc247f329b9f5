import { type RawBuilder, type SqlBool, sql } from "kysely";
import { rangesOf, type Store, toPayerNumber } from "../db/index.ts";
import { hasManyAccounts, readKept } from "./many-accounts.ts";

const dayMs = 86_400_000;
/** The days whose charges tell how long a wallet lasts. */
const paceDays = 7;
/** A wallet that lasts for less than this is low. */
export const lowDays = 7;
/** Accounts with refused requests whose wallets are looked at. */
const refusedMax = 200;

/** Charges of an account a day at its present pace, in nanodollars, and how long its wallet lasts. */
export interface WalletPace {
  readonly accountId: string;
  readonly balanceNanodollars: number;
  readonly dailyNanodollars: number;
  /** In tenths of a day; 0 where nothing is left. */
  readonly daysLeft: number;
}

/**
 * The pace of spending from a wallet: the charges of the last days, divided by the days since the first of these
 * charges, because an account that began a day ago has spent for one day. Undefined without charges.
 */
export async function readWalletPace(
  { db }: Pick<Store, "db">,
  now: number,
  accountId: string,
): Promise<WalletPace | undefined> {
  const [pace] = await readPaces(db, now, sql`wallet_rows.account_id = ${toPayerNumber(accountId)}`);
  return pace;
}

/**
 * Reads the low wallets that run out first. The embedded store reads wallets in ranges, and reads many accounts at most
 * once a minute.
 */
export async function readLowWallets(
  { db, shared }: Pick<Store, "db" | "shared">,
  now: number,
  limit: number,
): Promise<readonly WalletPace[]> {
  const read = async () => {
    let low: WalletPace[] = [];
    const add = async (wallets: RawBuilder<SqlBool>) => {
      // Nobody spends more per day than the whole sum, so a wallet with more than `lowDays` times the sum is never low.
      const isLow = sql<SqlBool>`wallet_rows.balance_nanodollars < sum(spent_nanodollars) * ${sql.lit(lowDays)}`;
      const paces = (await readPaces(db, now, wallets, isLow)).filter(({ daysLeft }) => daysLeft < lowDays);
      low = low.concat(paces).sort(byDaysLeft).slice(0, limit);
    };
    if (shared) await add(sql`true`);
    else for await (const range of rangesOf(db, ofWallets, paceDays)) await add(range);
    return { wanted: low };
  };
  const isKept = !shared && (await hasManyAccounts(db));
  const { wanted: wallets } = await (isKept ? readKept(db, `low wallets ${limit}`, read) : read());
  return wallets;
}

/** Reads the empty wallets for which requests were refused today: they have no pace if nothing was charged lately. */
export async function readRefusedWallets(
  { db }: Pick<Store, "db">,
  now: number,
  limit: number,
): Promise<readonly Pick<WalletPace, "accountId" | "balanceNanodollars" | "daysLeft">[]> {
  const rows = await db
    .selectFrom("refusals")
    .select("account_id")
    .distinct()
    .where("opened_at", ">=", now - (now % dayMs))
    .where("error_code", "=", "insufficient_balance")
    .orderBy("account_id")
    .limit(refusedMax)
    .execute();
  const owners = new Map(rows.map(({ account_id: id }) => [toPayerNumber(id), id]));
  if (owners.size === 0) return [];
  const wallets = await db
    .selectFrom("wallet_rows")
    .select(["account_id", "balance_nanodollars"])
    .where("account_id", "in", [...owners.keys()])
    .execute();
  const balances = new Map(wallets.map((row) => [Number(row.account_id), row.balance_nanodollars]));
  return [...owners]
    .map(([no, accountId]) => ({ accountId, balanceNanodollars: balances.get(no) ?? 0, daysLeft: 0 }))
    .filter(({ balanceNanodollars }) => balanceNanodollars <= 0)
    .sort((one, other) => one.balanceNanodollars - other.balanceNanodollars)
    .slice(0, limit);
}

const ofWallets = { table: "wallet_rows", columns: ["account_id"] } as const;

function byDaysLeft(one: WalletPace, other: WalletPace): number {
  return one.daysLeft - other.daysLeft || one.balanceNanodollars - other.balanceNanodollars;
}

/** The paces of wallets that have charges, by the numbers of accounts: their names are looked up of those that fit alone. */
async function readPaces(
  db: Store["db"],
  now: number,
  wallets: RawBuilder<SqlBool>,
  having: RawBuilder<SqlBool> = sql`true`,
): Promise<WalletPace[]> {
  const today = Math.floor(now / dayMs);
  const rows = await db
    .selectFrom("wallet_rows")
    .innerJoin("spending", (join) =>
      join
        .onRef("spending.account_id", "=", "wallet_rows.account_id")
        .onRef("spending.subject_id", "=", "wallet_rows.account_id")
        .on("spending.name", "=", sql.lit("")),
    )
    .select("wallet_rows.balance_nanodollars")
    .select(({ fn }) => [
      sql<string>`(select id from payers where payers.no = wallet_rows.account_id)`.as("account"),
      fn.sum<number>("spent_nanodollars").as("charged"),
      fn.min<number>("day").as("first"),
    ])
    .where("day", ">", today - paceDays)
    .where("spent_nanodollars", ">", 0)
    .where(wallets)
    .where("wallet_rows.account_id", "not in", ({ selectFrom }) =>
      selectFrom("accounts")
        .innerJoin("payers", "payers.id", "accounts.id")
        .select("payers.no")
        .where("accounts.billed_afterwards", "=", sql.lit(1)),
    )
    .groupBy(["wallet_rows.account_id", "wallet_rows.balance_nanodollars"])
    .having(having)
    .execute();
  return rows.map(({ account: accountId, balance_nanodollars: balance, charged, first }): WalletPace => {
    const daily = Math.round(Number(charged) / (today - Number(first) + 1));
    const days = daily === 0 ? Number.POSITIVE_INFINITY : balance / daily;
    return {
      accountId,
      balanceNanodollars: balance,
      dailyNanodollars: daily,
      daysLeft: Math.max(0, Math.floor(days * 10) / 10),
    };
  });
}

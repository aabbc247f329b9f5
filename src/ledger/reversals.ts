import { type Kysely, sql } from "kysely";
import { formatUsd, GatewayError } from "../contract/index.ts";
import { type Database, moveWallet, type Store, type TransactionScope } from "../db/index.ts";
import { demoReferences, noteLengthMax } from "./wallet.ts";

/** The reasons why a transaction cannot be reversed. */
export const irreversibleReasons = ["reversed", "debit", "payment", "voucher", "demo_credit"] as const;
export type IrreversibleReason = (typeof irreversibleReasons)[number];

/** A credit that was taken back. */
export interface Reversal {
  /** The debit that takes it back. */
  readonly entryId: string;
  readonly accountId: string;
  /** The amount of the debit, which is negative. */
  readonly nanodollars: number;
  readonly note: string;
  readonly balanceNanodollars: number;
}

const reversalPrefix = "reversal:";

/** The id of the debit that takes a credit back: the primary key lets only one be written. */
function toReversalId(transactionId: string): string {
  return `${reversalPrefix}${transactionId}`;
}

/**
 * Returns why a transaction cannot be reversed. The payment provider gives payments back, a voucher is spent once, and the
 * demo credit ends by itself.
 *
 * @param reversedIds The transactions that were reversed: see {@link readReversed}.
 */
export function whyIrreversible(
  { id, nanodollars }: { readonly id: string; readonly nanodollars: number },
  reversedIds: ReadonlySet<string>,
): IrreversibleReason | undefined {
  if (nanodollars <= 0) return "debit";
  const [source, , ...reference] = id.split(":");
  if (source === "payment" || source === "voucher") return source;
  if (reference.join(":") === demoReferences.given) return "demo_credit";
  return reversedIds.has(id) ? "reversed" : undefined;
}

/** The transactions that reversals among these ids take back. */
export function reversedBy(ids: readonly string[]): ReadonlySet<string> {
  return new Set(ids.flatMap((id) => (id.startsWith(reversalPrefix) ? [id.slice(reversalPrefix.length)] : [])));
}

/** The transactions of an account that were reversed. */
export async function readReversed(
  { db }: { readonly db: Kysely<Database> },
  accountId: string,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("transactions")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "like", `${reversalPrefix}%`)
    .execute();
  return reversedBy(rows.map(({ id }) => id));
}

const refusals: Readonly<Record<IrreversibleReason, string>> = {
  reversed: "It was already reversed",
  debit: "It is a debit, and only credits are reversed; add a credit instead",
  payment: "It was paid through the payment provider; refund it there, and the wallet follows",
  voucher: "It belongs to a voucher, which is spent; deduct the amount with `modelgate wallet debit`",
  demo_credit: "It is the demo credit of the sandbox, which ends when a provider is configured",
};

/** Names a credit. */
export interface CreditToReverse {
  readonly transactionId: string;
  /** Absent: the account of the transaction. */
  readonly accountId?: string | undefined;
  /** Absent: the note of the credit. */
  readonly note?: string | undefined;
}

/**
 * Takes a credit back as a whole, once. Like a debit by hand it may leave the balance below zero, and running calls keep what
 * they hold.
 *
 * @throws {GatewayError} `not_found`; `conflict` for a transaction that cannot be reversed; `invalid_request` where the balance
 * would leave 2^53.
 */
export async function reverseCredit(
  store: TransactionScope,
  { transactionId, accountId, note }: CreditToReverse,
  now: () => number,
): Promise<Reversal> {
  return store.change(async (db) => {
    const credit = await db.selectFrom("transactions").selectAll().where("id", "=", transactionId).executeTakeFirst();
    if (credit === undefined || (accountId ?? credit.account_id) !== credit.account_id) {
      throw new GatewayError("not_found", `There is no transaction ${transactionId}`, { param: "transaction_id" });
    }
    const { account_id: owner, amount_nanodollars: nanodollars } = credit;
    const reason = whyIrreversible({ id: transactionId, nanodollars }, new Set());
    if (reason !== undefined) throw irreversible(transactionId, reason);
    const entryId = toReversalId(transactionId);
    const text = `Reversal: ${note ?? credit.note ?? transactionId}`.slice(0, noteLengthMax);
    const row = { id: entryId, account_id: owner, kind: "debit" as const, amount_nanodollars: -nanodollars };
    const { numInsertedOrUpdatedRows: entered } = await db
      .insertInto("transactions")
      .values({ ...row, note: text, at: now() })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirstOrThrow();
    if (entered === 0n) throw irreversible(transactionId, "reversed");
    const balanceNanodollars = Number(await moveWallet(db, owner, -nanodollars));
    if (!Number.isSafeInteger(balanceNanodollars)) {
      const message = `Cannot reverse ${transactionId}: the balance would leave the range of 2^53 nanodollars`;
      throw new GatewayError("invalid_request", message);
    }
    return { entryId, accountId: owner, nanodollars: -nanodollars, note: text, balanceNanodollars };
  });
}

function irreversible(transactionId: string, reason: IrreversibleReason): GatewayError {
  const message = `Cannot reverse ${transactionId}: ${refusals[reason]}`;
  return new GatewayError("conflict", message, { param: "transaction_id" });
}

/** Reversals that do not take back exactly one credit of their account. One sentence each. */
export async function findWrongReversals({ db }: Pick<Store, "db">, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string; amount: number | string; credited: number | string | null }>`
    select debit.id, debit.amount_nanodollars as amount, credit.amount_nanodollars as credited
    from transactions as debit left join transactions as credit
      on credit.id = substr(debit.id, ${sql.lit(reversalPrefix.length + 1)}) and credit.account_id = debit.account_id
    where debit.id like ${sql.lit(`${reversalPrefix}%`)}
      and coalesce(credit.amount_nanodollars, 0) <> -debit.amount_nanodollars
    order by debit.id limit ${sql.lit(limit)}`.execute(db);
  return rows.map(({ id, amount, credited }) =>
    credited === null
      ? `Transaction ${id} takes back ${formatUsd(-Number(amount))} USD: its account has no such credit`
      : `Transaction ${id} takes back ${formatUsd(-Number(amount))} USD, its credit is ${formatUsd(Number(credited))} USD`,
  );
}

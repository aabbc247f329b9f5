import type { Transaction } from "kysely";
import { formatUsd, GatewayError, type WalletState } from "../contract/index.ts";
import { type Database, moveWallet, type Store, type TransactionScope, withMigrationLock } from "../db/index.ts";

/** A movement of a wallet made by hand. */
export interface Credit {
  accountId: string;
  /** The amount that is added; negative takes away, also below zero. */
  nanodollars: number;
  /** Why, for the account holder; at most 500 characters. */
  note: string;
  /** Identifies the payment, to count a repeated request once; at most 200 characters. Absent: each call counts. */
  reference?: string | undefined;
  /** Money of a payment provider, which gives it back itself. */
  isPayment?: boolean;
}

/** A wallet after a credit. */
export interface CreditResult {
  entryId: string;
  balanceNanodollars: number;
  /** The reference was already counted: nothing was moved. */
  repeated: boolean;
}

export const noteLengthMax = 500;
const referenceLengthMax = 200;

/**
 * Adds to a wallet, or takes from it. The running ledger of this process sees the change at once, the ledger of another
 * process at its next sync.
 *
 * @throws {GatewayError} `invalid_request` for an amount that is 0, not whole or would carry the balance over 2^53,
 * `not_found` for an unknown account, `conflict` for a reference used with another amount. Nothing is written then.
 */
export async function creditWallet(
  store: TransactionScope,
  credit: Credit,
  now: () => number = Date.now,
): Promise<CreditResult> {
  checkCredit(credit);
  const { accountId, nanodollars, note, reference = crypto.randomUUID(), isPayment = false } = credit;
  const entryId = `${isPayment ? "payment" : "credit"}:${accountId}:${reference}`;
  return store.change(async (db) => {
    const account = await db.selectFrom("accounts").select("id").where("id", "=", accountId).executeTakeFirst();
    if (account === undefined) throw new GatewayError("not_found", `Account ${accountId} does not exist`);
    const kind = nanodollars < 0 ? "debit" : "credit";
    const { numInsertedOrUpdatedRows: entered } = await db
      .insertInto("transactions")
      .values({ id: entryId, account_id: accountId, kind, amount_nanodollars: nanodollars, note, at: now() })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirstOrThrow();
    const repeated = entered === 0n;
    if (repeated) await assertSameAmount(db, credit, entryId);
    const balanceNanodollars = await move(db, accountId, repeated ? 0 : nanodollars);
    return { entryId, balanceNanodollars, repeated };
  });
}

async function move(db: Transaction<Database>, accountId: string, nanodollars: number): Promise<number> {
  const balance = await moveWallet(db, accountId, nanodollars);
  if (Number.isSafeInteger(Number(balance))) return Number(balance);
  throw refused(
    `the balance of ${formatUsd(Number(BigInt(balance) - BigInt(nanodollars)))} USD would leave the range of 2^53 nanodollars`,
  );
}

/** The stored balance of a wallet, and the amount held by running calls. */
export async function readWalletState(store: Store, accountId: string): Promise<WalletState> {
  const row = await store.db
    .selectNoFrom((select) => [
      select.selectFrom("wallets").select("balance_nanodollars").where("account_id", "=", accountId).as("balance"),
      select
        .selectFrom("open_calls")
        .select((call) => call.fn.sum<number | null>("hold_nanodollars").as("held"))
        .where("account_id", "=", accountId)
        .as("held"),
    ])
    .executeTakeFirstOrThrow();
  return {
    balanceNanodollars: row.balance === null ? 0 : row.balance,
    heldNanodollars: row.held === null ? 0 : row.held,
  };
}

function checkCredit({ nanodollars, note, reference }: Credit): void {
  if (!Number.isSafeInteger(nanodollars) || nanodollars === 0) {
    throw refused(`${nanodollars} nanodollars is not a whole number other than 0 and within 2^53`);
  }
  if (note.length > noteLengthMax)
    throw refused(`the note has ${note.length} characters, at most ${noteLengthMax} fit`);
  if (reference !== undefined && (reference === "" || reference.length > referenceLengthMax)) {
    throw refused(`the reference has ${reference.length} characters, expected 1 to ${referenceLengthMax}`);
  }
}

async function assertSameAmount(
  db: Transaction<Database>,
  { nanodollars, reference }: Credit,
  id: string,
): Promise<void> {
  const { amount_nanodollars: amount } = await db
    .selectFrom("transactions")
    .select("amount_nanodollars")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  if (amount === nanodollars) return;
  throw new GatewayError(
    "conflict",
    `Reference ${reference} was used for ${formatUsd(amount)} USD and cannot be for ${formatUsd(nanodollars)} USD; use another reference`,
  );
}

function refused(reason: string): GatewayError {
  return new GatewayError("invalid_request", `Cannot move the wallet: ${reason}`);
}

/** Wallets below zero: how many, and by how much in all. */
export interface Overdrawn {
  accounts: number;
  nanodollars: number;
}

/** Looks at every wallet: for once a minute, not for each call. */
export async function readOverdrawn(store: Store): Promise<Overdrawn> {
  const { accounts, nanodollars } = await store.db
    .selectFrom("wallets")
    .select(({ fn }) => [fn.countAll().as("accounts"), fn.sum("balance_nanodollars").as("nanodollars")])
    .where("balance_nanodollars", "<", 0)
    .executeTakeFirstOrThrow();
  return { accounts: Number(accounts), nanodollars: nanodollars === null ? 0 : -Number(nanodollars) };
}

const demoNanodollars = 10_000_000_000;
const demoSetting = "demo_credit_account";
export const demoReferences = { given: "sandbox-demo", taken: "sandbox-demo-end" };

/** Credits the account of a first start in the sandbox, for calls of premium models. Counts once. */
export async function giveDemoCredit(store: Store, accountId: string, now: () => number): Promise<void> {
  if ((await store.setting(demoSetting, () => accountId)) !== accountId) return;
  const note = "Demo credit for the sandbox, not real money";
  await creditWallet(store, { accountId, nanodollars: demoNanodollars, note, reference: demoReferences.given }, now);
}

/**
 * Takes back the rest of the demo credit after simulated calls, once a provider is called for real. Charges count
 * against the demo credit first, so money credited in addition stays whole.
 */
export async function takeDemoCredit(store: Store, now: () => number): Promise<void> {
  await withMigrationLock(store, async () => {
    const accountId = await readDemoAccount(store);
    if (accountId === undefined) return;
    const demoLeft = await readDemoLeft(store, accountId);
    if (demoLeft <= 0) return;
    const note = "Demo credit ended: a provider is configured";
    await creditWallet(store, { accountId, nanodollars: -demoLeft, note, reference: demoReferences.taken }, now);
  });
}

/** The account that has demo credit which was not taken back. */
async function readDemoAccount({ db }: Store): Promise<string | undefined> {
  const setting = await db.selectFrom("settings").select("value").where("name", "=", demoSetting).executeTakeFirst();
  if (setting === undefined) return undefined;
  const id = `credit:${setting.value}:${demoReferences.taken}`;
  const transaction = await db.selectFrom("transactions").select("id").where("id", "=", id).executeTakeFirst();
  return transaction === undefined ? setting.value : undefined;
}

async function readDemoLeft({ db }: Store, accountId: string): Promise<number> {
  const [moved, wallet] = await Promise.all([
    db
      .selectFrom("transactions")
      .select((entry) => entry.fn.sum("amount_nanodollars").as("nanodollars"))
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("wallets")
      .select("balance_nanodollars")
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow(),
  ]);
  const charged = Number(moved.nanodollars) - wallet.balance_nanodollars;
  return demoNanodollars - charged;
}

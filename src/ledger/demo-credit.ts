import { type Store, withMigrationLock } from "../db/index.ts";
import { creditWallet } from "./wallet.ts";

const demoNanodollars = 10_000_000_000;
const settingName = "demo_credit_account";
const references = { given: "sandbox-demo", taken: "sandbox-demo-end" };

/** Credits the account of a first start in the sandbox, so that premium models answer. Counts once. */
export async function giveDemoCredit(store: Store, accountId: string, now: () => number): Promise<void> {
  if ((await store.setting(settingName, () => accountId)) !== accountId) return;
  const note = "Demo credit for the sandbox, not real money";
  await creditWallet(store, { accountId, nanodollars: demoNanodollars, note, reference: references.given }, now);
}

/**
 * Takes back what simulated calls have left of the demo credit, once a provider is called for real. Charges count against
 * the demo credit first, so that money credited beside it stays whole.
 */
export async function takeDemoCredit(store: Store, now: () => number): Promise<void> {
  await withMigrationLock(store, async () => {
    const accountId = await readAccount(store);
    if (accountId === undefined) return;
    const left = await readLeft(store, accountId);
    if (left <= 0) return;
    const note = "Demo credit ended: a provider is configured";
    await creditWallet(store, { accountId, nanodollars: -left, note, reference: references.taken }, now);
  });
}

/** The account that has demo credit which was not taken back. */
async function readAccount({ db }: Store): Promise<string | undefined> {
  const given = await db.selectFrom("settings").select("value").where("name", "=", settingName).executeTakeFirst();
  if (given === undefined) return undefined;
  const id = `credit:${given.value}:${references.taken}`;
  const taken = await db.selectFrom("transactions").select("id").where("id", "=", id).executeTakeFirst();
  return taken === undefined ? given.value : undefined;
}

async function readLeft({ db }: Store, accountId: string): Promise<number> {
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

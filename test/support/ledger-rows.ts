import { addPayingAccount, type Store, toPayerNumber } from "../../src/db/index.ts";

/** A row of what an account has spent, without its day and amount. */
export function spendingRow(accountId: string) {
  const no = toPayerNumber(accountId);
  return { account_id: no, subject_id: no, name: "", first_at: null, last_at: null, counted_day: null };
}

/** Enters what the calls of an account cost on a day, without the calls. */
export async function addCharge({ db }: Pick<Store, "db">, accountId: string, day: number, nanodollars: number) {
  await addPayingAccount(db, accountId);
  await db
    .insertInto("spending")
    .values({ ...spendingRow(accountId), day, spent_nanodollars: nanodollars })
    .execute();
}

import { addPayingAccount, type Store, toPayerNumber } from "../../src/db/index.ts";

/** Enters what the calls of an account cost on a day, without the calls. */
export async function addCharge({ db }: Pick<Store, "db">, accountId: string, day: number, nanodollars: number) {
  await addPayingAccount(db, accountId);
  await db
    .insertInto("daily_charge_rows")
    .values({ account_id: toPayerNumber(accountId), day, charged_nanodollars: nanodollars })
    .execute();
}

import type { Transaction } from "kysely";
import { GatewayError } from "../contract/index.ts";
import type { Database } from "../db/index.ts";

/** Locks an account until the transaction ends. @throws {GatewayError} `not_found` */
export async function lockAccount(db: Transaction<Database>, accountId: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable("accounts")
    .set(({ ref }) => ({ email: ref("email") }))
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw unknownAccount(accountId);
}

export function unknownAccount(accountId: string): GatewayError {
  return new GatewayError("not_found", `Account ${accountId} does not exist`);
}

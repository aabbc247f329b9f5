import type { Transaction } from "kysely";
import type { Database, Role, Store } from "../db/index.ts";
import { endClaims } from "./claims.ts";
import { lockAccount, unknownAccount } from "./lock-account.ts";
import { toSignInAddress } from "./sign-in-address.ts";

/** The provider of a credential that is a password. */
export const passwordProvider = "credential";

/** Whether there is an owner. */
export async function hasOwner({ db }: Store): Promise<boolean> {
  return (await db.selectFrom("users").select("id").where("role", "=", "owner").executeTakeFirst()) !== undefined;
}

/** The user of an account; `undefined` when nobody was invited or signed up yet. */
export async function findUser(
  { db }: Pick<Store, "db">,
  accountId: string,
): Promise<{ id: string; role: Role; secondFactor: boolean; emailVerified: boolean } | undefined> {
  const row = await db
    .selectFrom("users")
    .select(["id", "role", "two_factor_enabled", "email_verified"])
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { id, role } = row;
  return { id, role, secondFactor: row.two_factor_enabled !== 0, emailVerified: row.email_verified !== 0 };
}

/** Creates the user of an account unless it exists. Call within a transaction. */
export async function createUser(
  db: Transaction<Database>,
  { accountId, role, emailVerified }: { accountId: string; role: Role; emailVerified: boolean },
  now: number,
): Promise<{ userId: string; email: string }> {
  const account = await db
    .selectFrom("accounts")
    .select(["email", "name"])
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (account === undefined) throw unknownAccount(accountId);
  const at = new Date(now).toISOString();
  const { id: userId } = await db
    .insertInto("users")
    .values({
      id: crypto.randomUUID(),
      account_id: accountId,
      email: toSignInAddress(account.email),
      name: account.name ?? account.email,
      role,
      password_is_temporary: 0,
      email_verified: emailVerified ? 1 : 0,
      image: null,
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) => conflict.column("account_id").doUpdateSet({ updated_at: at }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return { userId, email: account.email };
}

/**
 * Ends all invitations of an account. Locks the account first: if invitations are created or accepted concurrently,
 * only one stays valid. Call within a transaction.
 *
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function endInvitations(db: Transaction<Database>, accountId: string): Promise<void> {
  await lockAccount(db, accountId);
  await db.deleteFrom("invitations").where("account_id", "=", accountId).execute();
}

/**
 * Ends all other access to an account when its password changes: invitations, sign-ins that wait for a code, trusted
 * devices that need no code, and programs that are signed in. Call it by `Store.change`.
 */
export async function endOtherAccess(
  db: Transaction<Database>,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<void> {
  await endInvitations(db, accountId);
  await db.deleteFrom("verifications").where("value", "=", userId).execute();
  await db.deleteFrom("oauth_requests").where("user_id", "=", userId).execute();
  await db.deleteFrom("oauth_grants").where("user_id", "=", userId).execute();
}

/**
 * Gives an account with a merely claimed e-mail to the person who has proved to hold that e-mail. Everything that the
 * claimer made ends, and so do their password, sessions, trusted devices and second factor. Call it by `Store.change`.
 */
export async function giveToHolder(
  db: Transaction<Database>,
  { accountId, by }: { accountId: string; by: string },
  now: number,
): Promise<void> {
  await lockAccount(db, accountId);
  const user = await findUser({ db }, accountId);
  if (user === undefined || user.emailVerified) return;
  await endClaims(db, { accountId, userId: user.id, by }, now);
  await db
    .updateTable("users")
    .set({ email_verified: 1, password_is_temporary: 0 })
    .where("id", "=", user.id)
    .execute();
  await removeSecondFactor(db, user.id);
  await db.deleteFrom("credentials").where("user_id", "=", user.id).execute();
  await db.deleteFrom("sessions").where("user_id", "=", user.id).execute();
  await endOtherAccess(db, { accountId, userId: user.id });
}

/** Removes the second factor of a user who may have lost it. */
export async function removeSecondFactor(db: Transaction<Database>, userId: string): Promise<void> {
  await db.deleteFrom("two_factors").where("user_id", "=", userId).execute();
  await db.updateTable("users").set({ two_factor_enabled: 0 }).where("id", "=", userId).execute();
}

import { createHash, randomBytes } from "node:crypto";
import type { Transaction } from "kysely";
import { GatewayError } from "../contract/index.ts";
import type { Database, Role, Store, TransactionScope } from "../db/index.ts";
import { unknownAccount } from "./account-admin.ts";
import { hashPassword, makePassword, passwordLengthMax, passwordLengthMin } from "./password.ts";
import { removeSecondFactor } from "./second-factor.ts";
import { signInAddressOf } from "./sign-in-address.ts";

/** How long an invitation is good for: 48 hours. */
const invitationLivesMs = 172_800_000;

/** A password for the person of an account, who is made when there is none. */
export interface NewPassword {
  readonly accountId: string;
  readonly password: string;
  /** Somebody else has seen it, so the person is asked to change it. */
  readonly temporary: boolean;
  /** Of a person made now; one who is there keeps the own. */
  readonly role: Role;
}

/**
 * Sets a password and ends every session of its person.
 *
 * @throws {GatewayError} `not_found` for an unknown account, `invalid_request` for a password too short or long.
 */
export async function setPassword(store: Store, fields: NewPassword, now: number): Promise<void> {
  checkPassword(fields.password);
  const hash = await hashPassword(fields.password);
  await store.db.transaction().execute((db) => writePassword(db, { ...fields, hash }, now));
}

/** Makes a password, sets it, and returns it this once. @throws {GatewayError} as {@link setPassword} */
export async function makeTemporaryPassword(
  store: Store,
  { accountId, role }: Pick<NewPassword, "accountId" | "role">,
  now: number,
): Promise<string> {
  const password = makePassword();
  await setPassword(store, { accountId, password, temporary: true, role }, now);
  return password;
}

/** Whether anyone may administrate. */
export async function hasAdmin({ db }: Store): Promise<boolean> {
  return (await db.selectFrom("users").select("id").where("role", "=", "admin").executeTakeFirst()) !== undefined;
}

/**
 * Makes a link's secret by which the holder of an account sets a password, once and within 48 hours.
 *
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function invite(
  store: TransactionScope,
  accountId: string,
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  const account = await store.db.selectFrom("accounts").select("id").where("id", "=", accountId).executeTakeFirst();
  if (account === undefined) throw unknownAccount(accountId);
  const token = randomBytes(24).toString("base64url");
  const expiresAt = now + invitationLivesMs;
  const row = {
    token_hash: hashToken(token),
    account_id: accountId,
    created_at: now,
    expires_at: expiresAt,
    used_at: null,
  };
  await store.db.insertInto("invitations").values(row).execute();
  return { token, expiresAt };
}

/**
 * Takes up an invitation.
 *
 * @returns The account's e-mail, to sign in with.
 * @throws {GatewayError} `not_found` for one that never was, is used or has expired; `invalid_request` for the password.
 */
export async function acceptInvitation(
  store: Store,
  { token, password }: { token: string; password: string },
  now: number,
): Promise<{ email: string }> {
  checkPassword(password);
  const known = await store.db
    .selectFrom("invitations")
    .select("used_at")
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  // A hash costs a whole core for a while, which a stranger does not get for nothing.
  if (known === undefined || known.used_at !== null) throw noInvitation();
  const hash = await hashPassword(password);
  return store.db.transaction().execute(async (db) => {
    const taken = await db
      .updateTable("invitations")
      .set({ used_at: now })
      .where("token_hash", "=", hashToken(token))
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .returning("account_id")
      .executeTakeFirst();
    if (taken === undefined) throw noInvitation();
    return writePassword(db, { accountId: taken.account_id, hash, temporary: false, role: "member" }, now);
  });
}

/** @throws {GatewayError} `invalid_request` */
export function checkPassword(password: string): void {
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax) return;
  const sentence = `The password has ${password.length} characters, expected ${passwordLengthMin} to ${passwordLengthMax}`;
  throw new GatewayError("invalid_request", sentence, { param: "password" });
}

/** Within a transaction: makes the person of an account, or leaves the one there as is. */
export async function makePerson(
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
      email: signInAddressOf(account.email),
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
 * Within a transaction: gives the person of an account, made when there is none, a password. All sessions end,
 * and so does the second step of the sign-in: who asks the operator may have lost what it needs.
 */
export async function writePassword(
  db: Transaction<Database>,
  { accountId, hash, temporary, role, claimed = false }: PasswordWrite,
  now: number,
): Promise<{ email: string }> {
  const { userId, email } = await makePerson(db, { accountId, role, emailVerified: false }, now);
  await db
    .updateTable("users")
    .set({ password_is_temporary: temporary ? 1 : 0, ...(!claimed && { email_verified: 1 }) })
    .where("id", "=", userId)
    .execute();
  if (!claimed) await removeSecondFactor(db, userId);
  const at = new Date(now).toISOString();
  await db.deleteFrom("credentials").where("user_id", "=", userId).where("provider_id", "=", "credential").execute();
  await db
    .insertInto("credentials")
    .values({
      id: crypto.randomUUID(),
      user_id: userId,
      provider_id: "credential",
      provider_account_id: userId,
      password_hash: hash,
      created_at: at,
      updated_at: at,
    } as never)
    .execute();
  await db.deleteFrom("sessions").where("user_id", "=", userId).execute();
  return { email };
}

interface PasswordWrite extends Omit<NewPassword, "password"> {
  readonly hash: string;
  /** A stranger says that the e-mail is theirs; else the operator, who made the account, says whose it is. */
  readonly claimed?: boolean;
}

function noInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation is used, expired or none; ask for another");
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

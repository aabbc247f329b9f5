import type { Transaction } from "kysely";
import { GatewayError } from "../contract/index.ts";
import type { Database, Role, TransactionScope } from "../db/index.ts";
import {
  createUser,
  endClaims,
  endOtherAccess,
  findUser,
  passwordProvider,
  removeSecondFactor,
} from "../tenants/index.ts";
import { hashPassword, makePassword, passwordLengthMax, passwordLengthMin } from "./password.ts";

/** A password for the user of an account, who is created if missing. */
export interface NewPassword {
  readonly accountId: string;
  readonly password: string;
  /** The password was set by another person, so the user has to change it. */
  readonly temporary: boolean;
  /** The role of a new user; an existing user keeps theirs. */
  readonly role: Role;
  /** The name for the audit log of the actor, such as `cli`; absent: the account itself. */
  readonly by?: string | undefined;
}

/**
 * Sets a password and ends every session of its user. The operator thereby vouches for the e-mail, so everything
 * created by a person who only claimed it ends: see {@link endClaims}.
 *
 * @throws {GatewayError} `not_found` for an unknown account, `invalid_request` for a password too short or long.
 */
export async function setPassword(store: TransactionScope, fields: NewPassword, now: number): Promise<void> {
  checkPassword(fields.password);
  const hash = await hashPassword(fields.password);
  await store.change((db) => writePassword(db, { ...fields, hash }, now));
}

/** Sets a generated password and returns it. @throws {GatewayError} as {@link setPassword} */
export async function makeTemporaryPassword(
  store: TransactionScope,
  { accountId, role, by }: Pick<NewPassword, "accountId" | "role" | "by">,
  now: number,
): Promise<string> {
  const password = makePassword();
  await setPassword(store, { accountId, password, temporary: true, role, by }, now);
  return password;
}

/** @throws {GatewayError} `invalid_request` */
export function checkPassword(password: string): void {
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax) return;
  const message = `The password has ${password.length} characters, expected ${passwordLengthMin} to ${passwordLengthMax}`;
  throw new GatewayError("invalid_request", message, { param: "password" });
}

/**
 * Sets the password of an account's user, who is created if missing. Ends all sessions, invitations and trusted
 * devices. Removes the second factor, which a user who needs a new password may have lost, and the link to the identity
 * provider, which the next sign-in there creates again. If the e-mail was only claimed until now, everything that the
 * claimer made ends too. Call it by `Store.change`, unless the user is new.
 */
export async function writePassword(
  db: Transaction<Database>,
  { accountId, hash, temporary, role, claimed = false, by = accountId }: PasswordHash,
  now: number,
): Promise<{ email: string }> {
  const before = await findUser({ db }, accountId);
  const { userId, email } = await createUser(db, { accountId, role, emailVerified: !claimed }, now);
  if (!claimed && before?.emailVerified === false) await endClaims(db, { accountId, userId, by }, now);
  await db
    .updateTable("users")
    .set({ password_is_temporary: temporary ? 1 : 0, ...(!claimed && { email_verified: 1 }) })
    .where("id", "=", userId)
    .execute();
  if (!claimed) await removeSecondFactor(db, userId);
  const at = new Date(now).toISOString();
  await db.deleteFrom("credentials").where("user_id", "=", userId).execute();
  await db
    .insertInto("credentials")
    .values({
      id: crypto.randomUUID(),
      user_id: userId,
      provider_id: passwordProvider,
      provider_account_id: userId,
      password_hash: hash,
      created_at: at,
      updated_at: at,
    } as never)
    .execute();
  await db.deleteFrom("sessions").where("user_id", "=", userId).execute();
  await endOtherAccess(db, { accountId, userId });
  return { email };
}

interface PasswordHash extends Omit<NewPassword, "password"> {
  readonly hash: string;
  /** Set at sign-up, where the e-mail is not verified; otherwise the operator vouches for it. */
  readonly claimed?: boolean;
}

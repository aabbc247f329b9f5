import type { Transaction } from "kysely";
import { GatewayError } from "../contract/index.ts";
import { type Database, isConstraintError, type Role, type Store } from "../db/index.ts";
import { newAccountRow } from "./account-admin.ts";
import { missing, toSignInAddress } from "./auth-http.ts";
import type { AuthOptions } from "./better-auth.ts";
import { endClaims } from "./claims.ts";
import { lockAccount, unknownAccount } from "./lock-account.ts";
import { hashPassword, makePassword, passwordLengthMax, passwordLengthMin } from "./password.ts";
import { recordAudit } from "./record-audit.ts";
import { removeSecondFactor } from "./second-factor.ts";
import { expectInvited, readTeamInvitation, takeTeamInvitation } from "./teams/team-invitations.ts";

/** The provider of a credential that is a password. */
export const passwordProvider = "credential";

/** A password for the user of an account, who is created if missing. */
export interface NewPassword {
  readonly accountId: string;
  readonly password: string;
  /** The password was set by somebody else, so the user has to change it. */
  readonly temporary: boolean;
  /** The role of a new user; an existing user keeps theirs. */
  readonly role: Role;
  /** Actor for the audit log: `cli`; default the holder of the account. */
  readonly by?: string | undefined;
}

/**
 * Sets a password and ends every session of its user. The operator vouches for the e-mail by this, so that what somebody
 * made who only claimed it ends: see {@link endClaims}.
 *
 * @throws {GatewayError} `not_found` for an unknown account, `invalid_request` for a password too short or long.
 */
export async function setPassword(store: Store, fields: NewPassword, now: number): Promise<void> {
  checkPassword(fields.password);
  const hash = await hashPassword(fields.password);
  await store.change((db) => writePassword(db, { ...fields, hash }, now));
}

/** Sets a generated password and returns it. @throws {GatewayError} as {@link setPassword} */
export async function makeTemporaryPassword(
  store: Store,
  { accountId, role, by }: Pick<NewPassword, "accountId" | "role" | "by">,
  now: number,
): Promise<string> {
  const password = makePassword();
  await setPassword(store, { accountId, password, temporary: true, role, by }, now);
  return password;
}

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

/** @throws {GatewayError} `invalid_request` */
export function checkPassword(password: string): void {
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax) return;
  const message = `The password has ${password.length} characters, expected ${passwordLengthMin} to ${passwordLengthMax}`;
  throw new GatewayError("invalid_request", message, { param: "password" });
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
 * Ends all invitations of an account. Locks the account first, so that of invitations that are created or accepted at the
 * same time one is valid. Call within a transaction.
 *
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function endInvitations(db: Transaction<Database>, accountId: string): Promise<void> {
  await lockAccount(db, accountId);
  await db.deleteFrom("invitations").where("account_id", "=", accountId).execute();
}

/**
 * Ends what else can lead into an account when its password changes: invitations, sign-ins that wait for a code, and
 * devices that need none. Call within a transaction.
 */
export async function endOtherAccess(
  db: Transaction<Database>,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<void> {
  await endInvitations(db, accountId);
  await db.deleteFrom("verifications").where("value", "=", userId).execute();
}

/**
 * Sets the password of an account's user, who is created if missing. Ends all sessions, invitations and trusted
 * devices and removes the second factor, which a user who needs a new password may have lost, and the link to the identity
 * provider, which the next sign-in there makes anew. Where the e-mail was only claimed until now, what the claimer made
 * ends too. Call it by `Store.change`, unless the user is new.
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

/**
 * Gives an account whose e-mail was only claimed to who has proved to hold that e-mail. What the claimer made ends, and their
 * password, sessions, trusted devices and second factor. Call it by `Store.change`.
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

interface PasswordHash extends Omit<NewPassword, "password"> {
  readonly hash: string;
  /** Set at sign-up, where the e-mail is not verified; otherwise the operator vouches for it. */
  readonly claimed?: boolean;
}

interface SignUpOptions extends Pick<AuthOptions, "passwords"> {
  readonly store: Store;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/**
 * Creates an account with its user and password, without signing in. Where the e-mail has an account already,
 * nothing changes, and neither the result nor the work tells it. An invitation to a team is permission where sign-up is
 * closed, and is taken; the new account has no free quota of its own then. The e-mail is only claimed, unless an operator
 * has sent the invitation to this e-mail alone.
 *
 * @throws {GatewayError} `forbidden` where sign-up is closed, `not_found` for the invitation, `invalid_request`
 */
export async function signUp(
  { store, signUp, now, passwords }: SignUpOptions,
  { email, password, name, invitation }: Record<string, unknown>,
): Promise<void> {
  const token = typeof invitation === "string" ? invitation : undefined;
  if (signUp === "closed" && token === undefined) {
    throw new GatewayError("forbidden", "Sign-up is closed; ask the operator of this gateway for an invitation");
  }
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  checkPassword(password);
  const row = newAccountRow({ email, name: typeof name === "string" ? name : undefined }, now());
  const account = { ...row, free_tokens_per_day: signUp === "closed" ? 0 : null };
  // Hashing a password takes a lot of CPU, so unknown tokens are refused first.
  if (token !== undefined) expectInvited(await readTeamInvitation(store, token, now()), account.email);
  const hash = await (passwords?.hash ?? hashPassword)(password);
  const write = { accountId: account.id, hash, temporary: false, role: "member", claimed: true } as const;
  try {
    await store.db.transaction().execute(async (db) => {
      await db.insertInto("accounts").values(account).execute();
      await writePassword(db, write, now());
      if (token !== undefined) await joinAtSignUp(db, { token, personId: account.id }, now());
    });
  } catch (error) {
    if (!isConstraintError(error)) throw error;
  }
}

async function joinAtSignUp(
  db: Transaction<Database>,
  invitation: { token: string; personId: string },
  now: number,
): Promise<void> {
  const { accountId, joinedAs, isVouchedFor } = await takeTeamInvitation(db, invitation, now);
  const { personId } = invitation;
  if (isVouchedFor) {
    await db.updateTable("users").set({ email_verified: 1 }).where("account_id", "=", personId).execute();
  }
  const detail = { role: joinedAs ?? null };
  await recordAudit({ db }, { accountId: personId, action: "team.join", subject: accountId, detail }, now);
}

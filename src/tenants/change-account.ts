import type { Transaction } from "kysely";
import type { Administrator } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import { type Database, isConstraintError, type Role, type TransactionScope } from "../db/index.ts";
import { parseEmail, parseName, takenEmail } from "./accounts.ts";
import { checkAllowedModels, readAllowedModels } from "./allowed-models.ts";
import { expectAnotherOwner, lockManaged, lockOwners } from "./roles.ts";
import { toSignInAddress } from "./sign-in-address.ts";
import { createUser, endInvitations, endOtherAccess, findUser, passwordProvider, removeSecondFactor } from "./users.ts";

/** Absent fields stay as they are; a name of `null` is removed. */
export interface AccountChanges {
  readonly name?: string | null | undefined;
  readonly email?: string | undefined;
  readonly role?: Role | undefined;
  /** Ids of models; `null` allows all. */
  readonly allowedModels?: readonly string[] | null | undefined;
}

/** Changed fields with their previous values: `{ role: "viewer", role_before: "member" }`. */
export type AccountDifference = Readonly<Record<string, string | null>>;

interface AccountChange {
  readonly actor: Administrator;
  readonly accountId: string;
  readonly changes: AccountChanges;
}

/**
 * Changes an account and its user. A role takes effect with the next request of every session of the user; for an
 * account without a user, it applies from the first sign-in. A new role or e-mail ends invitations, because anyone with
 * their links could set a password.
 *
 * @throws {GatewayError} `not_found`; `invalid_request` for a field; `conflict` when the e-mail is taken, for the last
 * owner, and for a role of a user whose e-mail is only claimed; `forbidden` when the actor may not.
 */
export async function changeAccount(
  scope: TransactionScope,
  { actor, accountId, changes }: AccountChange,
  now: number,
): Promise<AccountDifference> {
  return await scope.change(async (db) => {
    if (changes.role !== undefined) await lockOwners(db);
    const roleBefore = await lockManaged(db, actor, accountId);
    const before = await db
      .selectFrom("accounts")
      .select(["email", "name", "allowed_models"])
      .where("id", "=", accountId)
      .executeTakeFirstOrThrow();
    const isSame = changes.email === undefined || changes.email === before.email;
    const email = isSame ? before.email : parseEmail(changes.email);
    const name = changes.name === undefined ? before.name : changes.name && parseName(changes.name);
    const models = toModelsColumn(changes.allowedModels, before.allowed_models);
    const role = changes.role ?? roleBefore;
    const isNew = email !== before.email;
    if (isNew || name !== before.name) await writeProfile(db, accountId, { email, name, isNew });
    if (models !== before.allowed_models) {
      await db.updateTable("accounts").set({ allowed_models: models }).where("id", "=", accountId).execute();
    }
    if (isNew || role !== roleBefore) await endInvitations(db, accountId);
    if (role !== undefined && role !== roleBefore) await writeRole(db, { actor, accountId, role, roleBefore }, now);
    return {
      ...(isNew && { email, email_before: before.email }),
      ...(name !== before.name && { name, name_before: before.name }),
      ...(role !== undefined && role !== roleBefore && { role, role_before: roleBefore ?? null }),
      ...(models !== before.allowed_models && {
        models: listModels(models),
        models_before: listModels(before.allowed_models),
      }),
    };
  });
}

function listModels(column: string | null): string | null {
  return readAllowedModels(column)?.join(", ") ?? null;
}

function toModelsColumn(models: AccountChanges["allowedModels"], before: string | null): string | null {
  if (models === undefined) return before;
  if (models !== null) checkAllowedModels(models);
  return models && JSON.stringify([...new Set(models)]);
}

async function writeProfile(
  db: Transaction<Database>,
  accountId: string,
  { email, name, isNew }: { email: string; name: string | null; isNew: boolean },
): Promise<void> {
  const address = toSignInAddress(email);
  try {
    await db.updateTable("accounts").set({ email, name }).where("id", "=", accountId).execute();
    // The person who signs in stays the same: one whom nobody has vouched for is not vouched for by another address.
    await db
      .updateTable("users")
      .set({ email: address, name: name ?? email })
      .where("account_id", "=", accountId)
      .execute();
    if (isNew) await endLinks(db, accountId);
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw takenEmail(email, error);
  }
}

/**
 * Revokes everything based on the previous e-mail: the link to verify it, and the link to the identity provider with
 * the sessions that it started. Otherwise the previous holder could still sign in, and so could an administrator who
 * set their own e-mail for a while.
 */
async function endLinks(db: Transaction<Database>, accountId: string): Promise<void> {
  const user = db.selectFrom("users").select("id").where("account_id", "=", accountId);
  await db.deleteFrom("email_verifications").where("user_id", "in", user).execute();
  const { numDeletedRows } = await db
    .deleteFrom("credentials")
    .where("user_id", "in", user)
    .where("provider_id", "<>", passwordProvider)
    .executeTakeFirstOrThrow();
  if (numDeletedRows > 0n) await db.deleteFrom("sessions").where("user_id", "in", user).execute();
}

async function writeRole(
  db: Transaction<Database>,
  {
    actor,
    accountId,
    role,
    roleBefore,
  }: { actor: Administrator; accountId: string; role: Role; roleBefore: Role | undefined },
  now: number,
): Promise<void> {
  if (role === "owner" && actor.role !== "owner") {
    throw new GatewayError("forbidden", "Only owners make somebody an owner", { param: "role" });
  }
  if (roleBefore === "owner") await expectAnotherOwner(db, accountId);
  if (role !== "member" && (await findUser({ db }, accountId))?.emailVerified === false) {
    const message =
      "The e-mail of this account is not verified: only members may have an unverified one; send an invitation first";
    throw new GatewayError("conflict", message, { param: "role" });
  }
  const { userId } = await createUser(db, { accountId, role, emailVerified: true }, now);
  await db.updateTable("users").set({ role }).where("id", "=", userId).execute();
  if (role === "owner") await endPlantedSignIn(db, { accountId, userId });
}

/**
 * Ends the other ways into the account of a user who becomes an owner and signs in with the identity provider: an
 * administrator may have set its password unnoticed. A user without another way in keeps the password.
 */
async function endPlantedSignIn(
  db: Transaction<Database>,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<void> {
  const ofUser = db.selectFrom("credentials").select("id").where("user_id", "=", userId);
  if ((await ofUser.where("provider_id", "<>", passwordProvider).executeTakeFirst()) === undefined) return;
  await db
    .deleteFrom("credentials")
    .where("user_id", "=", userId)
    .where("provider_id", "=", passwordProvider)
    .execute();
  await removeSecondFactor(db, userId);
  await db.deleteFrom("sessions").where("user_id", "=", userId).execute();
  await endOtherAccess(db, { accountId, userId });
}

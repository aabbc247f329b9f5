import type { Transaction } from "kysely";
import { type Administrator, adminKeyOf, commandLine } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { AdminKeysTable, Database, Role, Store } from "../db/index.ts";
import { readJson } from "../lib/json.ts";
import { findKeyEnd, readKeyLine } from "./admin-key-line.ts";
import { type AdminScope, scopesOfOwners } from "./admin-scopes.ts";
import { lockAccount } from "./lock-account.ts";

/** All roles, from the most rights to the fewest. */
export const roles = ["owner", "admin", "viewer", "member"] as const satisfies readonly Role[];

/** Whether the role reads the pages of administrators. */
export function maySeeAll(role: Role): boolean {
  return role !== "member";
}

/** Whether the role changes accounts, vouchers and the like of the whole gateway. */
export function mayAdminister(role: Role): boolean {
  return role === "owner" || role === "admin";
}

/**
 * Locks an account and checks that the actor may change the sign-in and rights of its holder: for an owner, only owners
 * may. The lock keeps the role unchanged until the transaction ends.
 *
 * @returns The role; `undefined` when the account has no user.
 * @throws {GatewayError} `not_found`, `forbidden`
 */
export async function lockManaged(
  db: Transaction<Database>,
  actor: Administrator,
  accountId: string,
): Promise<Role | undefined> {
  await lockAccount(db, accountId);
  const user = await db.selectFrom("users").select("role").where("account_id", "=", accountId).executeTakeFirst();
  if (user?.role === "owner" && actor.role !== "owner") {
    throw new GatewayError("forbidden", "This account belongs to an owner; only owners may do this to it");
  }
  return user?.role;
}

/**
 * Checks that the actor may change keys of an account in a way that reveals a secret or removes a limit: if the account
 * is an owner's, only owners may. Every administrator of the gateway may revoke them, because a leaked key must end at
 * once.
 *
 * @throws {GatewayError} `forbidden`
 */
export async function expectManagedKeys(
  { db }: Pick<Store, "db">,
  actor: Administrator,
  accountId: string,
): Promise<void> {
  if (actor.role === "owner") return;
  const holder = await db.selectFrom("users").select("role").where("account_id", "=", accountId).executeTakeFirst();
  if (holder?.role !== "owner") return;
  throw new GatewayError("forbidden", "This key belongs to an owner; only owners may do this to it");
}

/**
 * Whether an actor may currently invite the holder of an account, who then sets the password: an invitation is valid
 * only as long as its creator could create it. A disabled or deleted user may not, nor an admin key that has ended.
 */
export async function mayInvite(db: Store["db"], by: string, accountId: string, now: number): Promise<boolean> {
  const role = await readRole(db, by, now);
  if (role === undefined || !mayAdminister(role)) return false;
  if (role === "owner") return true;
  const holder = await db.selectFrom("users").select("role").where("account_id", "=", accountId).executeTakeFirst();
  return holder?.role !== "owner";
}

/**
 * Reads the role of an actor in the gateway now, by the id of a person's own account, `cli`, or an admin key;
 * `undefined` when they are disabled or unknown, or the key or one that made it has ended.
 */
export async function readRole(db: Store["db"], actorId: string, now: number): Promise<Role | undefined> {
  const keyId = adminKeyOf(actorId);
  if (keyId === undefined) return await readPersonRole(db, actorId);
  const line = await readKeyLine(db, keyId);
  return line === undefined || findKeyEnd(line, now) !== undefined ? undefined : await readVouchedRole(db, line[0]);
}

/**
 * Reads the role that an admin key has by the person who vouches for it; `undefined` when that person may not have such a key
 * any more.
 */
export async function readVouchedRole(
  db: Store["db"],
  { vouched_by, scopes }: Pick<AdminKeysTable, "vouched_by" | "scopes">,
): Promise<Role | undefined> {
  const role = await readPersonRole(db, vouched_by);
  if (role === undefined || !mayAdminister(role)) return undefined;
  const isForOwners = (readJson(scopes, "stored") as AdminScope[]).some((scope) => scopesOfOwners.has(scope));
  return isForOwners && role !== "owner" ? undefined : role;
}

async function readPersonRole(db: Store["db"], personId: string): Promise<Role | undefined> {
  if (personId === commandLine.accountId) return commandLine.role;
  const person = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("users.role")
    .where("accounts.id", "=", personId)
    .where("accounts.disabled_at", "is", null)
    .executeTakeFirst();
  return person?.role;
}

/**
 * Locks the set of owners: of two concurrent changes, the second then sees the result of the first. Call it before any
 * account is locked.
 */
export async function lockOwners(db: Transaction<Database>): Promise<void> {
  await db
    .insertInto("settings")
    .values({ name: "owners_lock", value: "" })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: "" }))
    .execute();
}

/**
 * Checks that another user can sign in as an owner. Call {@link lockOwners} first.
 *
 * @throws {GatewayError} `conflict`
 */
export async function expectAnotherOwner(db: Transaction<Database>, accountId: string): Promise<void> {
  const another = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .innerJoin("credentials", "credentials.user_id", "users.id")
    .select("users.id")
    .where("users.role", "=", "owner")
    .where("accounts.disabled_at", "is", null)
    .where("accounts.id", "!=", accountId)
    .executeTakeFirst();
  if (another !== undefined) return;
  throw new GatewayError("conflict", "This is the last owner who can sign in; make somebody else an owner first");
}

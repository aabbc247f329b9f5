/** The end of a person's access: one act, whether the identity provider, a page, a program or a command asks for it. */
import { sql, type Transaction } from "kysely";
import type { Administrator } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { Database, Store } from "../db/index.ts";
import { isBehind, type PageQuery, toPageStart } from "../db/page.ts";
import { expectAnotherOwner, lockManaged, lockOwners } from "./roles.ts";
import { endOtherAccess, findUser } from "./users.ts";

/**
 * The keys that somebody made in accounts other than their own. `keep`: they stay in force. `revoke`: they end.
 * `revoke_by_table`: they end, but not those in a team that keeps them by the table of groups.
 */
export type LeaversKeys = "keep" | "revoke" | "revoke_by_table";

/** Counts of what ended. */
export interface Ended {
  /** Sessions of the dashboard. */
  readonly sessions: number;
  /** Programs that the person has signed in. */
  readonly programs: number;
  /** The person's own invitation, and those that they made. */
  readonly invitations: number;
  /** Keys that the person made in other accounts. */
  readonly keys: number;
}

const nothing: Ended = { sessions: 0, programs: 0, invitations: 0, keys: 0 };

/**
 * Disables an account. If a person signs in to it, their sessions, programs and invitations end, and so do the keys that
 * they made in other accounts, if asked for. Keys of their own account are refused while it is disabled. Call it by
 * `Store.change`.
 *
 * @throws {GatewayError} `not_found`, `forbidden`; `conflict` for the last owner, and for the actor's own account.
 */
export async function leave(
  db: Transaction<Database>,
  { actor, accountId, keys }: { actor: Administrator; accountId: string; keys: LeaversKeys },
  now: number,
): Promise<Ended> {
  if (accountId === actor.accountId) {
    const message = "You cannot disable your own account: there might be no one left to enable it";
    throw new GatewayError("conflict", message);
  }
  await lockOwners(db);
  const role = await lockManaged(db, actor, accountId);
  if (role === "owner") await expectAnotherOwner(db, accountId);
  await db
    .updateTable("accounts")
    .set({ disabled_at: now })
    .where("id", "=", accountId)
    .where("disabled_at", "is", null)
    .execute();
  const user = await findUser({ db }, accountId);
  if (user === undefined) return nothing;
  await lockMaker(db, accountId);
  const sessions = await db.deleteFrom("sessions").where("user_id", "=", user.id).executeTakeFirstOrThrow();
  const programs = await db
    .selectFrom("oauth_grants")
    .select((select) => select.fn.countAll().as("count"))
    .where("user_id", "=", user.id)
    .executeTakeFirstOrThrow();
  const invitations = await endInvitationsOf(db, accountId, now);
  await endOtherAccess(db, { accountId, userId: user.id });
  return {
    sessions: Number(sessions.numDeletedRows),
    programs: Number(programs.count),
    invitations,
    keys: keys === "keep" ? 0 : await revokeKeysOf(db, { personId: accountId, keepsByTable: keys !== "revoke" }, now),
  };
}

/** Ends the invitations that a person made, and counts their own, which may still be open. */
async function endInvitationsOf(db: Transaction<Database>, accountId: string, now: number): Promise<number> {
  const own = await db
    .selectFrom("invitations")
    .select((select) => select.fn.countAll().as("count"))
    .where("account_id", "=", accountId)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  const ofAccounts = db.deleteFrom("invitations").where("created_by", "=", accountId).where("used_at", "is", null);
  const { numDeletedRows: accounts } = await ofAccounts.where("account_id", "<>", accountId).executeTakeFirstOrThrow();
  const ofTeams = db.deleteFrom("team_invitations").where("created_by", "=", accountId).where("used_by", "is", null);
  const { numDeletedRows: teams } = await ofTeams.executeTakeFirstOrThrow();
  return Number(own.count) + Number(accounts) + Number(teams);
}

/**
 * Locks a person as the maker of keys. A key that is made while its maker leaves is either seen and revoked, or refused.
 *
 * @throws {GatewayError} `forbidden` when the person is disabled and `isMaking`.
 */
export async function lockMaker(db: Transaction<Database>, personId: string, isMaking = false): Promise<void> {
  await db
    .updateTable("users")
    .set(({ ref }) => ({ updated_at: ref("updated_at") }))
    .where("account_id", "=", personId)
    .execute();
  if (!isMaking) return;
  const account = db.selectFrom("accounts").select("disabled_at").where("id", "=", personId);
  if ((await account.executeTakeFirst())?.disabled_at == null) return;
  throw new GatewayError("forbidden", "Your account is disabled; ask an administrator");
}

/**
 * Revokes the keys in accounts other than a person's own whose secret the person was given: those that they made, and
 * those that they rotated last. Returns how many. Call it by `Store.change`.
 *
 * @param accountId Absent: in all of these accounts.
 * @param keepsByTable Keys stay in a team that keeps them by the table of groups.
 */
export async function revokeKeysOf(
  db: Transaction<Database>,
  { personId, accountId, keepsByTable = false }: { personId: string; accountId?: string; keepsByTable?: boolean },
  now: number,
): Promise<number> {
  let revoked = 0n;
  for (const column of ["created_by", "rotated_by"] as const) {
    let keys = db
      .updateTable("keys")
      .set({ revoked_at: now })
      .where(column, "=", personId)
      .where("account_id", "<>", personId)
      .where("revoked_at", "is", null);
    if (accountId !== undefined) keys = keys.where("account_id", "=", accountId);
    if (keepsByTable) keys = keys.where("account_id", "not in", keepingTeams(db));
    revoked += (await keys.executeTakeFirstOrThrow()).numUpdatedRows;
  }
  return Number(revoked);
}

/** The teams that keep the keys of people who leave, by the table of groups. */
export function keepingTeams(db: Transaction<Database>) {
  return db.selectFrom("group_roles").select("account_id").where("leavers_keys", "=", sql.lit("keep"));
}

/** A usable key that somebody made in an account other than their own. */
export interface KeyElsewhere {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly account: { readonly id: string; readonly email: string; readonly name: string | undefined };
}

/** Usable keys that a person made, or rotated last, in accounts other than their own; oldest first. */
export async function listKeysElsewhere(
  { db }: Pick<Store, "db">,
  { personId, limit, after }: PageQuery & { readonly personId: string },
  now: number,
): Promise<KeyElsewhere[]> {
  let query = keysElsewhere(db, personId, now);
  if (after !== undefined) {
    const last = await query.select(["keys.id", "keys.created_at"]).where("keys.id", "=", after).executeTakeFirst();
    query = query.where(isBehind("keys.created_at", "keys.id", toPageStart(last, after)));
  }
  const rows = await query
    .select(["keys.id", "keys.name", "keys.created_at", "keys.account_id"])
    .select(["accounts.email", "accounts.name as account_name"])
    .orderBy("keys.created_at")
    .orderBy("keys.id")
    .limit(limit)
    .execute();
  return rows.map(({ id, name, created_at: createdAt, account_id, email, account_name }) => {
    return { id, name, createdAt, account: { id: account_id, email, name: account_name ?? undefined } };
  });
}

export async function countKeysElsewhere({ db }: Pick<Store, "db">, personId: string, now: number): Promise<number> {
  const query = keysElsewhere(db, personId, now).select((select) => select.fn.countAll().as("count"));
  return Number((await query.executeTakeFirstOrThrow()).count);
}

function keysElsewhere(db: Store["db"], personId: string, now: number) {
  return db
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .where((where) => where.or([where("keys.created_by", "=", personId), where("keys.rotated_by", "=", personId)]))
    .where("keys.account_id", "<>", personId)
    .where(sql<boolean>`(keys.revoked_at is null and (keys.expires_at is null or keys.expires_at > ${now}))`);
}

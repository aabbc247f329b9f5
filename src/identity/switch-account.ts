import type { Transaction } from "kysely";
import { GatewayError, toRealEmail } from "../contract/index.ts";
import type { Database, Store, TeamRole } from "../db/index.ts";
import { takeTeamInvitation, teamWriter } from "../tenants/index.ts";
import type { SessionUser } from "./sessions.ts";

/** An account that a person can work in. */
export interface Team {
  readonly accountId: string;
  /** `null`: a team without one. */
  readonly email: string | null;
  readonly name: string | undefined;
  readonly teamRole: TeamRole;
  readonly isOwn: boolean;
}

/** Lists the enabled accounts of a person: first their own, then the teams by name. */
export async function listTeams({ db }: Pick<Store, "db">, userId: string): Promise<Team[]> {
  const teams = db.selectFrom("memberships").select("account_id").where("user_id", "=", userId);
  const own = db.selectFrom("users").select("account_id").where("id", "=", userId);
  const rows = await db
    .selectFrom("accounts")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.account_id", "=", "accounts.id").on("memberships.user_id", "=", userId),
    )
    .select(["accounts.id", "accounts.email", "accounts.name", "memberships.role"])
    .where((where) => where.or([where("accounts.id", "in", own), where("accounts.id", "in", teams)]))
    .where("accounts.disabled_at", "is", null)
    .execute();
  const label = ({ name, email }: Team) => (name ?? email ?? "").toLowerCase();
  return rows
    .map(({ id, email, name, role }) => ({
      accountId: id,
      email: toRealEmail(email),
      name: name ?? undefined,
      teamRole: role ?? ("admin" as const),
      isOwn: role === null,
    }))
    .sort((one, other) => Number(other.isOwn) - Number(one.isOwn) || label(one).localeCompare(label(other)));
}

/**
 * Lets a session act in another account of its user, where the user's next session begins too.
 *
 * @throws {GatewayError} `not_found` for an account that is not the user's, or is disabled.
 */
async function switchAccount(
  db: Transaction<Database>,
  { userId, sessionId, ownAccountId }: SessionUser,
  accountId: string,
): Promise<void> {
  const isTheirs = (await listTeams({ db }, userId)).some((team) => team.accountId === accountId);
  if (!isTheirs) throw new GatewayError("not_found", "You don't belong to an account with this id, or it is disabled");
  const account_id = accountId === ownAccountId ? null : accountId;
  await db.updateTable("sessions").set({ account_id }).where("id", "=", sessionId).execute();
  await db.updateTable("users").set({ current_account_id: account_id }).where("id", "=", userId).execute();
}

/** A new session acts in the account that its user chose last, unless that is gone. */
export async function beginInChosenAccount(
  { db }: Pick<Store, "db">,
  session: { id: string; userId: string },
): Promise<void> {
  const chosen = db
    .selectFrom("users")
    .innerJoin("memberships", (join) =>
      join
        .onRef("memberships.user_id", "=", "users.id")
        .onRef("memberships.account_id", "=", "users.current_account_id"),
    )
    .innerJoin("accounts", "accounts.id", "memberships.account_id")
    .select("accounts.id")
    .where("users.id", "=", session.userId)
    .where("accounts.disabled_at", "is", null);
  const account = await chosen.executeTakeFirst();
  if (account === undefined) return;
  await db.updateTable("sessions").set({ account_id: account.id }).where("id", "=", session.id).execute();
}

/** Actions of the user of a session on the accounts that they work in, each with its audit entry. */
export function sessionActions(store: Store, now: () => number) {
  const write = teamWriter(store, now);
  return {
    /** Accepts an invitation for the user of a session, which then acts in the team. */
    join: (user: SessionUser, token: string) =>
      write(
        async (db) => {
          const invitation = await takeTeamInvitation(db, { token, personId: user.ownAccountId }, now());
          await switchAccount(db, user, invitation.accountId);
          return invitation;
        },
        ({ accountId, joinedAs: role }) =>
          role === undefined ? undefined : { by: user.ownAccountId, action: "join", accountId, detail: { role } },
      ),
    switch: (user: SessionUser, accountId: string) =>
      write(
        (db) => switchAccount(db, user, accountId),
        () => ({ by: user.ownAccountId, action: "switch", accountId }),
      ),
  };
}

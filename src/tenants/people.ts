import type { Transaction } from "kysely";
import type { Administrator } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { Database, Role, Store, TeamRole } from "../db/index.ts";
import { expectKnownHolder, findAccount } from "./accounts.ts";
import { revokeKeysOf } from "./leave.ts";
import { lockManaged } from "./roles.ts";

/** A person who works in an account. */
export interface Person {
  /** The id of their own account, which identifies them everywhere. */
  readonly id: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly teamRole: TeamRole;
  /** Whether this is their own account; nobody can remove them from it. */
  readonly isHolder: boolean;
  /** Role in the whole gateway. */
  readonly role: Role;
  /** Whether the e-mail is verified; otherwise they have only signed up with it. */
  readonly isVerified: boolean;
  /** Milliseconds since 1970; absent for the holder. */
  readonly joinedAt: number | undefined;
  readonly isDisabled: boolean;
}

/** Lists the people of an account, first the holder, then the others by the date of joining. */
export async function listPeople({ db }: Pick<Store, "db">, accountId: string): Promise<Person[]> {
  const members = db.selectFrom("memberships").select("user_id").where("account_id", "=", accountId);
  const rows = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.user_id", "=", "users.id").on("memberships.account_id", "=", accountId),
    )
    .select(["accounts.id", "accounts.email", "accounts.name", "accounts.disabled_at", "users.role"])
    .select(["users.email_verified", "memberships.role as team_role", "memberships.joined_at"])
    .where((where) => where.or([where("users.account_id", "=", accountId), where("users.id", "in", members)]))
    .execute();
  const people = rows.map((row) => ({
    id: row.id,
    email: row.email,
    name: row.name ?? undefined,
    teamRole: row.team_role ?? "admin",
    isHolder: row.id === accountId,
    role: row.role,
    isVerified: row.email_verified !== 0,
    joinedAt: row.joined_at ?? undefined,
    isDisabled: row.disabled_at !== null,
  }));
  return people.sort((one, other) => (one.joinedAt ?? 0) - (other.joinedAt ?? 0));
}

/** The ids of the people of an account, of two at most: whether it is shared, and whose it is alone otherwise. */
export async function findTwoPeople({ db }: Pick<Store, "db">, accountId: string): Promise<string[]> {
  const members = db.selectFrom("memberships").select("user_id").where("account_id", "=", accountId);
  const rows = await db
    .selectFrom("users")
    .select("account_id")
    .where((where) => where.or([where("account_id", "=", accountId), where("id", "in", members)]))
    .limit(2)
    .execute();
  return rows.map((row) => row.account_id);
}

/** A team that a person belongs to. */
export interface TeamOfPerson {
  readonly id: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly role: TeamRole;
  /** Milliseconds since 1970. */
  readonly joinedAt: number;
}

/** The teams of a person besides their own account, by the date of joining. */
export async function listTeamsOf({ db }: Pick<Store, "db">, personId: string): Promise<TeamOfPerson[]> {
  const rows = await db
    .selectFrom("users")
    .innerJoin("memberships", "memberships.user_id", "users.id")
    .innerJoin("accounts", "accounts.id", "memberships.account_id")
    .select(["accounts.id", "accounts.email", "accounts.name", "memberships.role", "memberships.joined_at"])
    .where("users.account_id", "=", personId)
    .orderBy("memberships.joined_at")
    .orderBy("accounts.id")
    .execute();
  return rows.map(({ joined_at: joinedAt, name, ...row }) => ({ ...row, name: name ?? undefined, joinedAt }));
}

/** A person who works in an account that is not their own. */
export interface TeamMember {
  /** The id of their own account. */
  readonly personId: string;
  readonly email: string;
  readonly role: TeamRole;
}

/** The members of these accounts, or of all accounts, by the account's id and sorted by the date of joining. */
export async function findMembers(
  { db }: Pick<Store, "db">,
  accountIds?: readonly string[],
): Promise<ReadonlyMap<string, TeamMember[]>> {
  if (accountIds?.length === 0) return new Map();
  let query = db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["memberships.account_id", "memberships.role", "accounts.id", "accounts.email"]);
  if (accountIds !== undefined) query = query.where("memberships.account_id", "in", accountIds);
  const rows = await query.orderBy("memberships.joined_at").orderBy("accounts.id").execute();
  const members = new Map<string, TeamMember[]>();
  for (const { account_id: accountId, id: personId, email, role } of rows) {
    const list = members.get(accountId) ?? [];
    list.push({ personId, email, role });
    members.set(accountId, list);
  }
  return members;
}

/** A team that nobody can manage. */
export interface TeamWithoutAdmin {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
}

/**
 * Finds the teams without an admin who can sign in, such as after the only one was disabled or has left; the oldest first. A
 * project that never had people does not count.
 *
 * @param accountIds Among these accounts; absent: among all.
 * @param without As if the person with this account were disabled.
 */
export async function findTeamsWithoutAdmin(
  { db }: Pick<Store, "db">,
  {
    accountIds,
    without,
    limit,
  }: { readonly accountIds?: readonly string[]; readonly without?: string; readonly limit?: number } = {},
): Promise<TeamWithoutAdmin[]> {
  if (accountIds?.length === 0) return [];
  let query = db
    .selectFrom("accounts")
    .select(["accounts.id", "accounts.email", "accounts.name"])
    .where("accounts.disabled_at", "is", null)
    .where(({ exists, selectFrom, or, eb }) =>
      or([
        eb("accounts.founded_by", "is not", null),
        exists(selectFrom("memberships").select("user_id").whereRef("memberships.account_id", "=", "accounts.id")),
      ]),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("users").select("users.id").whereRef("users.account_id", "=", "accounts.id"))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("memberships as admins")
            .innerJoin("users", "users.id", "admins.user_id")
            .innerJoin("accounts as own", "own.id", "users.account_id")
            .select("admins.user_id")
            .whereRef("admins.account_id", "=", "accounts.id")
            .where("admins.role", "=", "admin")
            .where("own.disabled_at", "is", null)
            .where("own.id", "<>", without ?? ""),
        ),
      ),
    );
  if (accountIds !== undefined) query = query.where("accounts.id", "in", accountIds);
  query = query.orderBy("accounts.created_at").orderBy("accounts.id");
  return await (limit === undefined ? query : query.limit(limit)).execute();
}

/** Person who changes a team: one of its admins, or an operator of the gateway. */
export interface TeamAdministrator extends Administrator {
  readonly isOperator: boolean;
}

/**
 * Locks an account and checks that the actor may change its team now.
 *
 * @throws {GatewayError} `not_found`, `forbidden`
 */
export async function lockTeam(db: Transaction<Database>, actor: TeamAdministrator, accountId: string): Promise<void> {
  if (actor.isOperator) return void (await lockManaged(db, actor, accountId));
  await lockManaged(db, { ...actor, role: "owner" }, accountId);
  const people = await listPeople({ db }, accountId);
  if (people.some(({ id, teamRole }) => id === actor.accountId && teamRole === "admin")) return;
  throw new GatewayError("forbidden", "Only admins of the team may do this; ask one of them");
}

/** People besides the holder that an account can have. */
export const peopleMax = 500;

/**
 * Adds a person to a team. The account is locked already.
 *
 * @throws {GatewayError} `not_found`; `conflict` for a member, a full team, and a person whose e-mail is only claimed.
 */
export async function addPerson(
  db: Transaction<Database>,
  { accountId, personId, role }: PersonOfTeam & { role: TeamRole },
  now: number,
): Promise<Person> {
  const { id: user_id } = (await userOf(db, personId).executeTakeFirst()) ?? {};
  const person = await findAccount({ db }, personId);
  if (person === undefined) throw new GatewayError("not_found", "No user has this id or e-mail");
  if (user_id === undefined) {
    throw new GatewayError("not_found", "Nobody can sign in to this account yet; invite its person first");
  }
  expectKnownHolder(person, { isPerson: true });
  const people = await listPeople({ db }, accountId);
  if (people.some(({ id }) => id === personId))
    throw new GatewayError("conflict", "This person is already in the team");
  if (people.length > peopleMax) throw new GatewayError("conflict", `The team has ${peopleMax} people, its limit`);
  await db.insertInto("memberships").values({ account_id: accountId, user_id, role, joined_at: now }).execute();
  return (await listPeople({ db }, accountId)).find(({ id }) => id === personId) as Person;
}

interface PersonOfTeam {
  readonly accountId: string;
  readonly personId: string;
}

/**
 * Changes the role of a person in a team. Call {@link lockTeam} first. @throws {GatewayError} `not_found`, `conflict`
 */
export async function setTeamRole(
  db: Transaction<Database>,
  { accountId, personId, role }: PersonOfTeam & { role: TeamRole },
): Promise<Person> {
  const person = await findMember(db, { accountId, personId });
  if (role === "member") await expectAnotherAdmin(db, { accountId, personId });
  await db
    .updateTable("memberships")
    .set({ role })
    .where("account_id", "=", accountId)
    .where("user_id", "in", userOf(db, personId))
    .execute();
  if (role === "member") await endInvitationsBy(db, { accountId, personId });
  return person;
}

/**
 * Removes a person from a team, with the invitations that they made. Their sessions in it end, or continue in their own
 * account if they leave by themselves. Their keys belong to the account and stay, unless `revokeKeysAt` is set; then
 * call this by `Store.change`. The account is locked already.
 *
 * @throws {GatewayError} `not_found`, `conflict` for the holder, and for the last admin unless an operator removes
 * them.
 */
export async function removePerson(
  db: Transaction<Database>,
  {
    accountId,
    personId,
    revokeKeysAt,
    actor,
  }: PersonOfTeam & { revokeKeysAt: number | undefined; actor: TeamAdministrator },
): Promise<Person> {
  const person = await findMember(db, { accountId, personId });
  if (!actor.isOperator) await expectAnotherAdmin(db, { accountId, personId });
  await endMembership(db, { accountId, personId, revokeKeysAt, isOwnWish: actor.accountId === personId });
  return person;
}

/**
 * Ends a membership with the invitations, the sessions and, if asked for, the keys that the person made there. Returns the
 * number of keys. The account is locked already.
 */
export async function endMembership(
  db: Transaction<Database>,
  {
    accountId,
    personId,
    revokeKeysAt,
    isOwnWish = false,
  }: PersonOfTeam & { revokeKeysAt: number | undefined; isOwnWish?: boolean },
): Promise<number> {
  const user = userOf(db, personId);
  await db.deleteFrom("memberships").where("account_id", "=", accountId).where("user_id", "in", user).execute();
  if (isOwnWish) {
    const sessions = db.updateTable("sessions").set({ account_id: null }).where("account_id", "=", accountId);
    await sessions.where("user_id", "in", user).execute();
  } else {
    await db.deleteFrom("sessions").where("account_id", "=", accountId).where("user_id", "in", user).execute();
  }
  await endInvitationsBy(db, { accountId, personId });
  await db
    .updateTable("users")
    .set({ current_account_id: null })
    .where("account_id", "=", personId)
    .where("current_account_id", "=", accountId)
    .execute();
  return revokeKeysAt === undefined ? 0 : await revokeKeysOf(db, { personId, accountId }, revokeKeysAt);
}

async function findMember(db: Transaction<Database>, { accountId, personId }: PersonOfTeam): Promise<Person> {
  const person = (await listPeople({ db }, accountId)).find(({ id }) => id === personId);
  if (person === undefined) throw new GatewayError("not_found", "No member of the team has this id");
  if (!person.isHolder) return person;
  throw new GatewayError("conflict", "This is the person's own account; they stay an admin of it");
}

async function expectAnotherAdmin(db: Transaction<Database>, { accountId, personId }: PersonOfTeam): Promise<void> {
  const people = await listPeople({ db }, accountId);
  const isAnother = ({ id, teamRole, isDisabled }: Person) => id !== personId && teamRole === "admin" && !isDisabled;
  const isAdmin = people.some(({ id, teamRole }) => id === personId && teamRole === "admin");
  if (!isAdmin || people.some(isAnother)) return;
  throw new GatewayError("conflict", "This is the last admin of the team; make somebody else an admin first");
}

/** A former admin must not come back with an invitation link that they kept. */
export async function endInvitationsBy(
  db: Transaction<Database>,
  { accountId, personId }: PersonOfTeam,
): Promise<void> {
  await db
    .deleteFrom("team_invitations")
    .where("account_id", "=", accountId)
    .where("created_by", "=", personId)
    .where("used_by", "is", null)
    .execute();
}

function userOf(db: Transaction<Database>, personId: string) {
  return db.selectFrom("users").select("id").where("account_id", "=", personId);
}

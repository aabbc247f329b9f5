import { createHash, randomBytes } from "node:crypto";
import type { Transaction } from "kysely";
import { GatewayError } from "../contract/index.ts";
import type { Database, Store, TeamRole } from "../db/index.ts";
import { parseEmail } from "./accounts.ts";
import { lockAccount } from "./lock-account.ts";
import { peopleMax } from "./people.ts";
import { mayAdminister, mayInvite, readRole } from "./roles.ts";

/** An open invitation to a team. */
export interface TeamInvitation {
  readonly id: string;
  readonly role: TeamRole;
  /** Only the person with this address may take it; absent: anyone with the link. */
  readonly email: string | undefined;
  /** The account of the person who made it, or `cli`. */
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface NewTeamInvitation {
  readonly accountId: string;
  readonly role: TeamRole;
  readonly email?: string | undefined;
  /** Default 7. */
  readonly days?: number | undefined;
  readonly by: string;
}

const dayMs = 86_400_000;
const daysDefault = 7;
const openMax = 100;

/**
 * Creates the token of a link that lets one person join a team. The account is locked already.
 *
 * @throws {GatewayError} `invalid_request` for the e-mail, `conflict` when too many invitations are open.
 */
export async function createTeamInvitation(
  db: Transaction<Database>,
  { accountId, role, email, days = daysDefault, by }: NewTeamInvitation,
  now: number,
): Promise<{ id: string; token: string; expiresAt: number }> {
  if ((await listTeamInvitations({ db }, accountId, now)).length >= openMax) {
    throw new GatewayError("conflict", `The team has ${openMax} open invitations, its limit; delete some`);
  }
  const token = randomBytes(24).toString("base64url");
  const created = { id: `inv_${randomBytes(9).toString("hex")}`, expiresAt: now + days * dayMs };
  await db
    .insertInto("team_invitations")
    .values({
      id: created.id,
      token_hash: hashToken(token),
      account_id: accountId,
      role,
      created_by: by,
      created_at: now,
      email: email === undefined ? null : parseEmail(email),
      expires_at: created.expiresAt,
      used_by: null,
    })
    .execute();
  return { ...created, token };
}

/** The invitations that can still be taken, the newest first. */
export async function listTeamInvitations(
  { db }: Pick<Store, "db">,
  accountId: string,
  now: number,
): Promise<TeamInvitation[]> {
  const rows = await db
    .selectFrom("team_invitations")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("used_by", "is", null)
    .where("expires_at", ">", now)
    .orderBy("created_at", "desc")
    .orderBy("id")
    .execute();
  const makers = [...new Set(rows.map(({ created_by: by }) => by))];
  const valid = new Set<string>();
  for (const by of makers) if (await mayInviteToTeam(db, by, accountId, now)) valid.add(by);
  const open = rows.filter(({ created_by: by }) => valid.has(by));
  return open.map(({ id, role, email, created_by: createdBy, expires_at: expiresAt }) => ({
    id,
    role,
    email: email ?? undefined,
    createdBy,
    expiresAt,
  }));
}

/** @throws {GatewayError} `not_found` */
export async function deleteTeamInvitation(db: Transaction<Database>, accountId: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom("team_invitations")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("used_by", "is", null)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw new GatewayError("not_found", "There is no such invitation; it may have been used");
}

/**
 * Whether an actor may currently invite people to a team: an invitation is valid only as long as its creator could
 * create it. The holder, the admins of the team and operators may, unless they are disabled or viewers.
 */
async function mayInviteToTeam(db: Store["db"], by: string, accountId: string, now: number): Promise<boolean> {
  if (await mayInvite(db, by, accountId, now)) return true;
  const role = await readRole(db, by, now);
  if (role === undefined || role === "viewer") return false;
  if (by === accountId) return true;
  const membership = await db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .select("memberships.role")
    .where("memberships.account_id", "=", accountId)
    .where("users.account_id", "=", by)
    .executeTakeFirst();
  return membership?.role === "admin";
}

/** Reads an invitation for its page, before it is accepted. @throws {GatewayError} `not_found` */
export async function readTeamInvitation({ db }: Pick<Store, "db">, token: string, now: number) {
  const row = await db
    .selectFrom("team_invitations")
    .innerJoin("accounts", "accounts.id", "team_invitations.account_id")
    .select(["team_invitations.email", "team_invitations.role", "accounts.name", "accounts.email as team_email"])
    .select(["team_invitations.created_by", "team_invitations.account_id"])
    .where("token_hash", "=", hashToken(token))
    .where("used_by", "is", null)
    .where("expires_at", ">", now)
    .where("accounts.disabled_at", "is", null)
    .executeTakeFirst();
  if (row === undefined || !(await mayInviteToTeam(db, row.created_by, row.account_id, now))) throw invalidInvitation();
  return { team: row.name ?? row.team_email, role: row.role, email: row.email ?? undefined };
}

/** @throws {GatewayError} `invalid_request` when the invitation is for another address. */
export function expectInvited(invitation: { email: string | null | undefined }, email: string): void {
  if (!invitation.email || invitation.email === email) return;
  const message = "This invitation is for another e-mail address; sign in with that one, or ask for a new link";
  throw new GatewayError("invalid_request", message, { param: "email" });
}

/** Whether a team has invited the person with this address, which is permission to sign up. */
export async function isInvited({ db }: Pick<Store, "db">, email: string, now: number): Promise<boolean> {
  const invitations = db.selectFrom("team_invitations").select(["account_id", "created_by"]).where("email", "=", email);
  const open = await invitations.where("used_by", "is", null).where("expires_at", ">", now).distinct().execute();
  for (const { account_id, created_by } of open)
    if (await mayInviteToTeam(db, created_by, account_id, now)) return true;
  return false;
}

/**
 * Adds a person to the team that invited them; their next session begins there. An invitation can be used once; the
 * person who used it may do so again, which changes nothing. Call within a transaction.
 *
 * @param personId The id of the person's own account.
 * @returns The account, the role if it is new, and whether an operator made the invitation for the e-mail of this
 * person.
 * @throws {GatewayError} `not_found` for a token that is unknown, expired or used by another person, or whose creator
 * may no longer invite; `invalid_request` when it is for another address, `conflict` for a person who is in the team
 * already.
 */
export async function takeTeamInvitation(
  db: Transaction<Database>,
  { token, personId }: { token: string; personId: string },
  now: number,
): Promise<{ accountId: string; joinedAs: TeamRole | undefined; isVouchedFor: boolean }> {
  const invitation = await db
    .selectFrom("team_invitations")
    .select(["id", "account_id"])
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  if (invitation === undefined) throw invalidInvitation();
  const accountId = invitation.account_id;
  await lockAccount(db, accountId);
  const person = await readPerson(db, accountId, personId);
  const row = await db
    .selectFrom("team_invitations")
    .innerJoin("accounts", "accounts.id", "team_invitations.account_id")
    .select(["team_invitations.role", "team_invitations.email", "used_by", "expires_at", "disabled_at", "created_by"])
    .where("team_invitations.id", "=", invitation.id)
    .executeTakeFirst();
  if (row === undefined || row.expires_at <= now || row.disabled_at !== null) throw invalidInvitation();
  if (row.used_by === person.userId && person.isMember) {
    return { accountId, joinedAs: undefined, isVouchedFor: false };
  }
  if (row.used_by !== null || !(await mayInviteToTeam(db, row.created_by, accountId, now))) throw invalidInvitation();
  expectInvited(row, person.email);
  if (person.isMember) throw new GatewayError("conflict", "You belong to this team already; sign in to switch to it");
  await expectSeat(db, accountId);
  await db.updateTable("team_invitations").set({ used_by: person.userId }).where("id", "=", invitation.id).execute();
  const membership = { account_id: accountId, user_id: person.userId, role: row.role, joined_at: now };
  await db.insertInto("memberships").values(membership).execute();
  await db.updateTable("users").set({ current_account_id: accountId }).where("id", "=", person.userId).execute();
  const role = await readRole(db, row.created_by, now);
  const isVouchedFor = row.email !== null && role !== undefined && mayAdminister(role);
  return { accountId, joinedAs: row.role, isVouchedFor };
}

async function readPerson(db: Transaction<Database>, accountId: string, personId: string) {
  const { user_id, ...person } = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.user_id", "=", "users.id").on("memberships.account_id", "=", accountId),
    )
    .select(["users.id as userId", "accounts.email", "memberships.user_id"])
    .where("users.account_id", "=", personId)
    .executeTakeFirstOrThrow();
  return { ...person, isMember: user_id !== null || personId === accountId };
}

async function expectSeat(db: Transaction<Database>, accountId: string): Promise<void> {
  const { count } = await db
    .selectFrom("memberships")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (count >= peopleMax) throw new GatewayError("conflict", `The team has ${peopleMax} people, its limit`);
}

function invalidInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation is invalid, used or expired; ask the team for a new one");
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

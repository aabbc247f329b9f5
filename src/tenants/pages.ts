import type { InferResult } from "kysely";
import { GatewayError } from "../contract/index.ts";
import type { Role, Store } from "../db/index.ts";
import { isBehind, type PageQuery, toPageStart } from "../db/page.ts";
import { type Account, accountsQuery, toAccount } from "./accounts.ts";
import { mayInvite } from "./roles.ts";

type Reader = Pick<Store, "db">;

/** A page of all accounts, or of those that are enabled. */
export async function listAccountsPage(
  { db }: Reader,
  { limit, after, includesDisabled }: PageQuery & { readonly includesDisabled: boolean },
): Promise<Account[]> {
  let query = accountsQuery(db);
  if (!includesDisabled) query = query.where("accounts.disabled_at", "is", null);
  if (after !== undefined) {
    const last = db.selectFrom("accounts").select(["id", "created_at"]).where("id", "=", after);
    const start = toPageStart(await last.executeTakeFirst(), after);
    query = query.where(isBehind("accounts.created_at", "accounts.id", start));
  }
  return (await query.orderBy("accounts.created_at").orderBy("accounts.id").limit(limit).execute()).map(toAccount);
}

/** A person who signs in. */
export interface User {
  /** The id of their own account, which identifies them everywhere. */
  readonly id: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly role: Role;
  /** Whether the e-mail is verified; otherwise they have only signed up with it. */
  readonly isVerified: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly isDisabled: boolean;
}

/** A page of the people who sign in, or of those with these e-mails. */
export async function listUsersPage(
  { db }: Reader,
  { limit, after, emails = [] }: PageQuery & { readonly emails?: readonly string[] },
): Promise<User[]> {
  let query = usersQuery(db);
  if (emails.length > 0) {
    query = query.where(
      "accounts.email",
      "in",
      emails.map((email) => email.trim().toLowerCase()),
    );
  }
  if (after !== undefined) {
    const last = await usersQuery(db).where("accounts.id", "=", after).executeTakeFirst();
    query = query.where(isBehind("accounts.created_at", "accounts.id", toPageStart(last, after)));
  }
  const rows = await query.orderBy("accounts.created_at").orderBy("accounts.id").limit(limit).execute();
  return rows.map(toUser);
}

/** The people with these ids, by id. */
export async function findUsers({ db }: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, User>> {
  if (ids.length === 0) return new Map();
  const rows = await usersQuery(db)
    .where("accounts.id", "in", [...new Set(ids)])
    .execute();
  return new Map(rows.map((row) => [row.id, toUser(row)]));
}

/** @throws {GatewayError} `not_found` */
export async function readUserOf({ db }: Reader, id: string): Promise<User> {
  const row = await usersQuery(db).where("accounts.id", "=", id).executeTakeFirst();
  if (row !== undefined) return toUser(row);
  throw new GatewayError("not_found", "No user has this id");
}

function usersQuery(db: Store["db"]) {
  return db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["accounts.id", "accounts.email", "accounts.name", "accounts.created_at", "accounts.disabled_at"])
    .select(["users.role", "users.email_verified"]);
}

function toUser(row: InferResult<ReturnType<typeof usersQuery>>[number]): User {
  const { id, email, name, created_at: createdAt, disabled_at: disabledAt, role } = row;
  const isVerified = row.email_verified !== 0;
  return { id, email, name: name ?? undefined, role, isVerified, createdAt, isDisabled: disabledAt !== null };
}

/** An open invitation: the link that lets the holder of an account set a password. */
export interface OpenInvitation {
  readonly accountId: string;
  readonly email: string;
  /** The role that they will have; absent: no role is set, and they will become a `member`. */
  readonly role: Role | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Whether its link works: it has not expired, and its maker may still invite. */
  readonly isGood: boolean;
}

/** Lists a page of the invitations that are not accepted, including those with expired links. */
export async function listInvitationsPage(
  { db }: Reader,
  { limit, after }: PageQuery,
  now: number,
): Promise<OpenInvitation[]> {
  let query = invitationsQuery(db);
  if (after !== undefined) {
    const last = await invitationsQuery(db).where("accounts.id", "=", after).executeTakeFirst();
    query = query.where(isBehind("invitations.created_at", "accounts.id", toPageStart(last, after)));
  }
  const rows = await query.orderBy("invitations.created_at").orderBy("accounts.id").limit(limit).execute();
  const invitations: OpenInvitation[] = [];
  for (const row of rows) invitations.push(await toOpenInvitation(db, row, now));
  return invitations;
}

/** Reads the invitation of an account, which has at most one. @throws {GatewayError} `not_found` */
export async function readInvitation({ db }: Reader, accountId: string, now: number): Promise<OpenInvitation> {
  const row = await invitationsQuery(db).where("accounts.id", "=", accountId).executeTakeFirst();
  if (row !== undefined) return await toOpenInvitation(db, row, now);
  throw new GatewayError("not_found", "No open invitation has this id; it may have been accepted");
}

function invitationsQuery(db: Store["db"]) {
  return db
    .selectFrom("invitations")
    .innerJoin("accounts", "accounts.id", "invitations.account_id")
    .leftJoin("users", "users.account_id", "accounts.id")
    .select(["accounts.id", "accounts.email", "users.role", "invitations.created_at", "invitations.expires_at"])
    .select("invitations.created_by")
    .where("invitations.used_at", "is", null);
}

async function toOpenInvitation(
  db: Store["db"],
  row: InferResult<ReturnType<typeof invitationsQuery>>[number],
  now: number,
): Promise<OpenInvitation> {
  const { id: accountId, email, role, created_at: createdAt, expires_at: expiresAt, created_by: by } = row;
  const isGood = expiresAt > now && by !== null && (await mayInvite(db, by, accountId, now));
  return { accountId, email, role: role ?? undefined, createdAt, expiresAt, isGood };
}

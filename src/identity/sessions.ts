import { GatewayError } from "../contract/index.ts";
import { isRoleOf, type Role, type Store, type TeamRole } from "../db/index.ts";
import { readAllowedModels } from "../tenants/index.ts";

/** A signed-in user. */
export interface SessionUser {
  readonly userId: string;
  readonly sessionId: string;
  /** The account that the session acts in: the user's own, or a team's. */
  readonly accountId: string;
  readonly accountEmail: string;
  readonly accountName: string | undefined;
  /** Role of the user in that account. */
  readonly teamRole: TeamRole;
  /** The user's own account; its id identifies the person. */
  readonly ownAccountId: string;
  readonly email: string;
  readonly name: string;
  /** Whether the user has proved to receive the mail of {@link email}, or an operator vouches for that. */
  readonly emailVerified: boolean;
  /** Role of the user in the whole gateway, whichever account the session acts in. */
  readonly role: Role;
  /** The password was set by another person and has to be changed. */
  readonly passwordIsTemporary: boolean;
  /** Whether sign-in needs a code after the password. */
  readonly secondFactor: boolean;
  /**
   * Daily free quota that the account of the session sets itself; absent: the quota of its role or the configured quota
   * applies.
   */
  readonly freeTokensPerDay: number | undefined;
  /** The daily free quota of the role of this account's holder; absent: the configured quota applies. */
  readonly roleFreeTokensPerDay: number | undefined;
  /** Whether the e-mail of this account's holder is not verified. */
  readonly isEmailClaimed: boolean;
  /** The markup of this account; absent: the model's, provider's or gateway's. */
  readonly markupBasisPoints: number | undefined;
  /** Ids of the models that this account may use; absent: all. */
  readonly allowedModels: readonly string[] | undefined;
}

/** How often the last use of a session is written. */
const lastUsedMs = 300_000;

/**
 * Reads the user of a session with the account that it acts in. Returns `undefined` when that account or the user's own
 * is disabled, the user no longer belongs to it or was deleted, or the session has ended.
 */
export async function readSessionUser(
  { db }: Store,
  { id: sessionId, userId }: { id: string; userId: string },
  now: number,
): Promise<SessionUser | undefined> {
  const row = await db
    .selectFrom("users")
    .innerJoin("sessions", "sessions.user_id", "users.id")
    .innerJoin("accounts as own", "own.id", "users.account_id")
    .innerJoin("accounts", (join) =>
      join.on((where) => where("accounts.id", "=", where.fn.coalesce("sessions.account_id", "users.account_id"))),
    )
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.account_id", "=", "accounts.id").onRef("memberships.user_id", "=", "users.id"),
    )
    .leftJoin("users as holder", "holder.account_id", "accounts.id")
    .leftJoin("role_limits", (join) => join.on(isRoleOf("holder")))
    .select(["users.email_verified", "holder.email_verified as holder_email_verified"])
    .select("role_limits.free_tokens_per_day as role_free_tokens_per_day")
    .select(["own.email", "own.name", "own.disabled_at as own_disabled_at", "memberships.role as team_role"])
    .select([
      "accounts.id",
      "sessions.last_used_at",
      "users.account_id",
      "users.role",
      "users.password_is_temporary",
      "users.two_factor_enabled",
      "accounts.email as account_email",
      "accounts.name as account_name",
      "accounts.free_tokens_per_day",
      "accounts.allowed_models",
      "accounts.disabled_at",
    ])
    .select(({ selectFrom }) =>
      selectFrom("markups")
        .select("basis_points")
        .whereRef("markups.account_id", "=", "accounts.id")
        .where("provider", "=", "")
        .as("markup_basis_points"),
    )
    .where("users.id", "=", userId)
    .where("sessions.id", "=", sessionId)
    .where("sessions.expires_at", ">", new Date(now).toISOString())
    .executeTakeFirst();
  if (row === undefined || row.disabled_at !== null || row.own_disabled_at !== null) return undefined;
  const isOwn = row.id === row.account_id;
  const teamRole = isOwn ? "admin" : row.team_role;
  if (teamRole === null) return undefined;
  if (row.last_used_at === null || row.last_used_at <= now - lastUsedMs) {
    const use = db.updateTable("sessions").set({ last_used_at: now }).where("id", "=", sessionId);
    // Nothing depends on it, so a request does not fail for it.
    await use.execute().catch(() => undefined);
  }
  return {
    userId,
    sessionId,
    accountId: row.id,
    accountEmail: row.account_email,
    accountName: row.account_name ?? undefined,
    teamRole,
    ownAccountId: row.account_id,
    email: row.email,
    name: row.name ?? row.email,
    emailVerified: row.email_verified !== 0,
    role: row.role,
    passwordIsTemporary: row.password_is_temporary !== 0,
    secondFactor: row.two_factor_enabled !== 0,
    freeTokensPerDay: row.free_tokens_per_day ?? undefined,
    roleFreeTokensPerDay: row.role_free_tokens_per_day ?? undefined,
    isEmailClaimed: row.holder_email_verified === 0,
    markupBasisPoints: row.markup_basis_points ?? undefined,
    allowedModels: readAllowedModels(row.allowed_models),
  };
}

export function passwordChangeRequired(): GatewayError {
  const message = "This temporary password only allows signing in: change it to continue";
  return new GatewayError("forbidden", message, { publicCode: "password_change_required" });
}

/** A session of a browser. */
export interface Session {
  id: string;
  /** Milliseconds since 1970, like all times here. */
  createdAt: number;
  expiresAt: number;
  /** Accurate to five minutes; absent when it was not used yet. */
  lastUsedAt: number | undefined;
  /** The address that the session was started from; absent when it is unknown. */
  address: string | undefined;
  /** The browser's `user-agent`; absent when it sent none. */
  userAgent: string | undefined;
}

const listedMax = 200;

/** Lists the sessions of a user, newest first. */
export async function listSessions({ db }: Store, userId: string, now: number): Promise<Session[]> {
  const rows = await db
    .selectFrom("sessions")
    .select(["id", "created_at", "expires_at", "last_used_at", "ip_address", "user_agent"])
    .where("user_id", "=", userId)
    .where("expires_at", ">", new Date(now).toISOString())
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    createdAt: Date.parse(row.created_at),
    expiresAt: Date.parse(row.expires_at),
    lastUsedAt: row.last_used_at ?? undefined,
    address: row.ip_address || undefined,
    userAgent: row.user_agent?.slice(0, 300) || undefined,
  }));
}

/** Ends one session of a user. Returns whether it existed. */
export async function endSession({ db }: Store, userId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("sessions")
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Deletes in chunks: no chunk holds the write lock for long. */
const pruneChunkMax = 100;
/** The rest is deleted at the next run. */
const chunksMax = 20;

/** Deletes expired sessions, verifications, invitations, links to verify e-mails, counts of attempts and sign-ins of programs, and returns how many. Called by a timer. */
export async function pruneSignIn({ db }: Store, now: number): Promise<number> {
  const at = new Date(now).toISOString();
  const sessions = () => {
    const expired = db.selectFrom("sessions").select("id").where("expires_at", "<=", at).limit(pruneChunkMax);
    return db.deleteFrom("sessions").where("id", "in", expired).executeTakeFirstOrThrow();
  };
  const verifications = () => {
    const expired = db.selectFrom("verifications").select("id").where("expires_at", "<=", at).limit(pruneChunkMax);
    return db.deleteFrom("verifications").where("id", "in", expired).executeTakeFirstOrThrow();
  };
  const invitations = () => {
    const expired = db.selectFrom("invitations").select("token_hash").where("expires_at", "<=", now);
    return db
      .deleteFrom("invitations")
      .where("token_hash", "in", expired.limit(pruneChunkMax))
      .executeTakeFirstOrThrow();
  };
  const teamInvitations = () => {
    const expired = db.selectFrom("team_invitations").select("id").where("expires_at", "<=", now).limit(pruneChunkMax);
    return db.deleteFrom("team_invitations").where("id", "in", expired).executeTakeFirstOrThrow();
  };
  const emailVerifications = () => {
    const table = db.selectFrom("email_verifications").select("user_id");
    const expired = table.where("expires_at", "<=", now).limit(pruneChunkMax);
    return db.deleteFrom("email_verifications").where("user_id", "in", expired).executeTakeFirstOrThrow();
  };
  const attempts = () => {
    const expired = db.selectFrom("sign_in_attempts").select("key").where("ends_at", "<=", now).limit(pruneChunkMax);
    return db.deleteFrom("sign_in_attempts").where("key", "in", expired).executeTakeFirstOrThrow();
  };
  const requests = () => {
    const expired = db.selectFrom("oauth_requests").select("code_hash").where("expires_at", "<=", now);
    return db
      .deleteFrom("oauth_requests")
      .where("code_hash", "in", expired.limit(pruneChunkMax))
      .executeTakeFirstOrThrow();
  };
  const grants = () => {
    const expired = db.selectFrom("oauth_grants").select("id").where("expires_at", "<=", now).limit(pruneChunkMax);
    return db.deleteFrom("oauth_grants").where("id", "in", expired).executeTakeFirstOrThrow();
  };
  const prunes = [
    sessions,
    verifications,
    invitations,
    teamInvitations,
    emailVerifications,
    attempts,
    requests,
    grants,
  ];
  let pruned = 0;
  for (const prune of prunes) {
    for (let chunk = 0; chunk < chunksMax; chunk++) {
      const { numDeletedRows } = await prune();
      pruned += Number(numDeletedRows);
      if (numDeletedRows < pruneChunkMax) break;
    }
  }
  return pruned;
}

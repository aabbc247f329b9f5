import type { Role, Store } from "../db/index.ts";

/** Who is signed in. */
export interface SessionUser {
  readonly userId: string;
  readonly sessionId: string;
  readonly accountId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** Somebody else has seen the password: it is to be changed. */
  readonly passwordIsTemporary: boolean;
  /** Whether a code is asked for after the password. */
  readonly secondFactor: boolean;
  /** The account's own daily free quota; absent when it has the configured one. */
  readonly freeTokensPerDay: number | undefined;
}

/** The user of a session with their account; `undefined` when the account is disabled, or the user is gone. */
export async function readSessionUser(
  { db }: Store,
  { id: sessionId, userId }: { id: string; userId: string },
): Promise<SessionUser | undefined> {
  const row = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select([
      "users.account_id",
      "users.role",
      "users.password_is_temporary",
      "users.two_factor_enabled",
      "accounts.email",
      "accounts.name",
      "accounts.free_tokens_per_day",
      "accounts.disabled_at",
    ])
    .where("users.id", "=", userId)
    .executeTakeFirst();
  if (row === undefined || row.disabled_at !== null) return undefined;
  return {
    userId,
    sessionId,
    accountId: row.account_id,
    email: row.email,
    name: row.name ?? row.email,
    role: row.role,
    passwordIsTemporary: row.password_is_temporary !== 0,
    secondFactor: row.two_factor_enabled !== 0,
    freeTokensPerDay: row.free_tokens_per_day ?? undefined,
  };
}

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Role, Store } from "../store/index.ts";

/** The name of the cookie that a signed-in browser sends. */
export const sessionCookie = "session";

/** What better-auth is told that its origin is. Where a request truly comes from is checked before it gets there. */
export const authOrigin = "http://modelgate.invalid";

/** Who is signed in. */
export interface Visitor {
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

/**
 * Reads who is signed in by one look-up, without better-auth, which would take several and is slow to load. The cookie
 * is what better-auth makes: the session's token, a dot and the HMAC-SHA256 of the token in base64, percent-encoded.
 *
 * @returns `undefined` for a cookie that is missing, forged or unknown, a session that has ended, a disabled account.
 */
export async function readVisitor(
  { db }: Store,
  cookies: string | null,
  { secret, now }: { secret: string; now: number },
): Promise<Visitor | undefined> {
  const token = tokenOf(cookies, secret);
  if (token === undefined) return undefined;
  const row = await findVisitor(db, token);
  if (row === undefined || row.disabled_at !== null || Date.parse(row.expires_at) <= now) return undefined;
  return visitorOf(row);
}

type VisitorRow = NonNullable<Awaited<ReturnType<typeof findVisitor>>>;

function findVisitor(db: Store["db"], token: string) {
  return db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select([
      "sessions.id as session_id",
      "sessions.expires_at",
      "users.id",
      "users.account_id",
      "users.role",
      "users.password_is_temporary",
      "users.two_factor_enabled",
      "accounts.email",
      "accounts.name",
      "accounts.free_tokens_per_day",
      "accounts.disabled_at",
    ])
    .where("sessions.token", "=", token)
    .executeTakeFirst();
}

function visitorOf(row: VisitorRow): Visitor {
  return {
    userId: row.id,
    sessionId: row.session_id,
    accountId: row.account_id,
    email: row.email,
    name: row.name ?? row.email,
    role: row.role,
    passwordIsTemporary: row.password_is_temporary !== 0,
    secondFactor: row.two_factor_enabled !== 0,
    freeTokensPerDay: row.free_tokens_per_day ?? undefined,
  };
}

function tokenOf(cookies: string | null, secret: string): string | undefined {
  const value = cookies
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${sessionCookie}=`))
    ?.slice(sessionCookie.length + 1);
  if (value === undefined || value.length > 512) return undefined;
  const text = decode(value);
  const dot = text.lastIndexOf(".");
  if (dot < 1) return undefined;
  const token = text.slice(0, dot);
  const [expected, given] = [
    createHmac("sha256", secret).update(token).digest(),
    Buffer.from(text.slice(dot + 1), "base64"),
  ];
  return expected.length === given.length && timingSafeEqual(expected, given) ? token : undefined;
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

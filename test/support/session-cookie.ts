import { createHmac } from "node:crypto";
import type { Role, Store } from "../../src/db/index.ts";
import { hashPassword, verifyPassword } from "../../src/identity/password.ts";
import { writePassword } from "../../src/identity/set-password.ts";

/** The password of everybody that {@link enterAs} lets in. */
export const password = "correct horse battery";

/** Hashes that cost next to nothing: the tests make some hundred, and what one costs is the matter of few. */
export const cheapPasswords = {
  hash: (given: string) => hashPassword(given, { N: 2, r: 1, p: 1 }),
  verify: verifyPassword,
};

/** The cookie of a session as the gateway signs it. */
export function sessionCookieOf(token: string, secret: string): string {
  const signature = createHmac("sha256", secret).update(token).digest("base64");
  return `session=${encodeURIComponent(`${token}.${signature}`)}`;
}

/** Gives an account a user with {@link password}, and returns the cookie of a session without the cost of a sign-in. */
export async function enterAs(
  store: Store,
  { accountId, role, temporary = false }: { accountId: string; role: Role; temporary?: boolean },
  now: number,
): Promise<string> {
  const write = { accountId, hash: await cheapPasswords.hash(password), temporary, role };
  await store.db.transaction().execute((db) => writePassword(db, write, now));
  return (await beginSession(store, accountId, now)).cookie;
}

/** Begins another session of the account's user. */
export async function beginSession(
  store: Store,
  accountId: string,
  now: number,
): Promise<{ id: string; cookie: string }> {
  const secret = await store.setting("session_secret", () => "");
  const token = crypto.randomUUID();
  const at = new Date(now).toISOString();
  const { id: user_id } = await store.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  // better-auth goes by the true clock.
  const expires_at = new Date(Math.max(now, Date.now()) + 604_800_000).toISOString();
  const id = crypto.randomUUID();
  const session = {
    id,
    token,
    user_id,
    ip_address: null,
    user_agent: null,
    expires_at,
    created_at: at,
    updated_at: at,
  };
  await store.db.insertInto("sessions").values(session).execute();
  return { id, cookie: sessionCookieOf(token, secret) };
}

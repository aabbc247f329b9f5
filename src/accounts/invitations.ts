import { createHash, randomBytes } from "node:crypto";
import { GatewayError } from "../contract/index.ts";
import type { Store, TransactionScope } from "../db/index.ts";
import { lockAccount } from "./lock-account.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, endInvitations, writePassword } from "./users.ts";

/** An invitation is valid for 48 hours. */
const invitationLifetimeMs = 172_800_000;

/**
 * Creates the token of a link with which an account holder sets a password, once and within 48 hours. Earlier
 * invitations of the account end.
 *
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function invite(
  store: TransactionScope,
  accountId: string,
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  const token = randomBytes(24).toString("base64url");
  const expiresAt = now + invitationLifetimeMs;
  const row = {
    token_hash: hashToken(token),
    account_id: accountId,
    created_at: now,
    expires_at: expiresAt,
    used_at: null,
  };
  await store.change(async (db) => {
    await endInvitations(db, accountId);
    await db.insertInto("invitations").values(row).execute();
  });
  return { token, expiresAt };
}

/**
 * Accepts an invitation, which ends all others of the account.
 *
 * @returns The account's e-mail, to sign in with.
 * @throws {GatewayError} `not_found` for a token that is unknown, used or expired; `invalid_request` for the password.
 */
export async function acceptInvitation(
  store: Store,
  { token, password }: { token: string; password: string },
  now: number,
): Promise<{ email: string }> {
  checkPassword(password);
  const known = await store.db
    .selectFrom("invitations")
    .select("account_id")
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  // Hashing a password takes a lot of CPU, so unknown tokens are refused first.
  if (known === undefined) throw invalidInvitation();
  const hash = await hashPassword(password);
  return store.db.transaction().execute(async (db) => {
    const { account_id: accountId } = known;
    await lockAccount(db, accountId);
    const { numDeletedRows } = await db
      .deleteFrom("invitations")
      .where("token_hash", "=", hashToken(token))
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw invalidInvitation();
    return writePassword(db, { accountId, hash, temporary: false, role: "member" }, now);
  });
}

function invalidInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation is invalid, used or expired; ask for a new one");
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

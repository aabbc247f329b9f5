import { createHash, randomBytes } from "node:crypto";
import { GatewayError } from "../contract/index.ts";
import type { Store, TransactionScope } from "../db/index.ts";
import { unknownAccount } from "./account-admin.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, writePassword } from "./users.ts";

/** An invitation is valid for 48 hours. */
const invitationLifetimeMs = 172_800_000;

/**
 * Creates the token of a link with which an account holder sets a password, once and within 48 hours.
 *
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function invite(
  store: TransactionScope,
  accountId: string,
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  const account = await store.db.selectFrom("accounts").select("id").where("id", "=", accountId).executeTakeFirst();
  if (account === undefined) throw unknownAccount(accountId);
  const token = randomBytes(24).toString("base64url");
  const expiresAt = now + invitationLifetimeMs;
  const row = {
    token_hash: hashToken(token),
    account_id: accountId,
    created_at: now,
    expires_at: expiresAt,
    used_at: null,
  };
  await store.db.insertInto("invitations").values(row).execute();
  return { token, expiresAt };
}

/**
 * Accepts an invitation.
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
    .select("used_at")
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  // Hashing a password takes a lot of CPU, so unknown tokens are refused first.
  if (known === undefined || known.used_at !== null) throw invalidInvitation();
  const hash = await hashPassword(password);
  return store.db.transaction().execute(async (db) => {
    const accepted = await db
      .updateTable("invitations")
      .set({ used_at: now })
      .where("token_hash", "=", hashToken(token))
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .returning("account_id")
      .executeTakeFirst();
    if (accepted === undefined) throw invalidInvitation();
    return writePassword(db, { accountId: accepted.account_id, hash, temporary: false, role: "member" }, now);
  });
}

function invalidInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation is invalid, used or expired; ask for a new one");
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

import { createHash, randomBytes } from "node:crypto";
import { recordAudit } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { shareFreeQuota } from "./mailbox.ts";
import type { SessionUser } from "./sessions.ts";

const lifetimeMs = 86_400_000;

/**
 * Creates the token of a link; a user who opens it proves that they receive the mail of their address. An earlier link
 * ends.
 *
 * @throws {GatewayError} `conflict` when the e-mail is verified already.
 */
export async function createEmailVerification(
  { db }: Pick<Store, "db">,
  { userId, email, emailVerified }: Pick<SessionUser, "userId" | "email" | "emailVerified">,
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  if (emailVerified) throw new GatewayError("conflict", "Your e-mail is verified already");
  const token = randomBytes(24).toString("base64url");
  const expiresAt = now + lifetimeMs;
  const link = { token_hash: hashToken(token), email, expires_at: expiresAt };
  await db
    .insertInto("email_verifications")
    .values({ user_id: userId, ...link })
    .onConflict((conflict) => conflict.column("user_id").doUpdateSet(link))
    .execute();
  return { token, expiresAt };
}

/**
 * Takes the link of a signed-in user. No other user can take it: the holder of an e-mail that a stranger used to sign
 * up does not vouch for the stranger's account by opening the link in the mail.
 *
 * @throws {GatewayError} `not_found` for a token that is unknown, expired, of another user or of another e-mail.
 */
export async function verifyEmail(
  store: Pick<Store, "change" | "shared">,
  { userId, ownAccountId, email }: SessionUser,
  token: string,
  now: number,
): Promise<void> {
  // The free quota of the account may change, which is cached with its keys.
  await store.change(async (db) => {
    const { numDeletedRows } = await db
      .deleteFrom("email_verifications")
      .where("user_id", "=", userId)
      .where("token_hash", "=", hashToken(token))
      .where("email", "=", email)
      .where("expires_at", ">", now)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) {
      const message = `This link does not verify ${email}: it is expired, used, or for another account; send a new one`;
      throw new GatewayError("not_found", message);
    }
    await db.updateTable("users").set({ email_verified: 1 }).where("id", "=", userId).execute();
    await shareFreeQuota(db, { accountId: ownAccountId, shared: store.shared }, now);
    const entry = { accountId: ownAccountId, action: "user.email_verified", subject: ownAccountId, detail: { email } };
    await recordAudit({ db }, entry, now);
  });
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

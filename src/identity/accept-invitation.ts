import type { Store } from "../db/index.ts";
import { hashToken, invalidInvitation, lockAccount, mayInvite } from "../tenants/index.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, writePassword } from "./set-password.ts";

/**
 * Accepts an invitation, which ends all others of the account and verifies its e-mail.
 *
 * @returns The account's e-mail, to sign in with.
 * @throws {GatewayError} `not_found` for a token that is unknown, used or expired, or whose maker may not invite any more;
 * `invalid_request` for the password.
 */
export async function acceptInvitation(
  store: Store,
  { token, password }: { token: string; password: string },
  now: number,
): Promise<{ email: string }> {
  checkPassword(password);
  const row = await store.db
    .selectFrom("invitations")
    .select("account_id")
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  // Hashing a password takes a lot of CPU, so unknown tokens are refused first.
  if (row === undefined) throw invalidInvitation();
  const hash = await hashPassword(password);
  return store.change(async (db) => {
    const { account_id: accountId } = row;
    await lockAccount(db, accountId);
    const invitation = await db
      .deleteFrom("invitations")
      .where("token_hash", "=", hashToken(token))
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .returning("created_by")
      .executeTakeFirst();
    if (invitation?.created_by == null || !(await mayInvite(db, invitation.created_by, accountId, now))) {
      throw invalidInvitation();
    }
    return writePassword(db, { accountId, hash, temporary: false, role: "member" }, now);
  });
}

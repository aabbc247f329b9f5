import { createHash, randomBytes } from "node:crypto";
import { GatewayError } from "../contract/index.ts";
import type { Store, TransactionScope } from "../db/index.ts";
import { mayInvite } from "./roles.ts";
import { endInvitations } from "./users.ts";

/** An invitation is valid for 48 hours. */
const invitationLifetimeMs = 172_800_000;

/**
 * Creates the token of a link that lets an account holder set a password, once, within 48 hours and as long as its
 * creator may invite. Earlier invitations of the account end.
 *
 * @param by The account of the administrator who creates it, or `cli`.
 * @throws {GatewayError} `not_found` for an unknown account.
 */
export async function invite(
  store: TransactionScope,
  { accountId, by }: { accountId: string; by: string },
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  const token = randomBytes(24).toString("base64url");
  const expiresAt = now + invitationLifetimeMs;
  const row = {
    token_hash: hashToken(token),
    account_id: accountId,
    created_by: by,
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
 * The details shown on the page of an invitation before it is accepted: the e-mail to sign in with, and the e-mail of
 * its creator, undefined if the creator is not a user.
 *
 * @throws {GatewayError} `not_found`, as for {@link acceptInvitation}.
 */
export async function readAccountInvitation(
  { db }: Pick<Store, "db">,
  token: string,
  now: number,
): Promise<{ email: string; invitedBy: string | undefined }> {
  const row = await db
    .selectFrom("invitations")
    .innerJoin("accounts", "accounts.id", "invitations.account_id")
    .leftJoin("accounts as makers", "makers.id", "invitations.created_by")
    .select(["accounts.id", "accounts.email", "invitations.created_by", "makers.email as invited_by"])
    .where("token_hash", "=", hashToken(token))
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  if (row?.created_by == null || !(await mayInvite(db, row.created_by, row.id, now))) throw invalidInvitation();
  return { email: row.email, invitedBy: row.invited_by ?? undefined };
}

export function invalidInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation is invalid, used or expired; ask for a new one");
}

export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

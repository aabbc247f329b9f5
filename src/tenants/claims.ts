import type { Transaction } from "kysely";
import { recordAudit } from "../audit/index.ts";
import type { Database } from "../db/index.ts";

interface Claimed {
  readonly accountId: string;
  readonly userId: string;
  /** Person who vouches for the e-mail, for the audit log. */
  readonly by: string;
}

/**
 * Ends everything made by a person who opened an account with an unverified e-mail, because the e-mail may belong to
 * another person: API keys, including keys that they made in other accounts, all memberships in the account, their own
 * memberships in others, invitations to teams, alert channels and the name that they chose. The caller replaces
 * password, sessions, trusted devices and second factor. Money, calls and keys made by a command stay. Call it by
 * `Store.change`, since keys are cached.
 */
export async function endClaims(
  db: Transaction<Database>,
  { accountId, userId, by }: Claimed,
  now: number,
): Promise<void> {
  await db.updateTable("accounts").set({ name: null }).where("id", "=", accountId).execute();
  await db
    .updateTable("users")
    .set(({ selectFrom }) => ({ name: selectFrom("accounts").select("email").where("accounts.id", "=", accountId) }))
    .where("id", "=", userId)
    .execute();
  const keys = await db
    .updateTable("keys")
    .set({ revoked_at: now })
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("account_id", "=", accountId), where("created_by", "=", accountId)]))
    .where((where) => where.or([where("created_by", "is", null), where("created_by", "<>", "cli")]))
    .where((where) => where.or([where("created_by", "is", null), where("created_by", "not like", "admin-key:%")]))
    .executeTakeFirstOrThrow();
  await db.deleteFrom("sessions").where("account_id", "=", accountId).execute();
  await db
    .updateTable("users")
    .set({ current_account_id: null })
    .where((where) => where.or([where("current_account_id", "=", accountId), where("id", "=", userId)]))
    .execute();
  const people = await db.deleteFrom("memberships").where("account_id", "=", accountId).executeTakeFirstOrThrow();
  const teams = await db.deleteFrom("memberships").where("user_id", "=", userId).executeTakeFirstOrThrow();
  const invitations = await db
    .deleteFrom("team_invitations")
    .where((where) => where.or([where("account_id", "=", accountId), where("created_by", "=", accountId)]))
    .where("used_by", "is", null)
    .executeTakeFirstOrThrow();
  const ofAccount = db.selectFrom("alert_channels").select("id").where("owner", "=", accountId);
  await db.deleteFrom("alert_messages").where("channel_id", "in", ofAccount).execute();
  const channels = await db.deleteFrom("alert_channels").where("owner", "=", accountId).executeTakeFirstOrThrow();
  await db.deleteFrom("email_verifications").where("user_id", "=", userId).execute();
  const detail = {
    keys: Number(keys.numUpdatedRows),
    people: Number(people.numDeletedRows),
    teams: Number(teams.numDeletedRows),
    invitations: Number(invitations.numDeletedRows),
    channels: Number(channels.numDeletedRows),
  };
  await recordAudit({ db }, { accountId: by, action: "account.claim_end", subject: accountId, detail }, now);
}

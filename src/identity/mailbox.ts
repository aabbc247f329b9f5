import { sql, type Transaction } from "kysely";
import { recordAudit } from "../audit/index.ts";
import { type Database, lockName, type Store } from "../db/index.ts";

interface Verified {
  readonly accountId: string;
  /** Whether other processes write to the database. */
  readonly shared: Store["shared"];
}

/**
 * Gives the free quota only once to each mailbox. Mail to `name+anything@host` arrives at `name@host` (RFC 5233), so
 * one person can verify any number of e-mails. If a verified account already uses the mailbox, a further account gets
 * no free quota, unless an operator sets a quota. Call it in the transaction that verifies an e-mail at the user's own
 * request.
 */
export async function shareFreeQuota(
  db: Transaction<Database>,
  { accountId, shared }: Verified,
  now: number,
): Promise<void> {
  const account = await db
    .selectFrom("accounts")
    .select(["email", "free_tokens_per_day"])
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (account === undefined || account.free_tokens_per_day !== null) return;
  const mailbox = toMailbox(account.email);
  // Accounts that are verified at the same time must see each other.
  await lockName(db, `mailbox ${mailbox}`, shared);
  const at = mailbox.lastIndexOf("@");
  const pattern = `${toPattern(mailbox.slice(0, at))}+%${toPattern(mailbox.slice(at))}`;
  const other = await db
    .selectFrom("accounts")
    .innerJoin("users", "users.account_id", "accounts.id")
    .select("accounts.id")
    .where("accounts.id", "<>", accountId)
    .where("users.email_verified", "=", 1)
    .where(({ or, eb }) =>
      or([eb("accounts.email", "=", mailbox), sql<boolean>`accounts.email like ${pattern} escape '!'`]),
    )
    .limit(1)
    .executeTakeFirst();
  if (other === undefined) return;
  await db.updateTable("accounts").set({ free_tokens_per_day: 0 }).where("id", "=", accountId).execute();
  const detail = { tokens: 0 };
  await recordAudit({ db }, { accountId, action: "account.quota", subject: accountId, detail }, now);
}

/** The address without the part of its name from a `+` on. */
function toMailbox(email: string): string {
  const at = email.lastIndexOf("@");
  const plus = email.indexOf("+");
  return plus > 0 && plus < at ? email.slice(0, plus) + email.slice(at) : email;
}

const toPattern = (text: string) => text.replace(/[!%_]/g, "!$&");

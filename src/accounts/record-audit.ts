import type { TransactionScope } from "../db/index.ts";

/** An action of an administrator, of a command, of the identity provider, of a token, or of a payment provider with money. */
export interface AuditEntry {
  /** The administrator's account, `cli`, `oidc`, `jwt` or `stripe`. */
  accountId: string;
  /** `account.credit` */
  action: string;
  /** The id of the account or voucher that was changed. */
  subject: string;
  detail: Readonly<Record<string, string | number | boolean | null>>;
}

export async function recordAudit({ db }: Pick<TransactionScope, "db">, entry: AuditEntry, at: number): Promise<void> {
  const row = { account_id: entry.accountId, action: entry.action, subject: entry.subject };
  const detail = JSON.stringify(entry.detail);
  await db
    .insertInto("audit")
    .values({ ...row, id: crypto.randomUUID(), at, detail })
    .execute();
}

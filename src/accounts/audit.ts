import { formatUsd } from "../contract/index.ts";
import { inTransaction, type Store, type TransactionScope } from "../db/index.ts";
import { type Account, createAccount, disableAccount, setQuota } from "./account-admin.ts";
import { invite } from "./invitations.ts";
import { createVoucher, voidVoucher } from "./vouchers.ts";

/** An action of an administrator, or money that a payment provider took back or returned. */
export interface AuditEntry {
  /** The administrator's account, or `stripe`. */
  accountId: string;
  /** `account.credit` */
  action: string;
  /** The id of the account or voucher that was changed. */
  subject: string;
  detail: Readonly<Record<string, string | number | boolean | null>>;
}

/** A stored audit entry. */
export interface AuditRow extends AuditEntry {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
}

const pageMax = 100;

export async function recordAudit({ db }: TransactionScope, entry: AuditEntry, at: number): Promise<void> {
  const row = { account_id: entry.accountId, action: entry.action, subject: entry.subject };
  const detail = JSON.stringify(entry.detail);
  await db
    .insertInto("audit")
    .values({ ...row, id: crypto.randomUUID(), at, detail })
    .execute();
}

/** A position in the audit log: entries before a time; `beforeId` separates entries of the same millisecond. */
export interface AuditPage {
  readonly before?: number | undefined;
  readonly beforeId?: string | undefined;
}

/** Lists up to a hundred entries, newest first. */
export async function listAudit(
  { db }: TransactionScope,
  { before = Number.MAX_SAFE_INTEGER, beforeId }: AuditPage = {},
): Promise<AuditRow[]> {
  const rows = await db
    .selectFrom("audit")
    .selectAll()
    .where("at", "<=", before)
    .where((where) => {
      const earlier = where("at", "<", before);
      return beforeId === undefined ? earlier : where.or([earlier, where("id", ">", beforeId)]);
    })
    .orderBy("at", "desc")
    .orderBy("id")
    .limit(pageMax)
    .execute();
  return rows.map(({ id, at, account_id: accountId, action, subject, detail }) => ({
    id,
    at,
    accountId,
    action,
    subject,
    detail: JSON.parse(detail) as AuditEntry["detail"],
  }));
}

/** Makes a change and writes its audit entry in the same transaction. */
export type Audited = <T>(
  work: (scope: TransactionScope) => Promise<T>,
  toEntry: (result: T) => AuditEntry,
) => Promise<T>;

export function createAudited(store: Store, now: () => number): Audited {
  return (work, toEntry) =>
    inTransaction(store, async (scope) => {
      const result = await work(scope);
      await recordAudit(scope, toEntry(result), now());
      return result;
    });
}

/** The actions of administrators; each writes an audit entry with the account of the administrator (`by`). */
export function auditedActions(audited: Audited, now: () => number) {
  return {
    createAccount: (by: string, fields: { email: string; name?: string | undefined }): Promise<Account> =>
      audited(
        (scope) => createAccount(scope, fields, now()),
        ({ id, email }) => ({ accountId: by, action: "account.create", subject: id, detail: { email } }),
      ),
    invite: (by: string, accountId: string) =>
      audited(
        (scope) => invite(scope, accountId, now()),
        () => ({ accountId: by, action: "account.invite", subject: accountId, detail: {} }),
      ),
    /** Sets the daily free quota of an account; `undefined` restores the configured one. */
    setQuota: (by: string, accountId: string, tokens: number | undefined) =>
      audited(
        (scope) => setQuota(scope, accountId, tokens),
        () => ({ accountId: by, action: "account.quota", subject: accountId, detail: { tokens: tokens ?? null } }),
      ),
    /** Disables an account with its keys and users, or enables it again. */
    setDisabled: (by: string, accountId: string, disabled: boolean) =>
      audited(
        (scope) => disableAccount(scope, accountId, disabled ? now() : undefined),
        () => ({ accountId: by, action: "account.disabled", subject: accountId, detail: { disabled } }),
      ),
    createVoucher: (by: string, voucher: { nanodollars: number; expiresAt: number | undefined }) =>
      audited(
        (scope) => createVoucher(scope, voucher, now()),
        ({ id }) => {
          const expires = voucher.expiresAt === undefined ? null : new Date(voucher.expiresAt).toISOString();
          const detail = { usd: formatUsd(voucher.nanodollars), expires_at: expires };
          return { accountId: by, action: "voucher.create", subject: id, detail };
        },
      ),
    voidVoucher: (by: string, idOrCode: string) =>
      audited(
        (scope) => voidVoucher(scope, idOrCode, now()),
        ({ id }) => ({ accountId: by, action: "voucher.void", subject: id, detail: {} }),
      ),
  };
}

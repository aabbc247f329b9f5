import { formatUsd } from "../contract/index.ts";
import { inTransaction, type Store, type TransactionScope } from "../db/index.ts";
import { type Account, createAccount, disableAccount, setQuota } from "./account-admin.ts";
import { type AuditEntry, recordAudit } from "./audit.ts";
import { invite } from "./people.ts";
import { createVoucher, voidVoucher } from "./vouchers.ts";

/** Makes a change and its audit entry in one transaction: what cannot be recorded is not done. */
export type Audited = <T>(
  work: (books: TransactionScope) => Promise<T>,
  getOwn: (result: T) => AuditEntry,
) => Promise<T>;

export function createAudited(store: Store, now: () => number): Audited {
  return (work, getOwn) =>
    inTransaction(store, async (books) => {
      const result = await work(books);
      await recordAudit(books, getOwn(result), now());
      return result;
    });
}

/**
 * What administrators do. Each action is on record, with the account of the administrator (`by`).
 */
export function auditedActions(audited: Audited, now: () => number) {
  return {
    createAccount: (by: string, fields: { email: string; name?: string | undefined }): Promise<Account> =>
      audited(
        (books) => createAccount(books, fields, now()),
        ({ id, email }) => ({ accountId: by, action: "account.create", subject: id, detail: { email } }),
      ),
    invite: (by: string, accountId: string) =>
      audited(
        (books) => invite(books, accountId, now()),
        () => ({ accountId: by, action: "account.invite", subject: accountId, detail: {} }),
      ),
    /** Gives an account its own daily free quota, or with `undefined` the configured one. */
    setQuota: (by: string, accountId: string, tokens: number | undefined) =>
      audited(
        (books) => setQuota(books, accountId, tokens),
        () => ({ accountId: by, action: "account.quota", subject: accountId, detail: { tokens: tokens ?? null } }),
      ),
    /** Disables an account with its keys and people at once, or enables it again. */
    setDisabled: (by: string, accountId: string, disabled: boolean) =>
      audited(
        (books) => disableAccount(books, accountId, disabled ? now() : undefined),
        () => ({ accountId: by, action: "account.disabled", subject: accountId, detail: { disabled } }),
      ),
    createVoucher: (by: string, voucher: { nanodollars: number; expiresAt: number | undefined }) =>
      audited(
        (books) => createVoucher(books, voucher, now()),
        ({ id }) => {
          const expires = voucher.expiresAt === undefined ? null : new Date(voucher.expiresAt).toISOString();
          const detail = { usd: formatUsd(voucher.nanodollars), expires_at: expires };
          return { accountId: by, action: "voucher.create", subject: id, detail };
        },
      ),
    voidVoucher: (by: string, idOrCode: string) =>
      audited(
        (books) => voidVoucher(books, idOrCode, now()),
        ({ id }) => ({ accountId: by, action: "voucher.void", subject: id, detail: {} }),
      ),
  };
}

import type { Account } from "../accounts/index.ts";
import type { Credit, CreditResult } from "../ledger/index.ts";

/**
 * What administrators do. Each deed is on record, with the account of who did it (`by`); one that cannot be recorded is
 * not done.
 */
export interface Deeds {
  createAccount(by: string, fields: { email: string; name?: string | undefined }): Promise<Account>;
  invite(by: string, accountId: string): Promise<{ token: string; expiresAt: number }>;
  credit(by: string, credit: Credit): Promise<CreditResult>;
  /** Gives an account its own daily free quota, or with `undefined` the configured one. */
  setQuota(by: string, accountId: string, tokens: number | undefined): Promise<void>;
  /** Shuts an account out with its keys and people at once, or lets it in again. */
  setDisabled(by: string, accountId: string, disabled: boolean): Promise<void>;
  createVoucher(
    by: string,
    voucher: { nanodollars: number; expiresAt: number | undefined },
  ): Promise<{ id: string; code: string }>;
  voidVoucher(by: string, idOrCode: string): Promise<{ id: string }>;
}

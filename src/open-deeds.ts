import {
  createAccount,
  createVoucher,
  type Deed,
  disableAccount,
  invite,
  recordDeed,
  setQuota,
  voidVoucher,
} from "./accounts/index.ts";
import { formatUsd } from "./contract/index.ts";
import type { Deeds } from "./http/deeds.ts";
import { creditWallet } from "./ledger/index.ts";
import { type Books, type Store, together } from "./store/index.ts";

/** What administrators do, over the store: the deed and its record in one transaction. */
export function openDeeds(store: Store, now: () => number): Deeds {
  const recorded = <T>(work: (books: Books) => Promise<T>, deedOf: (result: T) => Deed): Promise<T> =>
    together(store, async (books) => {
      const result = await work(books);
      await recordDeed(books, deedOf(result), now());
      return result;
    });
  return {
    createAccount: (by, fields) =>
      recorded(
        (books) => createAccount(books, fields, now()),
        ({ id, email }) => ({ accountId: by, action: "account.create", subject: id, detail: { email } }),
      ),
    invite: (by, accountId) =>
      recorded(
        (books) => invite(books, accountId, now()),
        () => ({ accountId: by, action: "account.invite", subject: accountId, detail: {} }),
      ),
    credit: (by, credit) =>
      recorded(
        (books) => creditWallet(books, credit, now),
        ({ repeated }) => {
          const detail = { usd: formatUsd(credit.nanodollars), note: credit.note, repeated };
          return { accountId: by, action: "account.credit", subject: credit.accountId, detail };
        },
      ),
    setQuota: (by, accountId, tokens) =>
      recorded(
        (books) => setQuota(books, accountId, tokens),
        () => ({ accountId: by, action: "account.quota", subject: accountId, detail: { tokens: tokens ?? null } }),
      ),
    setDisabled: (by, accountId, disabled) =>
      recorded(
        (books) => disableAccount(books, accountId, disabled ? now() : undefined),
        () => ({ accountId: by, action: "account.disabled", subject: accountId, detail: { disabled } }),
      ),
    createVoucher: (by, voucher) =>
      recorded(
        (books) => createVoucher(books, voucher, now()),
        ({ id }) => {
          const expires = voucher.expiresAt === undefined ? null : new Date(voucher.expiresAt).toISOString();
          const detail = { usd: formatUsd(voucher.nanodollars), expires_at: expires };
          return { accountId: by, action: "voucher.create", subject: id, detail };
        },
      ),
    voidVoucher: (by, idOrCode) =>
      recorded(
        (books) => voidVoucher(books, idOrCode, now()),
        ({ id }) => ({ accountId: by, action: "voucher.void", subject: id, detail: {} }),
      ),
  };
}

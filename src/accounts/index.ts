export { type Account, type AccountRow, emailsOf, searchAccounts } from "./account-admin.ts";
export { type AuditRow, type Deed, listDeeds, recordDeed } from "./audit.ts";
export type { AccountDefaults } from "./authenticator.ts";
export { type Accounts, type AccountsOptions, createAccounts } from "./create-accounts.ts";
export type { ApiKey, NewKey } from "./key-admin.ts";
export { acceptInvitation, hasAdmin, invite, makeTemporaryPassword } from "./people.ts";
export type { Visitor } from "./session-reader.ts";
export { createSignIn, type SignIn } from "./sign-in.ts";
export { createVoucher, listVouchers, redeemedVouchers, redeemVoucher, type Voucher, voidVoucher } from "./vouchers.ts";

export {
  type Account,
  type AccountRow,
  emailsOf,
  searchAccounts,
} from "./account-admin.ts";
export { type AuditRow, listAudit } from "./audit.ts";
export { auditedActions, createAudited } from "./audited-actions.ts";
export type { AccountDefaults } from "./authenticator.ts";
export { type Accounts, type AccountsOptions, createAccounts } from "./create-accounts.ts";
export type { ApiKey, NewKey } from "./key-admin.ts";
export type { OidcOptions } from "./oidc/identity-provider.ts";
export { passwordChangeRequired } from "./password-change-required.ts";
export { createCheckout } from "./payments/create-checkout.ts";
export type { Payments } from "./payments/payments.ts";
export { acceptInvitation, hasAdmin, invite, makeTemporaryPassword } from "./people.ts";
export { pruneSignIn } from "./prune-sign-in.ts";
export type { SessionUser } from "./session-user.ts";
export { endSession, listSessions, type Session } from "./sessions.ts";
export { createSignIn, type SignIn } from "./sign-in.ts";
export { createVoucher, listVouchers, redeemedVouchers, redeemVoucher, type Voucher, voidVoucher } from "./vouchers.ts";

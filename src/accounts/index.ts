export type { PageQuery } from "../db/page.ts";
export { acceptInvitation } from "./accept-invitation.ts";
export {
  type Account,
  type AccountRow,
  accountKinds,
  accountOrders,
  emailsOf,
  expectKnownHolder,
  findAccounts,
  isVerified,
  parseEmail,
  parseTeamAddress,
  readRoles,
  searchAccounts,
} from "./account-admin.ts";
export { type Actor, adminKeyOf, commandLine } from "./actor.ts";
export {
  AdminAuthenticator,
  type AdminKey,
  createAdminKey,
  listAdminKeys,
  type Manager,
  namesOfAdminKeys,
  type RevokedAdminKey,
  readAdminKey,
  revokeAdminKey,
  scopesOfRole,
} from "./admin-keys.ts";
export { type AdminKeyArea, adminScopes, hasScope } from "./admin-scopes.ts";
export { takeAttempt } from "./attempt-limit.ts";
export { auditedActions } from "./audit.ts";
export { type Audited, createAudited } from "./audited.ts";
export { type AccountDefaults, getFreeQuota, RefusedKeyError } from "./authenticator.ts";
export {
  type BudgetChanges,
  type BudgetTarget,
  budgetsMax,
  changeBudget,
  checkBudget,
  createBudget,
  deleteBudget,
  listBudgets,
  readBudgetOf,
  readSpentBySubject,
  readSpentOfBudgets,
  type StoredBudget,
} from "./budgets.ts";
export { type Accounts, type AccountsOptions, createAccounts } from "./create-accounts.ts";
export { findImported, noteImported } from "./imported.ts";
export { readAccountInvitation } from "./invitations.ts";
export { checkKeyFields, latestTimeMs, networksMax } from "./key-fields.ts";
export {
  type ApiKey,
  checkSecret,
  type ForeignKey,
  graceSecondsDefault,
  graceSecondsMax,
  importForeignKeys,
  keyOrders,
  listUsableKeys,
  type NewKey,
  type OwnedKey,
  readKeyNames,
  searchKeys,
} from "./keys.ts";
export {
  changeModelLimits,
  checkModelLimits,
  deleteModelLimits,
  listModelLimits,
  type StoredModelLimits,
  setModelLimits,
} from "./model-limits.ts";
export {
  findUsers,
  listAccountsPage,
  listInvitationsPage,
  listUsersPage,
  type OpenInvitation,
  readInvitation,
  readUserOf,
  type User,
} from "./pages.ts";
export { createCheckout, type Payment, type Payments } from "./payments/payments.ts";
export {
  addToTeam,
  changeProject,
  createProject,
  deleteInvitation,
  inviteUser,
  type ProjectChanges,
} from "./projects.ts";
export { RateLimiter } from "./rate-limiter.ts";
export { type AuditCursor, type AuditFilter, type AuditRow, readAudit, readAuditEntry } from "./read-audit.ts";
export { recordAudit } from "./record-audit.ts";
export {
  accountRoles,
  changeRoleLimits,
  checkRoleLimits,
  listRoleLimits,
  type RoleLimits,
  readRoleLimits,
} from "./role-limits.ts";
export { expectManagedKeys, mayAdminister, maySeeAll, roles } from "./roles.ts";
export {
  createServiceAccount,
  deleteServiceAccount,
  findServiceAccounts,
  listServiceAccounts,
  readServiceAccount,
  type ServiceAccount,
} from "./service-accounts.ts";
export {
  endSession,
  listSessions,
  passwordChangeRequired,
  pruneSignIn,
  type Session,
  type SessionUser,
} from "./sessions.ts";
export { makeTemporaryPassword } from "./set-password.ts";
export { createSignIn, type SignIn } from "./sign-in.ts";
export { readAccountBudget, type SpentBudget } from "./teams/account-budget.ts";
export { getAccountLabel } from "./teams/create-team.ts";
export { findMembers, findTwoPeople, listPeople, type Member, type Person, type TeamActor } from "./teams/people.ts";
export { listTeams, sessionActions, type Team } from "./teams/switch-account.ts";
export { teamActions } from "./teams/team-actions.ts";
export { listTeamInvitations, readTeamInvitation } from "./teams/team-invitations.ts";
export { isToken, parseTokenIssuers, type TokenIssuer, TokenIssuers } from "./tokens/issuers.ts";
export { tokenSource } from "./tokens/token-authenticator.ts";
export { findUser, hasOwner } from "./users.ts";
export { createEmailVerification, verifyEmail } from "./verify-email.ts";
export {
  createVoucher,
  listVouchers,
  readVoucher,
  redeemedVouchers,
  redeemVoucher,
  statusOfVoucher,
  type Voucher,
  voidVoucher,
  voucherActions,
  voucherStatuses,
} from "./vouchers.ts";

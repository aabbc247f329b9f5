export { accountActions } from "./account-actions.ts";
export { readAccountBudget, type SpentOwnBudget, setOwnBudget, toOwnPeriod } from "./account-budget.ts";
export { accountFields, Models } from "./account-fields.ts";
export {
  type Account,
  type AccountNames,
  type AccountRow,
  accountKinds,
  accountOrders,
  createAccount,
  emailsOf,
  enableAccount,
  expectKnownHolder,
  findAccount,
  findAccounts,
  findRecipient,
  isVerified,
  labelsOf,
  listAccounts,
  namesOf,
  newAccountRow,
  parseEmail,
  parseTeamAddress,
  readRoles,
  searchAccounts,
  setQuota,
} from "./accounts.ts";
export { findKeyEnd, type KeyLine, readKeyLine, toKeyLines } from "./admin-key-line.ts";
export {
  type AdminKeyArea,
  type AdminScope,
  adminKeyAreas,
  adminScopes,
  hasScope,
  scopesOfOwners,
} from "./admin-scopes.ts";
export { checkAllowedModels, readAllowedModels } from "./allowed-models.ts";
export { budgetFields } from "./budget-fields.ts";
export {
  type BudgetTarget,
  budgetsMax,
  changeBudget,
  checkBudget,
  createBudget,
  deleteBudget,
  isSameTarget,
  listBudgets,
  type NewBudget,
  readBudgetOf,
  readBudgetsOfKey,
  readNearestBudgets,
  readSpentBySubject,
  readSpentOfBudgets,
  type StoredBudget,
} from "./budgets.ts";
export { endClaims } from "./claims.ts";
export {
  changeDirectoryGroup,
  changeDirectoryUser,
  createDirectoryGroup,
  createDirectoryUser,
  type DirectoryGroup,
  type DirectoryGroupFields,
  type DirectoryUser,
  type DirectoryUserFields,
  deleteDirectoryGroup,
  deleteDirectoryUser,
  type GroupFilter,
  listDirectoryGroups,
  listDirectoryUsers,
  readDirectoryGroup,
  readDirectoryUser,
  type UserFilter,
} from "./directory.ts";
export { type Branch, type EndedBranch, endBranch, listEndedBranches } from "./ended-branches.ts";
export {
  changeGroupRole,
  checkGroupRole,
  createGroupRole,
  deleteGroupRole,
  groupRoleFields,
  groupRolesMax,
  listGroupRoles,
  listPushedGroups,
  type NewGroupRole,
  readGroupRole,
  type StoredGroupRole,
} from "./group-roles.ts";
export { findImported, type Imported, noteImported } from "./imported.ts";
export { hashToken, invalidInvitation, readAccountInvitation } from "./invitations.ts";
export {
  countKeysElsewhere,
  type Ended,
  type KeyElsewhere,
  type LeaversKeys,
  leave,
  listKeysElsewhere,
  lockMaker,
} from "./leave.ts";
export { lockAccount, unknownAccount } from "./lock-account.ts";
export {
  changeMarkup,
  checkMarkup,
  deleteMarkup,
  listMarkups,
  markupFields,
  type NewMarkup,
  readMarkup,
  type StoredMarkup,
  setMarkup,
} from "./markups.ts";
export {
  changeModelLimits,
  checkModelLimits,
  deleteModelLimits,
  listModelLimits,
  modelLimitFields,
  type NewModelLimits,
  readModelLimits,
  readModelLimitsOfKey,
  type StoredModelLimits,
  setModelLimits,
} from "./model-limits.ts";
export { eachAccount } from "./owned-rows.ts";
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
export {
  findMembers,
  findTeamsWithoutAdmin,
  findTwoPeople,
  listPeople,
  listTeamsOf,
  type Person,
  type TeamAdministrator,
  type TeamMember,
} from "./people.ts";
export {
  changePolicyRule,
  checkPolicyRule,
  createPolicyRule,
  listPolicyRules,
  type NewPolicyRule,
  policyRuleFields,
  readPolicyRule,
  removePolicyRule,
  type StoredPolicyRule,
} from "./policy-rules.ts";
export {
  addNewToTeam,
  addToTeam,
  changeProject,
  createProject,
  deleteInvitation,
  inviteUser,
  type ProjectChanges,
} from "./projects.ts";
export {
  accountRoles,
  changeRoleLimits,
  checkRoleLimits,
  listRoleLimits,
  type RoleLimits,
  readRoleLimits,
  readRoleLimitsOf,
  roleLimitFields,
  type StoredRoleLimits,
} from "./role-limits.ts";
export { expectManagedKeys, mayAdminister, mayInvite, maySeeAll, readVouchedRole, roles } from "./roles.ts";
export { isAcceptedEmail, isPlaceholderEmail, toSignInAddress } from "./sign-in-address.ts";
export { teamActions, teamWriter } from "./team-actions.ts";
export {
  expectInvited,
  isInvited,
  listTeamInvitations,
  readTeamInvitation,
  takeTeamInvitation,
} from "./team-invitations.ts";
export {
  createUser,
  endOtherAccess,
  findUser,
  giveToHolder,
  hasOwner,
  passwordProvider,
  removeSecondFactor,
} from "./users.ts";

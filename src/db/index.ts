export { type AccountBalance, moveWallet } from "./account-balance.ts";
export type { Blobs, StoredBlob } from "./blobs.ts";
export { countedName, isOwnBudget, namesOf, ownBudgetId } from "./budgets.ts";
export { callKeyOfTime, openColumns, toCallKey } from "./call-columns.ts";
export { type Contents, createContents, type NewContent } from "./contents.ts";
export {
  dayOf,
  daysOfPeriod,
  endOfPeriod,
  isInPeriod,
  isInRun,
  raisedBudget,
  startOfDay,
  startOfPeriod,
} from "./dates.ts";
export { deleteInBatches } from "./delete-in-batches.ts";
export { countEarlierCalls, countedFrom, readLastEnd } from "./earlier-calls.ts";
export {
  describeFailure,
  isConstraintError,
  isDamage,
  isOutcomeUnknown,
  isUnusable,
  LostConnectionError,
  StoreError,
} from "./errors.ts";
export { createIdempotencyKeys, type KeyedRequest } from "./idempotency-keys.ts";
export { isRoleOf, isTeam, type KeyRecord } from "./key-query.ts";
export type {
  BudgetDraw,
  BudgetFigures,
  BudgetSums,
  EndedCall,
  ExtendedHold,
  GrantedHold,
  HoldAmounts,
  HoldDecision,
  LedgerWrite,
  OpenCall,
  RefusedHold,
} from "./ledger-records.ts";
export { lockName, withMigrationLock } from "./locks.ts";
export { nameNumber } from "./names.ts";
export { embeddedNodeId, isSeen, listNodes, type NodeReport, type ServingNode } from "./nodes.ts";
export { openStore } from "./open-store.ts";
export { addPayingAccount, type Payer, toPayerNumber } from "./payers.ts";
export { compareFound, type FoundRow, findInRanges, type IndexOrder, inOrderOf, rangesOf, toRanges } from "./ranges.ts";
export type {
  AccountRole,
  AdminKeysTable,
  BudgetsTable,
  CallState,
  Database,
  GroupRolesTable,
  MarkupsTable,
  ModelLimitsTable,
  PoliciesTable,
  RefusalsTable,
  Role,
  RoleLimitsTable,
  ServiceAccountsTable,
  TeamRole,
  UsageKind,
} from "./schema.ts";
export { readSpentBudgets, type SpentBudget, spentByKey } from "./spent-budgets.ts";
export { backupSqlite } from "./sqlite/backup-sqlite.ts";
export { restoreSqlite } from "./sqlite/restore-sqlite.ts";
export {
  type AbandonedCall,
  type EmbeddedStore,
  inQuietTransaction,
  inTransaction,
  isEmbedded,
  type OpenTransaction,
  readLedgerId,
  replaceSetting,
  type Store,
  type StoreOptions,
  type TransactionScope,
} from "./store.ts";
export { createStoredResponses, type StoredResponses } from "./stored-responses.ts";
export {
  callSums,
  figureColumns,
  isUncounted,
  latencyBuckets,
  pruneUsage,
  readLastSeq,
  sumsOf,
  type UsageProgress,
  type UsageRow,
  type UsageStep,
  type UsageSum,
  usageSums,
} from "./usage-sums.ts";
export { whenLate } from "./when-late.ts";

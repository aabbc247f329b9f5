export {
  describeMargin,
  describeMiss,
  describeRequest,
  describeRequestDetail,
  toPolicyResult,
  toShownVersion,
} from "./describe-request.ts";
export { describeSession } from "./describe-session.ts";
export {
  describeAmounts,
  describeStatement,
  describeWalletSums,
  isMonth,
  monthPattern,
  statementColumns,
  statementsColumns,
  toMonthSpan,
  toStatementLineJson,
  toStatementRows,
  toStatementsRow,
} from "./describe-statement.ts";
export { describeCharge, type ExplainedCharge, explainCharge } from "./explain-charge.ts";
export { type CallsWanted, exportCalls, exportEnds, type WrittenCall } from "./export-calls.ts";
export { type ProviderCalls, readFailedMinutes, readProviderCalls } from "./incident.ts";
export { type CallerOrigin, type KeyCaller, KeyCallers, readKeyCallers } from "./key-callers.ts";
export {
  type CompareQuery,
  type MeasureQuery,
  type Measures,
  measureCalls,
  measureSameHours,
  readUsedModels,
} from "./measure.ts";
export { PriceBook } from "./price-book.ts";
export { BillError, type BillFigure } from "./provider-bill.ts";
export { describeDifference, reconcileBill, toBillColumn } from "./reconcile.ts";
export { RefusalLog, refusalsOfAccountMax } from "./refusal-log.ts";
export {
  findRequests,
  type LatestCalls,
  type LogCursor,
  type LoggedRequest,
  parseStatusFilter,
  type RecentCall,
  type RequestDetail,
  type RequestFilter,
  readDetail,
  readLatestCalls,
  readRecentCalls,
  readRefusalReasons,
  readRequest,
  readRequests,
  type StatusFilter,
  statusForms,
} from "./requests.ts";
export { UsageRollup } from "./rollup.ts";
export {
  type AgentBill,
  agentsMax,
  type RunningAgent,
  readAgentUsage,
  readBranch,
  readSessionBill,
  type SessionBill,
  type SessionBranch,
  type SessionFigures,
} from "./session-bill.ts";
export type { SessionQuery } from "./session-rows.ts";
export { pickMovers, readSpendChanges, type SpendChange } from "./spend-changes.ts";
export {
  type MonthlyStatement,
  readFirstMoment,
  readMonthlyStatement,
  readStatement,
  readStatements,
  readStatementTotals,
  readTransactions,
  type StatementLine,
  type WalletTransaction,
} from "./statement.ts";
export {
  type CacheLoss,
  type FiguresByHour,
  type HourSpan,
  isNamedGroup,
  keepDayLists,
  type NamedGroup,
  namedGroups,
  type Rank,
  readFigures,
  readGroups,
  readGroupsBefore,
  readKeyCosts,
  readLosses,
  readSum,
  readTotals,
  type StatisticsFigures,
  type StatisticsFilter,
  type StatisticsGroup,
  type StatisticsOfGroup,
  type StatisticsQuery,
  statisticsGroups,
  sumFigures,
} from "./statistics.ts";
export {
  createBuckets,
  type DaySpan,
  describeEarnings,
  periods,
  type RecordedUsage,
  readUsageBuckets,
  readUsageBy,
  readUsageRows,
  spanDaysMax,
  sumUsage,
  type UsageBucket,
  type UsageByModel,
  type UsageFigures,
  type UsageOfBucket,
  type UsageSums,
} from "./usage.ts";
export { lowDays, readLowWallets, readRefusedWallets, readWalletPace, type WalletPace } from "./wallet-pace.ts";

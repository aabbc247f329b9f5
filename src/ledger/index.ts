export { type Billing, type BillingOptions, createBilling } from "./billing.ts";
export type { OnCommit } from "./commit-queue.ts";
export { giveDemoCredit, takeDemoCredit } from "./demo-credit.ts";
export { type CallsWanted, exportCalls, type WrittenCall } from "../reports/export-calls.ts";
export { openBilling, openRedisLimits } from "./open-billing.ts";
export { createPruner, type PrunerOptions } from "./prune-calls.ts";
export { type CallsPage, type LatestCalls, type RecentCall, readLatestCalls, readRecentCalls } from "../reports/recent-calls.ts";
export { type RecordedUsage, recordedUsage } from "../reports/recorded-usage.ts";
export type { Recovery } from "./recover-calls.ts";
export { type RedisLimits, type RedisLimitsOptions, RedisRefused } from "./redis/redis-limits-options.ts";
export { type OpenCall, type RemoteCalls, remoteCalls, remoteCallsMax } from "./remote-calls.ts";
export { type LogCursor, readRequest, readRequests } from "../reports/requests/read-requests.ts";
export { RefusalLog } from "../reports/requests/refusal-log.ts";
export type { LoggedRequest, RequestDetail } from "../reports/requests/request-columns.ts";
export type { RequestFilter, StatusFilter } from "../reports/requests/request-filter.ts";
export { readStatement, type StatementLine } from "../reports/statement.ts";
export { readFigures, type StatisticsFigures, sumFigures } from "../reports/statistics/figures.ts";
export {
  type FiguresByHour,
  type Rank,
  readGroups,
  readTotals,
  type StatisticsFilter,
  type StatisticsGroup,
  type StatisticsOfGroup,
  type StatisticsQuery,
  statisticsGroups,
} from "../reports/statistics/read-statistics.ts";
export { UsageRollup } from "../reports/statistics/rollup.ts";
export { type DaySpan, type Period, periods, spanDaysMax } from "../reports/usage/buckets.ts";
export { readUsage, readUsageBy } from "../reports/usage/read-usage.ts";
export { readUsageRows, type UsageOfBucket } from "../reports/usage/read-usage-rows.ts";
export type { UsageFigures, UsageSum, UsageSums } from "../reports/usage/sum-usage.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export {
  type Credit,
  type CreditResult,
  creditWallet,
  type Overdrawn,
  readOverdrawn,
  readWalletState,
} from "./wallet.ts";
export { withTimeout } from "./with-timeout.ts";

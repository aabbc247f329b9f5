export {
  type Billing,
  type BillingOptions,
  createBilling,
  openBilling,
  openRedisLimits,
  type Recovery,
} from "./billing.ts";
export type { OnCommit } from "./commit-queue.ts";
export { type CallsWanted, exportCalls, type WrittenCall } from "./export-calls.ts";
export { createPruner, type PrunerOptions } from "./prune-calls.ts";
export { type CallsPage, type LatestCalls, type RecentCall, readLatestCalls, readRecentCalls } from "./recent-calls.ts";
export { type RecordedUsage, recordedUsage } from "./recorded-usage.ts";
export { type RedisLimits, type RedisLimitsOptions, RedisRefused } from "./redis/redis-limits-options.ts";
export { type OpenCall, type RemoteCalls, remoteCalls, remoteCallsMax } from "./remote-calls.ts";
export { readStatement, type StatementLine } from "./statement.ts";
export { type DaySpan, type Period, periods, spanDaysMax } from "./usage/buckets.ts";
export { readUsage } from "./usage/read-usage.ts";
export type { UsageFigures, UsageSum, UsageSums } from "./usage/sum-usage.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export { type Credit, type CreditResult, creditWallet, type Overdrawn, readOverdrawn, walletOf } from "./wallet.ts";
export { withTimeout } from "./with-timeout.ts";

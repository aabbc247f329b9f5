export { type CallsWanted, exportCalls, exportEnds, type WrittenCall } from "./export-calls.ts";
export { type MeasureQuery, type Measures, measureCalls, readUsedModels } from "./measure.ts";
export { type CallsPage, type LatestCalls, type RecentCall, readLatestCalls, readRecentCalls } from "./recent-calls.ts";
export { type RecordedUsage, recordedUsage } from "./recorded-usage.ts";
export { type LogCursor, readRefusalReasons, readRequest, readRequests } from "./requests/read-requests.ts";
export { RefusalLog } from "./requests/refusal-log.ts";
export type { LoggedRequest, RequestDetail } from "./requests/request-columns.ts";
export type { RequestFilter, StatusFilter } from "./requests/request-filter.ts";
export { readMonthlyStatement, readStatement, type StatementLine } from "./statement.ts";
export { readFigures, type StatisticsFigures, sumFigures } from "./statistics/figures.ts";
export {
  type FiguresByHour,
  type HourSpan,
  keepDayLists,
  type Rank,
  readGroups,
  readKeyCosts,
  readSum,
  readTotals,
  type StatisticsFilter,
  type StatisticsGroup,
  type StatisticsOfGroup,
  type StatisticsQuery,
  statisticsGroups,
} from "./statistics/read-statistics.ts";
export { UsageRollup } from "./statistics/rollup.ts";
export { type DaySpan, type Period, periods, spanDaysMax } from "./usage/buckets.ts";
export { readUsage, readUsageBy } from "./usage/read-usage.ts";
export { readUsageRows, type UsageOfBucket } from "./usage/read-usage-rows.ts";
export type { UsageFigures, UsageSum, UsageSums } from "./usage/sum-usage.ts";
export { lowDays, readWalletPaces, type WalletPace } from "./wallet-pace.ts";

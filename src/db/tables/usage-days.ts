import type { UsageColumns } from "./usage-hours.ts";

/**
 * Sums of `usage_hours` by UTC day. Triggers of the database keep them, in the transaction that writes the hours: nothing
 * else writes here.
 */
export interface UsageDaysTable extends UsageColumns {
  account_id: string;
  /** Days since 1970. */
  day: number;
  model: string;
}

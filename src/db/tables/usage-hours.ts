import type { MeterColumns } from "./meter-columns.ts";

/** Sums over ended calls by account, hour of their start and model. */
export interface UsageHoursTable extends UsageColumns {
  account_id: string;
  /** UTC hour, hours since 1970. */
  hour: number;
  model: string;
}

/** What is summed up, by hour and by day alike. */
export interface UsageColumns extends MeterColumns<number> {
  /** Calls that were settled. */
  requests: number;
  /** Calls that were released: nothing came out. */
  failures: number;
  /** List prices, of the calls whose price is known. */
  cost_nanodollars: number;
  charged_nanodollars: number;
  quota_tokens: number;
}

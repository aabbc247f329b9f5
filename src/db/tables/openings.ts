import type { MeterColumns } from "./meter-columns.ts";

/** What the calls of an account summed to that were pruned, so that the books still prove: one row an account. */
export interface OpeningBalancesTable extends MeterColumns<number> {
  account_id: string;
  /** Every pruned call began, ended and drew its quota before this UTC day (days since 1970). */
  before_day: number;
  calls: number;
  requests: number;
  failures: number;
  cost_nanodollars: number;
  charged_nanodollars: number;
  quota_tokens: number;
  /** Of what was charged, what budgets of keys paid. */
  budget_nanodollars: number;
}

/** What the budget of a key has paid, one row a month; a key without a budget has none. */
export interface KeyBudgetUsageTable {
  account_id: string;
  key_id: string;
  /** The first UTC day of the month, days since 1970. */
  month: number;
  spent_nanodollars: number;
}

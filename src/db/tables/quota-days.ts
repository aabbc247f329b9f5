/** Free quota tokens drawn, one row a day and account. */
export interface DailyQuotaUsageTable {
  account_id: string;
  /** UTC day, days since 1970. */
  day: number;
  used_tokens: number;
}

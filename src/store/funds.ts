/** What is written of an account's money and quota. */
export interface Funds {
  /** 0 for an account that never had an entry. */
  balanceNanodollars: number;
  /** The latest day on which quota was drawn, days since 1970; absent when none ever was. */
  quotaDay: number | undefined;
  /** Drawn on that day. */
  usedTokens: number;
  /** Held by open calls of other processes; absent where no other writes. */
  others?: { nanodollars: number; tokens: number };
}

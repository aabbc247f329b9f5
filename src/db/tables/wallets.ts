/** The balance of each account that ever had an entry, written in the transaction of the entry. */
export interface WalletsTable {
  account_id: string;
  balance_nanodollars: number;
}

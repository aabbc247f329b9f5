/** Movements of wallets, append-only: a wallet's balance is the sum of its entries. */
export interface EntriesTable {
  /**
   * What the movement is for, so that the primary key makes it happen once: the call's id for a charge,
   * `credit:<account>:<reference>` for a credit or debit.
   */
  id: string;
  account_id: string;
  kind: "charge" | "credit" | "debit";
  /** Negative for a charge and a debit. */
  amount_nanodollars: number;
  note: string | null;
  at: number;
}

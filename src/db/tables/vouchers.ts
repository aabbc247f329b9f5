/** Codes worth money, each good once. */
export interface VouchersTable {
  /** Public, for lists. */
  id: string;
  /** SHA-256 of the code, hex. */
  code_hash: string;
  amount_nanodollars: number;
  created_at: number;
  expires_at: number | null;
  voided_at: number | null;
  redeemed_at: number | null;
  /** The account whose wallet it filled. */
  redeemed_by: string | null;
}

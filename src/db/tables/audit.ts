/** What administrators did, append-only. */
export interface AuditTable {
  id: string;
  at: number;
  /** Who did it. */
  account_id: string;
  /** What was done: `account.credit`. */
  action: string;
  /** To what: an account, a voucher. */
  subject: string;
  /** JSON of what was given. */
  detail: string;
}

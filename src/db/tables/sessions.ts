/** Browsers that are signed in. */
export interface SessionsTable {
  id: string;
  token: string;
  user_id: string;
  /** ISO text, as every time that better-auth writes. */
  expires_at: string;
  ip_address: string | null;
  user_agent: string | null;
  created_at: string;
  updated_at: string;
}

/** One-time values of better-auth. */
export interface VerificationsTable {
  id: string;
  identifier: string;
  value: string;
  expires_at: string;
  created_at: string;
  updated_at: string;
}

/** Links by which a person sets the password of an account, once. */
export interface InvitationsTable {
  /** SHA-256 of what stands in the link, hex. */
  token_hash: string;
  account_id: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

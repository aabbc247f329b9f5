/** API keys. The secret itself is nowhere; limits that are null are those of the account alone. */
export interface KeysTable {
  /** The public part of the key. */
  id: string;
  account_id: string;
  name: string;
  /** SHA-256 of the secret part, hex. */
  secret_hash: string;
  /** JSON array of model ids; null means all. */
  allowed_models: string | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
  /** The most that its premium calls may cost in a UTC month; null means that its account's wallet is all that counts. */
  budget_nanodollars: number | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** To within some seconds; null: not yet. */
  last_used_at: number | null;
}

/** Admin keys: they manage the gateway and make no calls. */
export interface AdminKeysTable {
  /** The public part of the key. */
  id: string;
  name: string;
  /** SHA-256 of the secret part, hex; the secret itself is not stored. */
  secret_hash: string;
  /** JSON array of scopes. */
  scopes: string;
  /** JSON array of addresses and CIDR ranges; null: any. */
  allowed_networks: string | null;
  /** Who made it: the account of a person, `cli`, or another admin key. */
  created_by: string;
  /** The person, or `cli`, without whose rights it is worth nothing: who made it, or the key that made it. */
  vouched_by: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** Accurate to a minute; null: never. */
  last_used_at: number | null;
}

/** Programs that have API keys in an account, as people have. */
export interface ServiceAccountsTable {
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  /** Who made it, as {@link AdminKeysTable} has it. */
  created_by: string;
}

/** Account holders. Limits that are null follow the configuration. */
export interface AccountsTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  name: string | null;
  free_tokens_per_day: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  /** Milliseconds since 1970, as every `_at` here. */
  created_at: number;
  /** Its keys and people are let in no more; null: they are. */
  disabled_at: number | null;
}

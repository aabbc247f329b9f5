/** What administrators set about a provider; without a row it is enabled and has the order of its models. */
export interface ProvidersTable {
  name: string;
  enabled: number;
  /** Replaces the priority of all its models. */
  priority: number | null;
  weight: number | null;
  /** The JSON of a provider that was added here; every gateway writes it as a file into its plugins folder. */
  manifest: string | null;
  /** When it was removed: a gateway that was not running then deletes its file later. */
  removed_at: number | null;
}

/** Attempts at a provider in five minutes, of all gateways. */
export interface ProviderAttemptsTable {
  provider: string;
  /** Five minutes, counted from 1970. */
  slot: number;
  attempts: number;
  errors: number;
}

/** What happened last to a provider or one of its keys. */
export interface ProviderOutcomesTable {
  provider: string;
  /** The id of a stored key, or `environment:` and its place; empty: of the provider as a whole. */
  key_id: string;
  outcome: "success" | "error" | "test";
  at: number;
  /** JSON of what is told about it. */
  detail: string;
}

/** API keys of providers. */
export interface ProviderKeysTable {
  id: string;
  provider: string;
  /** Encrypted, and bound to provider and id. */
  secret: Uint8Array;
  /** Which secrets key encrypted it. */
  secrets_id: string;
  /** The last four characters, empty for a short key. */
  last4: string;
  /** The administrator's account, or `cli`. */
  set_by: string;
  set_at: number;
}

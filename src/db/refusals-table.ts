import type { Capability } from "../contract/index.ts";

/** Requests with a known API key that did not become calls. */
export interface RefusalsTable {
  /** The response's `x-request-id`. */
  id: string;
  account_id: string;
  key_id: string;
  opened_at: number;
  /** Method and path. */
  endpoint: string;
  capability: Capability | null;
  /** What was asked for; it may not exist. */
  model: string | null;
  protocol: string | null;
  status: number;
  error_code: string;
  /** The sentence that the caller was given. */
  message: string;
  session: string | null;
  client_request_id: string | null;
  duration_ms: number;
  /** How many requests the row stands for: more than 1 when too many came at once to have a row each. */
  requests: number;
  /** What the client calls requests of this kind; null: nothing. */
  tag: string | null;
}

import { type SqlBool, sql } from "kysely";
import type { Capability, UsageSource } from "../../contract/index.ts";
import type { MeterColumns } from "./meter-columns.ts";

/**
 * `open`: a hold is written and the call may be at a provider. `settled`: charged by its usage. `released`: nothing
 * came out, nothing charged. `abandoned`: its process died, so its usage is unknown.
 */
export type CallState = "open" | "settled" | "released" | "abandoned";

/** Says it with the word itself: a parameter would keep SQLite from the index of the open calls, and have it read all. */
export const isOpen = sql<SqlBool>`state = 'open'`;

/** One row a call, written when it is let in and completed when it ends. */
export interface CallsTable extends MeterColumns<number | null> {
  /** Time-ordered text, the answer's `x-request-id`. */
  id: string;
  account_id: string;
  key_id: string;
  model: string;
  capability: Capability;
  /** 1: paid from the wallet; 0: drawn from the daily free quota. */
  premium: number;
  state: CallState;
  opened_at: number;
  settled_at: number | null;
  /** UTC day (days since 1970) whose quota the call draws on; null for a premium call. */
  quota_day: number | null;
  hold_nanodollars: number;
  hold_tokens: number;
  usage_source: UsageSource | null;
  /** List price of what was used; null when unknown. */
  cost_nanodollars: number | null;
  /** What the wallet paid. */
  charged_nanodollars: number | null;
  /** What the free quota paid. */
  quota_tokens: number | null;
  price_version: string | null;
  route: string | null;
  status: number | null;
  error_code: string | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  /** The month (its first UTC day, days since 1970) whose budget of the key pays; null where the key has no budget. */
  budget_month: number | null;
  /** 1: it holds less than it may cost, because no more was left; null: it holds all. */
  partial: number | null;
  /** The process that runs the call, where several share a database; null in the embedded store. */
  node_id: string | null;
}

import type { MeterColumn } from "../contract/index.ts";

/** The sums of requests, and how far they go. */
export interface UsageTables {
  usage: UsageTable;
  usage_progress: UsageProgressTable;
}

/** Buckets of a latency histogram. */
export const latencyBuckets = 24;

type LatencyColumns = Record<`f${number}` | `d${number}`, number>;

/**
 * What rows of `usage` are sums of: `call` of requests by account, API key, model, plugin and status, and once more of all
 * accounts together, with the account and the key empty; `key` of requests by account and key alone; `session` and `tag` of
 * calls by account and `name`, tags once more of all accounts together.
 */
export type UsageKind = "call" | "key" | "session" | "tag";

/** Sums over ended calls. */
export interface UsageColumns extends Record<MeterColumn, number> {
  /** Settled calls. */
  requests: number;
  /** Released calls. */
  failures: number;
  /** List price of the calls whose price is known. */
  cost_nanodollars: number;
  charged_nanodollars: number;
  quota_tokens: number;
}

/** Sums of requests. Names that do not apply are empty, and a status that does not is 0. */
interface UsageTable extends UsageKey, UsageColumns, LatencyColumns {
  /** Requests that were refused before they became calls. */
  refused: number;
  /** Calls with a status from 400 on, whatever was charged. */
  failed: number;
}

export interface UsageKey {
  /** How long the bucket is: 1 or 24. */
  hours: number;
  kind: UsageKind;
  /** The first hour of the bucket, counted from 1970. */
  hour: number;
  account_id: string;
  key_id: string;
  model: string;
  plugin: string;
  status: number;
  /** Of the session or the tag. */
  name: string;
}

/**
 * Which calls are in the sums: the one row says up to which `seq` all are. Calls behind it are not yet, except, while a
 * large step is written in parts, those up to `until_seq` of the accounts up to `upto`.
 */
interface UsageProgressTable {
  id: 1;
  seq: number;
  /** Null: no step is written in part. */
  until_seq: number | null;
  upto: string | null;
}

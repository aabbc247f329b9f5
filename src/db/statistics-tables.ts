import type { MeterName } from "../contract/index.ts";
import type { meterColumns } from "./meter-columns.ts";

/** The tables of statistics. */
export interface StatisticsTables {
  statistics: StatisticsTable;
  statistics_gaps: GapsTable;
}

/** The tag that a client gave a request; null: none. */
export interface Tagged {
  tag: string | null;
}

/** Buckets of a latency histogram. */
export const latencyBuckets = 24;

type LatencyColumns = Record<`f${number}` | `d${number}`, number>;

/**
 * What rows of `statistics` are sums of: `call` of requests by account, API key, model, plugin and status, and once more of
 * all accounts together, with the account and the key empty; `key` of requests by account and key alone; `session` and
 * `tag` of calls by account and `name`, tags once more of all accounts together.
 */
export type StatisticsKind = "call" | "key" | "session" | "tag";

/** Sums of requests. Names that do not apply are empty, and a status that does not is 0. */
interface StatisticsTable extends StatisticsKey, Record<(typeof meterColumns)[MeterName], number>, LatencyColumns {
  /** Settled calls. */
  requests: number;
  /** Released calls. */
  failures: number;
  /** Requests that were refused before they became calls. */
  refused: number;
  /** Calls with a status from 400 on, whatever was charged. */
  failed: number;
  /** List price of the calls whose price is known. */
  cost_nanodollars: number;
  charged_nanodollars: number;
  quota_tokens: number;
}

export interface StatisticsKey {
  /** How long the bucket is: 1 or 24. */
  hours: number;
  kind: StatisticsKind;
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
 * Calls that are still to be counted: one row for each process that serves, which counts its calls from memory, and one
 * for each that ended without counting its last ones.
 */
interface GapsTable {
  id: string;
  /** Whose calls; null: of all processes. */
  node_id: string | null;
  /** The calls behind this id. */
  from_id: string;
  /** Up to this id; null: the process still counts. */
  until_id: string | null;
  /** Calls that ended at this time or later are still to be counted. */
  settled_from: number;
  /** JSON array of the ids for which `settled_from` says the opposite of what is true. */
  exceptions: string;
  /**
   * JSON of a `PartialFlush`: what a flush that goes on has counted already, which the two columns above do not say; null:
   * none goes on.
   */
  partial: string | null;
}

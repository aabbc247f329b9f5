import type { Store } from "../../db/index.ts";
import type { CallLimits } from "../call-limits.ts";

/** What {@link openRedisLimits} wants. */
export interface RedisLimitsOptions {
  /** That the nodes share; SQL's sums of what quotas were drawn are the truth. */
  store: Store;
  /** `redis://user:password@host:port/number`, or `rediss:` for TLS; nodes of a cluster by comma. */
  url: string;
  /** Milliseconds since 1970; absent: the clock of Redis for what is kept there, the system's for the rest. */
  now?: (() => number) | undefined;
  /** For how long a call counts that no node says to be running; default 30 000. */
  leaseMs?: number;
  /** How long one answer of Redis may take; default 80. */
  answerMsMax?: number;
  /** Accounts kept in memory, for while Redis is away; default 20 000. */
  accountsMax?: number;
  /** Told of a Redis that went or came back. */
  report?: (event: string, fields: Record<string, unknown>) => void;
}

/** Limits that several nodes share. */
export interface RedisLimits extends CallLimits {
  /** Sentences about what is worse than it should be while calls are served; empty when all is well. */
  readinessProblems(): string[];
}

/** A Redis that cannot be used at all; the sentence says what to do. */
export class RedisRefused extends Error {
  override readonly name = "RedisRefused";
}

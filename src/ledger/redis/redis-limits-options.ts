import type { Store } from "../../db/index.ts";
import type { CallLimits } from "../call-limits.ts";

/** Options of {@link openRedisLimits}. */
export interface RedisLimitsOptions {
  /** That the nodes share; SQL's sums of what quotas were drawn are the truth. */
  store: Store;
  /** `redis://user:password@host:port/number`, or `rediss:` for TLS; nodes of a cluster by comma. */
  url: string;
  /** Milliseconds since 1970; absent: the clock of Redis for what is kept there, the system's for the rest. */
  now?: (() => number) | undefined;
  /** Milliseconds after which a call that its node no longer renews stops counting; default 30 000. */
  leaseMs?: number;
  /** How long one answer of Redis may take; default 80. */
  answerMsMax?: number;
  /** Accounts kept in memory, for while Redis is away; default 20 000. */
  accountsMax?: number;
  /** Called when Redis goes down or comes back. */
  report?: (event: string, fields: Record<string, unknown>) => void;
}

/** Limits that several nodes share. */
export interface RedisLimits extends CallLimits {
  /** Sentences about what is worse than it should be while calls are served; empty when all is well. */
  problems(): string[];
}

/** Redis cannot be used at all; the message says what to do. */
export class RedisRefused extends Error {
  override readonly name = "RedisRefused";
}

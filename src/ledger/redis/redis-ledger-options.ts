import type { Store } from "../../store/index.ts";
import type { OnCommit } from "../commit-queue.ts";
import type { LocalLedger } from "../local-ledger.ts";
import type { Recovery } from "../recover.ts";

/** What {@link createRedisLedger} wants. */
export interface RedisLedgerOptions {
  store: Store;
  /** `redis://user:password@host:port/number`, or `rediss:` for TLS. */
  url: string;
  /** Milliseconds since 1970; absent: the clock of Redis for the books, the system's for the rest. */
  now?: () => number;
  /** How long a hold stands that nobody renews, which is when its process is dead; default 30 000. */
  leaseMs?: number;
  /** How long one answer of Redis may take; default 80. */
  answerMsMax?: number;
  onCommit?: OnCommit | undefined;
  /** Told of a Redis that went or came back, and of calls that a dead process left. */
  report?: (event: string, fields: Record<string, unknown>) => void;
}

/** The ledger of one of several nodes. */
export interface RedisLedger extends LocalLedger {
  /** Sentences about what is worse than it should be while calls are served; empty when all is well. */
  troubles(): string[];
  /**
   * Renews the leases of running calls, ends those that dead processes left, and forgets these processes. It does so by
   * itself in time.
   */
  beat(): Promise<Recovery>;
}

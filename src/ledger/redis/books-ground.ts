import type { AbandonedCall, Store } from "../../store/index.ts";
import type { RedisDoor } from "./redis-door.ts";

/** What accounts in Redis stand on. */
export interface BooksGround {
  door: RedisDoor;
  store: Store;
  /** Milliseconds since 1970; absent: Redis's own clock. */
  now: (() => number) | undefined;
  /** How long a hold stands that nobody renews. */
  leaseMs: number;
  /** Stands before every key; this database's own. */
  prefix: string;
  isRunning(callId: string): boolean;
  onAbandoned(calls: AbandonedCall[]): void;
}

import type { CallContext, Registry } from "../kernel/index.ts";

/** What a scrape asks of the running gateway; each is cheap, and none of it is on the way of a call. */
export interface GatewaySnapshot {
  registry(): Registry;
  now(): number;
  /** Calls on their way. */
  running(): Iterable<CallContext>;
  /** Requests refused at the door so far, because there was too much to do or the process ends. */
  turnedAway(): number;
  /** Whether the process is about to end. */
  isLeaving(): boolean;
  isSandbox(): boolean;
  /** Where the books are. */
  readonly store: "sqlite" | "postgres";
  /** Why the store should not be relied on; absent when nothing is wrong. */
  storeTrouble(): string | undefined;
  /** Whether Redis is in use just now; absent without one. */
  readonly isRedisUp: (() => boolean) | undefined;
  /** Wallets below zero; it looks at all of them. */
  overdrawn(): Promise<{ accounts: number; nanodollars: number }>;
}

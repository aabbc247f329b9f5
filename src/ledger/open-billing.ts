import type { Store } from "../db/index.ts";
import { type Billing, type BillingOptions, createBilling } from "./billing.ts";
import type { OnCommit } from "./commit-queue.ts";
import type { RedisLimits, RedisLimitsOptions } from "./redis/redis-limits-options.ts";

/** A ledger, and sentences about what is worse with it than it should be while calls are served. */
export interface OpenBilling {
  ledger: Billing;
  degraded(): string[];
}

interface OpenBillingOptions {
  store: Store;
  log: { warn(event: string, fields: Record<string, unknown>): void };
  now?: (() => number) | undefined;
  onCommit?: OnCommit | undefined;
  onEnded?: BillingOptions["onEnded"];
}

/**
 * The ledger of this process; with REDIS_URL its limits are those of all nodes together.
 *
 * @throws {RedisRefused} When that Redis cannot be used at all.
 */
export async function openBilling(
  { redisUrl }: { redisUrl?: string | undefined },
  { store, log, now, onCommit, onEnded }: OpenBillingOptions,
): Promise<OpenBilling> {
  const given = { store, ...(now && { now }) };
  const told = { onCommit, onEnded };
  if (redisUrl === undefined) return { ledger: createBilling({ ...given, ...told }), degraded: () => [] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  const limits = await openRedisLimits({ ...given, url: redisUrl, report });
  return { ledger: createBilling({ ...given, ...told, limits }), degraded: () => limits.problems() };
}

/**
 * Opens the limits that nodes share over Redis. The client, some 10 MB of memory, is loaded only where there is one. A
 * Redis that cannot be reached is tried again in the background; until then each node keeps limits alone.
 *
 * @throws {RedisRefused} When Redis holds something else, or refuses its user.
 */
export async function openRedisLimits(options: RedisLimitsOptions): Promise<RedisLimits> {
  const { connectRedisLimits } = await import("./redis/redis-limits.ts");
  return connectRedisLimits(options);
}

import type { Store } from "../db/index.ts";
import { type Billing, createBilling, type OnCommit, openRedisLimits } from "./index.ts";

/** A ledger, and sentences about what is worse with it than it should be while calls are served. */
export interface OpenLedger {
  ledger: Billing;
  degraded(): string[];
}

interface LedgerGround {
  store: Store;
  log: { warn(event: string, fields: Record<string, unknown>): void };
  now?: (() => number) | undefined;
  onCommit?: OnCommit | undefined;
}

/**
 * The ledger of this process; with REDIS_URL its limits are those of all nodes together.
 *
 * @throws {RedisRefused} When that Redis cannot be used at all.
 */
export async function openBilling(
  { redisUrl }: { redisUrl?: string | undefined },
  { store, log, now, onCommit }: LedgerGround,
): Promise<OpenLedger> {
  const given = { store, ...(now && { now }) };
  if (redisUrl === undefined) return { ledger: createBilling({ ...given, onCommit }), degraded: () => [] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  const limits = await openRedisLimits({ ...given, url: redisUrl, report });
  return { ledger: createBilling({ ...given, limits, onCommit }), degraded: () => limits.readinessProblems() };
}

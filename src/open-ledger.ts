import type { Config } from "./config.ts";
import type { Log } from "./kernel/index.ts";
import { createLocalLedger, createRedisLedger, type LocalLedger } from "./ledger/index.ts";
import type { Store } from "./store/index.ts";

/** A ledger, and sentences about what is worse with it than it should be while calls are served. */
export interface OpenLedger {
  ledger: LocalLedger;
  degraded(): string[];
}

/**
 * The ledger of this process alone, or with REDIS_URL the one it shares with other nodes.
 *
 * @throws {RedisRefused} When that Redis cannot be used at all.
 */
export async function openLedger(
  { redisUrl }: Pick<Config, "redisUrl">,
  { store, log, now }: { store: Store; log: Log; now?: (() => number) | undefined },
): Promise<OpenLedger> {
  const clock = now && { now };
  if (redisUrl === undefined) return { ledger: createLocalLedger({ store, ...clock }), degraded: () => [] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  const ledger = await createRedisLedger({ store, url: redisUrl, report, ...clock });
  return { ledger, degraded: () => ledger.troubles() };
}

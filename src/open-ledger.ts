import type { Config } from "./config.ts";
import type { Log } from "./kernel/index.ts";
import { createLocalLedger, createRedisLedger, type LocalLedger, type OnCommit } from "./ledger/index.ts";
import type { Store } from "./store/index.ts";

/** A ledger, and sentences about what is worse with it than it should be while calls are served. */
export interface OpenLedger {
  ledger: LocalLedger;
  degraded(): string[];
}

interface LedgerGround {
  store: Store;
  log: Log;
  now?: (() => number) | undefined;
  onCommit?: OnCommit | undefined;
}

/**
 * The ledger of this process alone, or with REDIS_URL the one it shares with other nodes.
 *
 * @throws {RedisRefused} When that Redis cannot be used at all.
 */
export async function openLedger(
  { redisUrl }: Pick<Config, "redisUrl">,
  { store, log, now, onCommit }: LedgerGround,
): Promise<OpenLedger> {
  const given = { ...(now && { now }), onCommit };
  if (redisUrl === undefined) return { ledger: createLocalLedger({ store, ...given }), degraded: () => [] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  const ledger = await createRedisLedger({ store, url: redisUrl, report, ...given });
  return { ledger, degraded: () => ledger.troubles() };
}

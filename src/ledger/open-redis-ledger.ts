import type { RedisLedger, RedisLedgerOptions } from "./redis/redis-ledger-options.ts";

/** As the engine's own; the client of Redis, some 10 MB of memory, is loaded only where there is one. */
export async function createRedisLedger(options: RedisLedgerOptions): Promise<RedisLedger> {
  const engine = await import("./redis/redis-ledger.ts");
  return engine.createRedisLedger(options);
}

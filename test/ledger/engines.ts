import { afterAll, beforeAll } from "bun:test";
import {
  createLocalLedger,
  createRedisLedger,
  type LocalLedger,
  type LocalLedgerOptions,
} from "../../src/ledger/index.ts";
import { redisProgram, startRedis, type TestRedis, useRedisServers } from "../support/redis.ts";

/** Makes a ledger over a store. */
export type MakeLedger = (options: LocalLedgerOptions) => Promise<LocalLedger>;

export const engineNames = redisProgram === null ? (["local"] as const) : (["local", "redis"] as const);
export type EngineName = (typeof engineNames)[number];

/**
 * The engines that this machine can run, for a suite over all of them. One Redis serves the tests of a file: each
 * store has its own keys there.
 */
export function useEngines(): Record<EngineName, MakeLedger> {
  let redis: TestRedis | undefined;
  const ledgers: LocalLedger[] = [];
  beforeAll(async () => {
    if (redisProgram !== null) redis = await startRedis();
  });
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close().catch(() => undefined);
  });
  useRedisServers();
  return {
    local: async (options) => createLocalLedger(options),
    async redis({ store, now }) {
      const { url } = redis as TestRedis;
      const ledger = await createRedisLedger({ store, url, ...(now && { now }) });
      ledgers.push(ledger);
      return ledger;
    },
  } as Record<EngineName, MakeLedger>;
}

import { afterAll, beforeAll } from "bun:test";
import { type LedgerOptions, ProcessLedger } from "../../../src/ledger/index.ts";
import { openRedisLimits } from "../../../src/ledger/redis/redis-limits.ts";
import { isLong, rounds } from "../../support/long.ts";
import { redisProgram, startRedis, type TestRedis, useRedisServers } from "../../support/redis.ts";
import { engine } from "../db/temporary-store.ts";

/** Makes a ledger over a store. */
export type MakeLedger = (options: LedgerOptions) => Promise<ProcessLedger>;

/** The clock of a test leaps over days, in which nobody renews what runs. */
const leaseMs = 60 * 86_400_000;

/** Redis is for several nodes, so it is only beside the store that they share: `test/integration/over-postgres` runs these too. */
const withRedis = engine === "postgres" && redisProgram !== null;
/**
 * The limits of a process are the same over any store, and Redis has the statements of PostgreSQL beside it: what each has of
 * its own is tried in the short form, the pair of local limits and PostgreSQL by `wallet-race` and `decided-alike`.
 */
export const engineNames: readonly EngineName[] = [
  ...(withRedis && !isLong ? [] : (["local"] as const)),
  ...(withRedis ? (["redis"] as const) : []),
];
/** Of how many random histories a property is tried: each has a database of its own, which takes longest over PostgreSQL. */
export const historyCount = engine === "postgres" ? rounds(12, 200) : rounds(30, 200);
export type EngineName = "local" | "redis";

/**
 * The engines that this machine can run, for a suite over all of them. One Redis serves the tests of a file: each
 * store has its own keys there.
 */
export function useEngines(): Record<EngineName, MakeLedger> {
  let redis: TestRedis | undefined;
  const ledgers: ProcessLedger[] = [];
  const faults: unknown[] = [];
  beforeAll(async () => {
    if (withRedis) redis = await startRedis();
  });
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close().catch(() => undefined);
    // Without it a node goes on alone, which no test of one node would notice.
    if (faults.length > 0) throw faults[0];
  });
  useRedisServers();
  return {
    local: async (options) => new ProcessLedger(options),
    async redis({ store, now }) {
      const { url } = redis as TestRedis;
      const report = (event: string, { error }: Record<string, unknown>) => {
        if (event === "redis_down") faults.push(error);
      };
      // What is asked is what is let in and not how soon: a busy machine is no reason to fail.
      const limits = await openRedisLimits({ store, url, now, leaseMs, timeoutMs: 10_000, report });
      const ledger = new ProcessLedger({ store, limits, ...(now && { now }) });
      ledgers.push(ledger);
      return ledger;
    },
  };
}

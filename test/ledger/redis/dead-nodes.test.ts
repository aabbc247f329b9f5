import { expect, test } from "bun:test";
import { createRedisLedger } from "../../../src/ledger/index.ts";
import { node, until } from "../../store/postgres/ground.ts";
import { queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { addAccount, claimOf } from "../ground.ts";

useRedisServers();

test.skipIf(redisProgram === null || whyNoPostgres !== undefined)(
  "a beat forgets nodes that are surely dead, and none that may live",
  async () => {
    const { store, url } = await node();
    const { store: other } = await node(url);
    const redis = await startRedis();
    // Both sides of each bound are some seconds away from it, for a machine that has other work.
    const see = (id: string, secondsAgo: number) =>
      queryPostgres(
        url,
        `insert into nodes values ('${id}', floor(extract(epoch from clock_timestamp()) * 1000) - ${secondsAgo * 1000})
         on conflict (id) do update set seen_at = excluded.seen_at`,
      );
    const known = async () =>
      (await queryPostgres<{ id: string }>(url, "select id from nodes order by id")).map(({ id }) => id);
    const [own, living] = [store.nodeId, other.nodeId] as [string, string];
    const ledger = await createRedisLedger({ store, url: redis.url, leaseMs: 600_000 });
    try {
      await addAccount(store, "acc_1", 100);
      await ledger.admit(claimOf({ callId: "running", openedAt: Date.now() }));
      await see("gone", 4);
      await see("gone long ago", 3600);
      await see("just gone", -60);
      await see(own, 3600);
      await see(living, 4);
      await ledger.beat();
      expect(await known()).toEqual([own, living, "just gone"].sort());
      await see("just gone", 4);
      await see(living, 15);
      await ledger.beat();
      expect(await known()).toEqual([own]);
      await until("the one that lives after all is known again", async () => {
        other.outsideChange();
        return (await known()).includes(living);
      });
      // Calls are not judged by this: their leases are.
      expect(await queryPostgres(url, "select id, state from calls")).toEqual([{ id: "running", state: "open" }]);
      await redis.stop("SIGKILL");
      await see("gone", 4);
      await until("also without Redis", async () => {
        await ledger.beat().catch(() => undefined);
        return !(await known()).includes("gone");
      });
    } finally {
      await ledger.close().catch(() => undefined);
    }
  },
  60_000,
);

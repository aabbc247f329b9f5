import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createRedisLedger, type RedisLedger, verifyLedger, walletOf } from "../../../src/ledger/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { temporaryFile, temporaryStore } from "../../store/temporary-store.ts";
import { errorOf } from "../../support/error-of.ts";
import { startCluster, type TestCluster } from "../../support/redis-cluster.ts";
import { redisProgram } from "../../support/redis-server.ts";
import { addAccount, claimOf, settlementOf } from "../ground.ts";
import { until } from "./ground.ts";

const accounts = Array.from({ length: 24 }, (_, index) => `acc_${index}`);
const testMsMax = 60_000;

describe.skipIf(redisProgram === null)("two nodes on a Redis Cluster of three", () => {
  const file = temporaryFile();
  const ledgers: RedisLedger[] = [];
  let cluster: TestCluster;
  let store: Store;
  beforeAll(async () => {
    cluster = await startCluster();
    store = await temporaryStore(file);
    for (const id of accounts) await addAccount(store, id, 25);
    for (let index = 0; index < 2; index++) {
      const options = { store: await temporaryStore(file), url: cluster.url, answerMsMax: 1000 };
      ledgers.push(await createRedisLedger(options));
    }
  }, testMsMax);
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close();
    await cluster?.remove();
  });

  /** Six calls of 10 on each account at once, by turns on both; how many were let in by account. */
  async function race(): Promise<number[]> {
    return Promise.all(
      accounts.map(async (accountId) => {
        const outcomes = await Promise.all(
          Array.from({ length: 6 }, async (_, index) => {
            const ledger = ledgers[index % 2] as RedisLedger;
            const claim = claimOf({ accountId, openedAt: Date.now() });
            return ledger.admit(claim).then(
              () => ({ ledger, claim }),
              () => undefined,
            );
          }),
        );
        const letIn = outcomes.filter((outcome) => outcome !== undefined);
        await Promise.all(letIn.map(({ ledger, claim }) => ledger.settle(settlementOf(claim.callId))));
        return letIn.length;
      }),
    );
  }

  test(
    "share wallets, each on the node of its slot",
    async () => {
      expect(ledgers.map((ledger) => ledger.troubles())).toEqual([[], []]);
      expect(await race()).toEqual(accounts.map(() => 3));
      for (const id of accounts) {
        const wallet = { balanceNanodollars: -5, heldNanodollars: 0 };
        for (const ledger of ledgers) expect(await ledger.walletOf(id)).toEqual(wallet);
        expect(await walletOf(store, id)).toEqual(wallet);
      }
      const counts = await Promise.all(cluster.nodes.map((node) => node.command("DBSIZE")));
      expect(counts.filter((count) => count === ":0\r\n")).toEqual([]);
      expect((await verifyLedger(store)).differences).toEqual([]);
    },
    testMsMax,
  );

  test(
    "go on by SQL when one of the three is stopped, and use it again when it is back",
    async () => {
      const [stopped] = cluster.nodes as [TestCluster["nodes"][0]];
      process.kill(stopped.pid, "SIGSTOP");
      // Whoever is on that node has it noticed; all are refused, for their wallets are empty.
      expect(await race()).toEqual(accounts.map(() => 0));
      await until(() => ledgers.every((ledger) => ledger.troubles().length === 1));
      process.kill(stopped.pid, "SIGCONT");
      await until(() => ledgers.every((ledger) => ledger.troubles().length === 0), 30_000);
      expect(await race()).toEqual(accounts.map(() => 0));
      expect((await verifyLedger(store)).differences).toEqual([]);
    },
    testMsMax,
  );

  test("one node alone is not enough, and is told so", async () => {
    const [node] = cluster.nodes as [TestCluster["nodes"][0]];
    const error = await errorOf(createRedisLedger({ store, url: node.url, answerMsMax: 1000 }));
    expect(error.message).toBe(
      "Cannot use this Redis: it is a node of a cluster; name several of its nodes in REDIS_URL, by comma",
    );
  });
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Store } from "../../../../src/db/index.ts";
import { readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { openRedisLimits } from "../../../../src/ledger/redis/redis-limits.ts";
import { errorOf } from "../../../support/error-of.ts";
import { startCluster, type TestCluster } from "../../../support/redis-cluster.ts";
import { node } from "../../db/postgres/fixture.ts";
import { type AdmissionFields, addAccount, createAdmission, createSettlement } from "../fixture.ts";
import { canShare, type Node, startNode, until } from "./fixture.ts";

const accounts = Array.from({ length: 24 }, (_, index) => `acc_${index}`);

describe.skipIf(!canShare)("two nodes on a Redis Cluster of three", () => {
  const nodes: Node[] = [];
  let cluster: TestCluster;
  let store: Store;
  beforeAll(async () => {
    cluster = await startCluster();
    const made = await node();
    store = made.store;
    for (const id of accounts) await addAccount(store, id, 25);
    for (let index = 0; index < 2; index++) nodes.push(await startNode(made.url, cluster, { timeoutMs: 1000 }));
  });
  afterAll(async () => {
    for (const { ledger } of nodes) await ledger.close();
    await cluster?.remove();
  });

  /** Six calls of 10 on each account at once, by turns on both; how many were let in by account. */
  async function race(fields: AdmissionFields = {}): Promise<number[]> {
    return Promise.all(
      accounts.map(async (accountId) => {
        const outcomes = await Promise.all(
          Array.from({ length: 6 }, async (_, index) => {
            const { ledger } = nodes[index % 2] as Node;
            const admission = createAdmission({ accountId, openedAt: Date.now(), ...fields });
            return ledger.admit(admission).then(
              () => ({ ledger, admission }),
              () => undefined,
            );
          }),
        );
        const letIn = outcomes.filter((outcome) => outcome !== undefined);
        await Promise.all(letIn.map(({ ledger, admission }) => ledger.settle(createSettlement(admission.callId))));
        return letIn.length;
      }),
    );
  }

  test("share limits, each account's on the node of its slot", async () => {
    expect(nodes.map(({ limits }) => limits.problems())).toEqual([[], []]);
    expect(await race()).toEqual(accounts.map(() => 3));
    for (const id of accounts) {
      const wallet = { balanceNanodollars: -5, heldNanodollars: 0 };
      for (const { ledger } of nodes) expect(await ledger.readWalletState(id)).toEqual(wallet);
      expect(await readWalletState(store, id)).toEqual(wallet);
    }
    const free = { premium: false, holdTokens: 10, freeTokensPerDay: 25 };
    expect(await race(free)).toEqual(accounts.map(() => 3));
    expect(await race({ ...free, freeTokensPerDay: 1000, requestsPerMinute: 5 })).toEqual(accounts.map(() => 5));
    const counts = await Promise.all(cluster.nodes.map((node) => node.command("DBSIZE")));
    expect(counts.filter((count) => count === ":0\r\n")).toEqual([]);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("go on by SQL when one of the three is stopped, and use it again when it is back", async () => {
    const [stopped] = cluster.nodes as [TestCluster["nodes"][0]];
    process.kill(stopped.pid, "SIGSTOP");
    // Whoever is on that node has it noticed; all are refused, for their wallets are empty.
    expect(await race()).toEqual(accounts.map(() => 0));
    await until(() => nodes.every(({ limits }) => limits.problems().length === 1));
    process.kill(stopped.pid, "SIGCONT");
    await until(() => nodes.every(({ limits }) => limits.problems().length === 0));
    expect(await race()).toEqual(accounts.map(() => 0));
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("one node alone is not enough, and is told so", async () => {
    const [one] = cluster.nodes as [TestCluster["nodes"][0]];
    const error = await errorOf(openRedisLimits({ store, url: one.url, timeoutMs: 1000 }));
    expect(error.message).toBe(
      "Cannot use this Redis: it is a node of a cluster; name several of its nodes in REDIS_URL, by comma",
    );
  });
});

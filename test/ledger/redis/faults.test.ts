import { describe, expect, test } from "bun:test";
import { verifyLedger, walletOf } from "../../../src/ledger/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { temporaryStore } from "../../store/temporary-store.ts";
import { redisProgram, startRedis, type TestRedis } from "../../support/redis.ts";
import { claimOf, settlementOf } from "../ground.ts";
import { makeCall, startNode, startNodes, until, useNodes } from "./ground.ts";

useNodes();

/** What a call may hang for Redis's sake, and what a busy machine may add to that. */
const hangMsMax = 250 + 1250;
const testMsMax = 60_000;

/** What befalls a Redis, and what mends it. */
interface Fault {
  what: string;
  strike(redis: TestRedis): Promise<unknown>;
  mend(redis: TestRedis): Promise<unknown>;
}

const signal = async (redis: TestRedis, name: NodeJS.Signals) => process.kill(redis.pid, name);

const faults: Fault[] = [
  {
    what: "that does not answer for a second (CLIENT PAUSE)",
    strike: (redis) => redis.command("CLIENT", "PAUSE", "1000", "ALL"),
    mend: async () => undefined,
  },
  {
    what: "that is stopped (SIGSTOP)",
    strike: (redis) => signal(redis, "SIGSTOP"),
    mend: (redis) => signal(redis, "SIGCONT"),
  },
  {
    what: "that was killed and came back empty",
    strike: (redis) => redis.stop("SIGKILL"),
    mend: ({ port }) => startRedis({ port }),
  },
  {
    what: "that became a replica and takes no writes",
    strike: (redis) => redis.command("REPLICAOF", "127.0.0.1", "1"),
    mend: (redis) => redis.command("REPLICAOF", "NO", "ONE"),
  },
  {
    what: "that is full (maxmemory, noeviction)",
    strike: (redis) => redis.command("CONFIG", "SET", "maxmemory", "1"),
    mend: (redis) => redis.command("CONFIG", "SET", "maxmemory", "0"),
  },
];

/** A store whose writes take longer than Redis is waited for. */
function slowlyWriting(store: Store): Store {
  const writeBooks: Store["writeBooks"] = async (batch) => {
    await Bun.sleep(300);
    return store.writeBooks(batch);
  };
  return Object.create(store, { writeBooks: { value: writeBooks } }) as Store;
}

describe.skipIf(redisProgram === null)("a Redis", () => {
  test(
    "that goes while what it let in is being written lets in no more than the wallet and a budget have",
    async () => {
      const { redis, file } = await startNodes(0, 105);
      const store = slowlyWriting(await temporaryStore(file));
      const { ledger } = await startNode(file, redis, { store });
      const claims = (count: number) => Array.from({ length: count }, () => claimOf({ openedAt: Date.now() }));
      await ledger.walletOf("acc_1");
      const byRedis = claims(6).map((claim) => ledger.admit(claim));
      await Bun.sleep(20);
      await signal(redis, "SIGSTOP");
      const outcomes = await Promise.allSettled([...byRedis, ...claims(30).map((claim) => ledger.admit(claim))]);
      const held = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      expect(held.map(({ heldNanodollars }) => heldNanodollars).sort((a, b) => b - a)).toEqual([
        ...Array.from({ length: 10 }, () => 10),
        5,
      ]);
      await signal(redis, "SIGCONT");
      await Promise.all(held.map(({ callId }) => ledger.settle(settlementOf(callId))));
      expect(await walletOf(store, "acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
    },
    testMsMax,
  );

  test.each(faults)(
    "$what hangs no call, fails none, and the books balance",
    async ({ strike, mend }) => {
      const { redis, nodes } = await startNodes(2, 10_000);
      const [a, b] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
      const lasting = claimOf({ holdNanodollars: 100 });
      await a.ledger.admit(lasting);
      await makeCall(a);
      await strike(redis);
      for (let round = 0; round < 3; round++) {
        const times = await Promise.all(Array.from({ length: 20 }, (_, index) => makeCall(index % 2 === 0 ? a : b)));
        expect(Math.max(...times)).toBeLessThan(hangMsMax);
      }
      expect(a.ledger.troubles()[0]).toStartWith("Redis cannot be used (");
      expect(await b.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 9390, heldNanodollars: 100 });
      await mend(redis);
      await until(() => nodes.every(({ ledger }) => ledger.troubles().length === 0));
      for (const { ledger } of nodes) {
        expect(await ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 9390, heldNanodollars: 100 });
      }
      await a.ledger.settle(settlementOf(lasting.callId, { costNanodollars: 60 }));
      for (const { ledger } of nodes) {
        expect(await ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 9330, heldNanodollars: 0 });
      }
      expect((await verifyLedger(a.store)).differences).toEqual([]);
      expect(a.reports).toEqual(["redis_in_use", "redis_gone", "redis_in_use"]);
    },
    testMsMax,
  );

  test(
    "that is flushed under way is seeded again, with what is held",
    async () => {
      const { redis, nodes, node } = await startNodes(2, 1000);
      const lasting = claimOf({ holdNanodollars: 300 });
      await node.ledger.admit(lasting);
      for (let round = 0; round < 20; round++) {
        await Promise.all([redis.command("FLUSHALL"), ...nodes.map((each) => makeCall(each))]);
      }
      for (const { ledger, store } of nodes) {
        await ledger.beat();
        expect(await ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 600, heldNanodollars: 300 });
        expect(await walletOf(store, "acc_1")).toEqual({ balanceNanodollars: 600, heldNanodollars: 300 });
      }
      await node.ledger.settle(settlementOf(lasting.callId, { costNanodollars: 250 }));
      expect(await node.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 350, heldNanodollars: 0 });
      expect((await verifyLedger(node.store)).differences).toEqual([]);
    },
    testMsMax,
  );

  test("that forgets its scripts is told them again", async () => {
    const { redis, node } = await startNodes(1, 1000);
    await makeCall(node);
    await redis.command("SCRIPT", "FLUSH");
    await Promise.all(Array.from({ length: 10 }, () => makeCall(node)));
    expect(node.ledger.troubles()).toEqual([]);
    expect(await node.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 890, heldNanodollars: 0 });
  });

  test("that is away at the start is used as soon as it is there", async () => {
    const { redis, file } = await startNodes(0, 1000);
    await redis.stop("SIGKILL");
    const node = await startNode(file, redis);
    expect(await makeCall(node)).toBeLessThan(hangMsMax);
    await startRedis({ port: redis.port });
    await until(() => node.ledger.troubles().length === 0);
    await makeCall(node);
    expect(await node.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 980, heldNanodollars: 0 });
  });
});

import { describe, expect, test } from "bun:test";
import type { Store } from "../../../../src/db/index.ts";
import { readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { rounds } from "../../../support/long.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { startSlowProxy } from "../../../support/slow-proxy.ts";
import { node as databaseNode } from "../../db/postgres/fixture.ts";
import { createAdmission, createSettlement } from "../fixture.ts";
import { canShare, makeCall, type Node, startNode, startNodes, until, useNodes } from "./fixture.ts";

useNodes();

/** Who hangs does so for as long as the fault lasts. A busy machine may be late by seconds. */
const hangMsMax = 10_000;

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
  const writeLedger: Store["writeLedger"] = async (batch) => {
    await Bun.sleep(600);
    return store.writeLedger(batch);
  };
  return Object.create(store, { writeLedger: { value: writeLedger } }) as Store;
}

describe.skipIf(!canShare)("a Redis", () => {
  test("that goes while what it let in is being written lets in no more than the wallet and a budget have", async () => {
    const { redis, url } = await startNodes(0, 105);
    const store = slowlyWriting((await databaseNode(url)).store);
    const { ledger } = await startNode(store, redis);
    const claims = (count: number) => Array.from({ length: count }, () => createAdmission({ openedAt: Date.now() }));
    await ledger.readWalletState("acc_1");
    const byRedis = claims(6).map((admission) => ledger.admit(admission));
    await Bun.sleep(20);
    await signal(redis, "SIGSTOP");
    const outcomes = await Promise.allSettled([...byRedis, ...claims(30).map((admission) => ledger.admit(admission))]);
    const held = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(held.map(({ heldNanodollars }) => heldNanodollars).sort((a, b) => b - a)).toEqual([
      ...Array.from({ length: 10 }, () => 10),
      5,
    ]);
    await signal(redis, "SIGCONT");
    await Promise.all(held.map(({ callId }) => ledger.settle(createSettlement(callId))));
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
  });

  test.each(faults)("$what hangs no call, fails none, and the ledger balances", async ({ strike, mend }) => {
    const { redis, nodes } = await startNodes(2, 10_000);
    const [a, b] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    const lasting = createAdmission({ holdNanodollars: 100 });
    await a.ledger.admit(lasting);
    await makeCall(a);
    await strike(redis);
    for (let round = 0; round < 3; round++) {
      const times = await Promise.all(Array.from({ length: 20 }, (_, index) => makeCall(index % 2 === 0 ? a : b)));
      expect(Math.max(...times)).toBeLessThan(hangMsMax);
    }
    expect(a.limits.problems()[0]).toStartWith("Redis cannot be used (");
    expect(await b.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 9390, heldNanodollars: 100 });
    await mend(redis);
    await until(() => nodes.every(({ limits }) => limits.problems().length === 0));
    for (const { ledger } of nodes) {
      expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 9390, heldNanodollars: 100 });
    }
    await a.ledger.settle(createSettlement(lasting.callId, { costNanodollars: 60 }));
    for (const { ledger } of nodes) {
      expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 9330, heldNanodollars: 0 });
    }
    expect((await verifyLedger(a.store)).differences).toEqual([]);
    expect(a.reports).toEqual(["redis_up", "redis_down", "redis_up"]);
  });

  test("that answers late at one step of a call is waited for that much less at the next, and is not down for it", async () => {
    const { redis, url } = await startNodes(0, 1000);
    const proxy = await startSlowProxy(redis.port);
    const behind = { url: `redis://127.0.0.1:${proxy.port}/0` };
    const { ledger, limits } = await startNode(url, behind, { timeoutMs: 4000 });
    try {
      // The first call of an account has its sums loaded.
      await makeCall({ ledger });
      const admission = createAdmission();
      proxy.delayMs = 1000;
      await ledger.admit(admission);
      proxy.delayMs = Number.POSITIVE_INFINITY;
      await ledger.settle(createSettlement(admission.callId));
      // It has half of its time left, and the call has given up.
      expect(limits.problems()).toEqual([]);
      await until(() => limits.problems().length > 0);
      proxy.delayMs = 0;
      await until(() => limits.problems().length === 0);
    } finally {
      limits.close();
      await proxy.stop();
    }
  });

  test("that is flushed under way loses no money, and nothing that is held", async () => {
    const { redis, nodes, node } = await startNodes(2, 1000);
    const lasting = createAdmission({ holdNanodollars: 300 });
    await node.ledger.admit(lasting);
    for (let round = 0; round < 20; round++) {
      await Promise.all([redis.command("FLUSHALL"), ...nodes.map((each) => makeCall(each))]);
    }
    for (const { ledger, store } of nodes) {
      expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 600, heldNanodollars: 300 });
      expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 600, heldNanodollars: 300 });
    }
    await node.ledger.settle(createSettlement(lasting.callId, { costNanodollars: 250 }));
    expect(await node.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 350, heldNanodollars: 0 });
    expect((await verifyLedger(node.store)).differences).toEqual([]);
  });

  test("that forgets its scripts is told them again", async () => {
    const { redis, node } = await startNodes(1, 1000);
    await makeCall(node);
    await redis.command("SCRIPT", "FLUSH");
    await Promise.all(Array.from({ length: 10 }, () => makeCall(node)));
    expect(node.limits.problems()).toEqual([]);
    expect(await node.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 890, heldNanodollars: 0 });
  });

  test("that is away at the start is used as soon as it is there", async () => {
    const { redis, url } = await startNodes(0, 1000);
    await redis.stop("SIGKILL");
    const node = await startNode(url, redis);
    expect(await makeCall(node)).toBeLessThan(hangMsMax);
    await startRedis({ port: redis.port });
    await until(() => node.limits.problems().length === 0);
    await makeCall(node);
    expect(await node.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 980, heldNanodollars: 0 });
  });

  test("that is away for longer than any lease frees nothing of a call that runs: no money is held twice, no living node is dead", async () => {
    // The long form has the times of a gateway: leases and silences of 30 s, and Redis away for a minute.
    const leaseMs = rounds(300, 30_000);
    const { redis, nodes } = await startNodes(2, 1e9, { leaseMs, storeOptions: { deadAfterMs: leaseMs } });
    const [here, there] = nodes as [Node, Node];
    const timers = nodes.map(({ store }) => setInterval(() => store.pollExternalChange(), 20));
    const running = createAdmission({ holdNanodollars: 9e8 });
    await there.ledger.admit(running);
    await redis.stop("SIGKILL");
    const ended: string[] = [];
    const outage = Date.now() + rounds(5 * leaseMs, 60_000);
    while (Date.now() < outage) {
      for (const { ledger } of nodes) ended.push(...(await ledger.recover()).callIds);
      await Bun.sleep(20);
    }
    const second = createAdmission({ holdNanodollars: 9e8 });
    expect((await here.ledger.admit(second)).heldNanodollars).toBe(1e8);
    await startRedis({ port: redis.port });
    await until(() => nodes.every(({ limits }) => limits.problems().length === 0));
    const third = await here.ledger.admit(createAdmission({ holdNanodollars: 9e8 })).catch((error) => error.code);
    expect(third).toBe("insufficient_balance");
    for (const { ledger } of nodes) ended.push(...(await ledger.recover()).callIds);
    for (const timer of timers) clearInterval(timer);
    expect(ended).toEqual([]);
    await there.ledger.settle(createSettlement(running.callId, { costNanodollars: 9e8 }));
    await here.ledger.settle(createSettlement(second.callId, { costNanodollars: 1e8 }));
    expect(await readWalletState(here.store, "acc_1")).toEqual({ balanceNanodollars: 0, heldNanodollars: 0 });
    expect(await verifyLedger(here.store)).toMatchObject({ ok: true, counts: { abandoned: 0 } });
  });

  test("that evicts any key of an account loses no money, and calls of a dead node count no more when their lease is over", async () => {
    const { redis, nodes } = await startNodes(2, 1000, { leaseMs: 600 });
    const [here, dead] = nodes as [Node, Node];
    const keyLimits = { budgetNanodollars: 500, concurrentCalls: 2 };
    const claims = {
      premium: [1, 2].map(() => createAdmission({ keyLimits, holdNanodollars: 200 })),
      most: { concurrentCalls: 2 },
    };
    const [mine, lost] = claims.premium as [ReturnType<typeof createAdmission>, ReturnType<typeof createAdmission>];
    await here.ledger.admit(mine);
    await dead.ledger.admit(lost);
    dead.limits.close();
    const said = await redis.command("KEYS", "modelgate:*:limits:*");
    const keys = said.split("\r\n").filter((word) => word.startsWith("modelgate:"));
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) await redis.command("DEL", key);
    expect(await here.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 1000, heldNanodollars: 400 });
    // The budget has 100 left, which one call may have in part.
    const last = createAdmission({ keyLimits: { budgetNanodollars: 500 }, holdNanodollars: 200 });
    expect((await here.ledger.admit(last)).heldNanodollars).toBe(100);
    const beyond = createAdmission({ keyLimits: { budgetNanodollars: 500 }, holdNanodollars: 200 });
    expect(await here.ledger.admit(beyond).catch((error) => error.code)).toBe("budget_exceeded");
    await here.ledger.settle(createSettlement(last.callId, { outcome: "released" }));
    // That of this node is renewed and that of the dead one is not.
    await until(async () => (await here.ledger.readLimitsUsage(mine.caller)).calls.running === 1);
    await Bun.sleep(1200);
    const next = createAdmission({ ...claims.most, holdNanodollars: 1 });
    await here.ledger.admit(next);
    expect(await here.ledger.admit(createAdmission(claims.most)).catch((error) => error.message)).toStartWith(
      "Concurrency limit reached: 2 calls at once for this account",
    );
    await here.ledger.settle(createSettlement(next.callId, { costNanodollars: 1 }));
    await here.ledger.settle(createSettlement(mine.callId, { costNanodollars: 200 }));
    expect(await readWalletState(here.store, "acc_1")).toEqual({ balanceNanodollars: 799, heldNanodollars: 200 });
    expect((await verifyLedger(here.store)).differences).toEqual([]);
  });
});

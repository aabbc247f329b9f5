import { afterAll } from "bun:test";
import { createRedisLedger, type RedisLedger, type RedisLedgerOptions } from "../../../src/ledger/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { temporaryFile, temporaryStore } from "../../store/temporary-store.ts";
import { startRedis, type TestRedis, useRedisServers } from "../../support/redis.ts";
import { addAccount, claimOf, settlementOf } from "../ground.ts";

/** A node: a connection to the store and a ledger over it and a Redis. */
export interface Node {
  store: Store;
  ledger: RedisLedger;
  reports: string[];
}

const nodes: Node[] = [];

/** Closes the nodes and ends the servers of the calling file, after its tests. */
export function useNodes(): void {
  afterAll(async () => {
    for (const { ledger } of nodes.splice(0)) await ledger.close().catch(() => undefined);
  });
  useRedisServers();
}

export async function startNode(
  file: string,
  redis: TestRedis,
  options: Partial<RedisLedgerOptions> = {},
): Promise<Node> {
  const store = await temporaryStore(file);
  const reports: string[] = [];
  const report = (event: string) => void reports.push(event);
  const ledger = await createRedisLedger({ store, url: redis.url, report, ...options });
  const node = { store, ledger, reports };
  nodes.push(node);
  return node;
}

/** Several nodes on one store and one Redis of their own, and an account with money. */
export async function startNodes(count: number, nanodollars: number, options: Partial<RedisLedgerOptions> = {}) {
  const redis = await startRedis();
  const file = temporaryFile();
  await addAccount(await temporaryStore(file), "acc_1", nanodollars);
  const started: Node[] = [];
  for (let i = 0; i < count; i++) started.push(await startNode(file, redis, options));
  return { redis, file, nodes: started, node: started[0] as Node };
}

/** Makes one call of 10 nanodollars and returns how long its longer half took, in milliseconds. */
export async function makeCall({ ledger }: Pick<Node, "ledger">): Promise<number> {
  const claim = claimOf({ openedAt: Date.now() });
  const start = performance.now();
  await ledger.admit(claim);
  const admitted = performance.now();
  await ledger.settle(settlementOf(claim.callId));
  return Math.max(admitted - start, performance.now() - admitted);
}

/** Waits until something holds. @throws When it does not within `msMax`. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 5000): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Still not so after ${msMax} ms: ${holds}`);
    await Bun.sleep(10);
  }
}

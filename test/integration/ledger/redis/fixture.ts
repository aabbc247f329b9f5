import { afterAll } from "bun:test";
import type { Store, StoreOptions } from "../../../../src/db/index.ts";
import { ProcessLedger } from "../../../../src/ledger/index.ts";
import {
  openRedisLimits,
  type RedisLimits,
  type RedisLimitsOptions,
} from "../../../../src/ledger/redis/redis-limits.ts";
import { whyNoPostgres } from "../../../support/postgres.ts";
import { redisProgram, startRedis, type TestRedis, useRedisServers } from "../../../support/redis.ts";
import { node } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

/** Whether this machine has what nodes that share limits need. */
export const canShare = whyNoPostgres === undefined && redisProgram !== null;

/** A node: a connection to the store, a ledger over it, and limits that it shares over Redis. */
export interface Node {
  store: Store;
  ledger: ProcessLedger;
  limits: RedisLimits;
  reports: string[];
}

export interface NodeOptions extends Partial<RedisLimitsOptions> {
  storeOptions?: Partial<StoreOptions>;
}

const nodes: Node[] = [];

/** Closes the nodes and ends the servers of the calling file, after its tests. */
export function useNodes(): void {
  afterAll(async () => {
    for (const { ledger } of nodes.splice(0)) await ledger.close().catch(() => undefined);
  });
  useRedisServers();
}

/** A node on the database of this URL, or on a store that a test has made. */
export async function startNode(
  place: string | Store,
  redis: Pick<TestRedis, "url">,
  { storeOptions, ...options }: NodeOptions = {},
): Promise<Node> {
  const store = typeof place === "string" ? (await node(place, storeOptions)).store : place;
  const reports: string[] = [];
  const report = (event: string) => void reports.push(event);
  const limits = await openRedisLimits({ store, url: redis.url, report, ...options });
  const { now } = options;
  const made = { store, limits, ledger: new ProcessLedger({ store, limits, ...(now && { now }) }), reports };
  nodes.push(made);
  return made;
}

/** Several nodes on one database and one Redis of their own, and an account with money. */
export async function startNodes(count: number, nanodollars: number, options: NodeOptions = {}) {
  const redis = await startRedis();
  const { store, url } = await node();
  await addAccount(store, "acc_1", nanodollars);
  const started: Node[] = [];
  for (let i = 0; i < count; i++) started.push(await startNode(url, redis, options));
  return { redis, url, nodes: started, node: started[0] as Node };
}

/** Makes one call of 10 nanodollars and returns how long its longer half took, in milliseconds. */
export async function makeCall({ ledger }: Pick<Node, "ledger">): Promise<number> {
  const admission = createAdmission({ openedAt: Date.now() });
  const start = performance.now();
  await ledger.admit(admission);
  const admitted = performance.now();
  await ledger.settle(createSettlement(admission.callId));
  return Math.max(admitted - start, performance.now() - admitted);
}

/** Waits until something holds. @throws When it does not within `msMax`. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 60_000): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Still not so after ${msMax} ms: ${holds}`);
    await Bun.sleep(10);
  }
}

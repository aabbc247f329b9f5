import { clearTimeout, setTimeout } from "node:timers";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { type Blobs, createBlobs } from "../blobs.ts";
import { LostConnection, StoreError } from "../errors.ts";
import { migrate } from "../migrate.ts";
import type { Database } from "../schema.ts";
import { readSetting, type Store } from "../store.ts";
import { ChangeFeed } from "./change-feed.ts";
import { DeadNodes } from "./dead-nodes.ts";
import { connectionOptions, OrderedConnection, shownUrl } from "./ordered-connection.ts";
import { ask, keyReader, readBalance } from "./readers.ts";
import { writeBatch } from "./write-batch.ts";

/** With what a call does beside waiting, it stays below a quarter of a second. */
const patienceMsDefault = 200;
/** Connections for all that is no hot path; each gateway has two more. */
const poolMax = 6;
const connectWaitMs = 5000;
const deadAfterMsDefault = 30_000;

/**
 * All that the writes look for, they look for by its key. A plan that is kept must not have been made for tables so
 * small that reading all of one was quicker.
 */
const byKeys = "set enable_seqscan = off";

interface PostgresOptions {
  url: string;
  patienceMs?: number | undefined;
  deadAfterMs?: number | undefined;
  now: () => number;
}

interface Parts {
  pool: pg.Pool;
  db: Kysely<Database>;
  writes: OrderedConnection;
  reads: OrderedConnection;
  changes: ChangeFeed;
  dead: DeadNodes;
  nodeId: string;
}

/**
 * Opens the store on PostgreSQL, which several gateways may share. What holds then, without anything else beside it:
 *
 * - A wallet pays and a quota is drawn for what all nodes hold: each hold is judged by the statement that writes it
 *   (`guard`), one node after another, so that no call is let in once nothing is available.
 * - A call is charged once, whichever node ends it; a node that dies leaves its open calls to the others.
 * - Keys, accounts and credits changed on one node are known on the others within a second.
 * - Limits per minute count in each process: n nodes let through up to n times as many. For exact ones there is Redis.
 */
export async function openPostgres({
  url,
  now,
  patienceMs = patienceMsDefault,
  deadAfterMs = deadAfterMsDefault,
}: PostgresOptions): Promise<Store> {
  const parts = partsOf(url, patienceMs, deadAfterMs);
  try {
    await migrate(parts.db, "postgres", now);
    await Promise.all([parts.writes.open(), parts.reads.open()]);
    // No call waits for this one.
    await parts.changes.poll(parts.reads, connectWaitMs);
    return createStore(parts, patienceMs, now);
  } catch (error) {
    await closeAll(parts);
    throw error instanceof StoreError ? error : cannotOpen(url, error);
  }
}

function partsOf(url: string, patienceMs: number, deadAfterMs: number): Parts {
  const nodeId = crypto.randomUUID();
  const pool = new pg.Pool({
    ...connectionOptions(url, "modelgate"),
    max: poolMax,
    connectionTimeoutMillis: connectWaitMs,
  });
  // A connection that ends at rest is replaced when it is needed.
  pool.on("error", () => undefined);
  // One that is lost while it is in use fails its query, and would end the process beside that.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const changes = new ChangeFeed(nodeId);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  return {
    pool,
    db,
    dead: new DeadNodes(db, { nodeId, deadAfterMs, connectionOf: laneName("reads", "") }),
    writes: new OrderedConnection({
      url,
      patienceMs,
      name: laneName("writes", nodeId),
      onConnect: async (client) => void (await client.query(byKeys)),
    }),
    reads: new OrderedConnection({
      url,
      patienceMs,
      name: laneName("reads", nodeId),
      onConnect: (it) => changes.listen(it),
    }),
    changes,
    nodeId,
  };
}

function createStore(parts: Parts, patienceMs: number, now: () => number): Store {
  const { db, writes, reads, changes, dead, nodeId } = parts;
  let closed = false;
  return {
    db,
    shared: true,
    nodeId,
    blobs: blobsWithTimeout(createBlobs(db, now), patienceMs),
    get revision() {
      return changes.revision;
    },
    writeLedger: (batch) => writeBatch(writes, nodeId, batch),
    readBalance: (accountId, asked) => readBalance(writes, accountId, asked),
    ask: (query) => ask(reads, query),
    readKey: keyReader(db, reads),
    abandonCalls: (at) => dead.abandonCalls(at),
    change: (work) => changes.change(db, work),
    bumpRevision() {
      changes.revision += 1;
    },
    pollExternalChange() {
      if (closed) return false;
      // A failure is the lane's to mend; after it all copies are read anew.
      changes.poll(reads).catch(() => undefined);
      return changes.takeHeard();
    },
    trouble: () => (writes.isOpen ? undefined : "PostgreSQL does not answer: no call can be written down"),
    setting: (name, make) => readSetting(db, name, make),
    async close() {
      if (closed) return;
      closed = true;
      await reads.query({ text: "delete from nodes where id = $1", values: [nodeId] }).catch(() => undefined);
      await closeAll(parts);
    },
  };
}

function laneName(lane: "writes" | "reads", nodeId: string): string {
  return `modelgate ${lane} ${nodeId}`;
}

async function closeAll({ db, writes, reads }: Parts): Promise<void> {
  await Promise.all([writes.close(), reads.close(), db.destroy()]);
}

function cannotOpen(url: string, error: unknown): StoreError {
  const reason = error instanceof AggregateError ? (error.errors[0] as Error).message : (error as Error).message;
  return new StoreError(`Cannot open the database ${shownUrl(url)}: ${reason}`, error);
}

/** Files are put and got within calls, so they wait no longer than calls may. Pruning is nobody's wait. */
function blobsWithTimeout(blobs: Blobs, patienceMs: number): Blobs {
  return {
    put: (blob) => within(patienceMs, blobs.put(blob)),
    get: (id) => within(patienceMs, blobs.get(id)),
    prune: (now) => blobs.prune(now),
  };
}

async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new LostConnection(`PostgreSQL did not answer within ${patienceMs} ms`, true)),
    patienceMs,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

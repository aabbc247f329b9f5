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

/** Keeps the whole call overhead below a quarter of a second. */
const timeoutMsDefault = 200;
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
  timeoutMs?: number | undefined;
  deadAfterMs?: number | undefined;
  now: () => number;
}

interface Parts {
  pool: pg.Pool;
  db: Kysely<Database>;
  writes: OrderedConnection;
  reads: OrderedConnection;
  changes: ChangeFeed;
  deadNodes: DeadNodes;
  nodeId: string;
}

/**
 * Opens the store on PostgreSQL, which several gateways may share. Its guarantees, without Redis:
 *
 * - Wallets and quotas count the holds of all nodes: each hold is decided by the statement that writes it
 *   (`guard`), one node after another, so that no call is let in once nothing is available.
 * - A call is charged once, whichever node ends it; a node that dies leaves its open calls to the others.
 * - Keys, accounts and credits changed on one node are known on the others within a second.
 * - Limits per minute count in each process: n nodes let through up to n times as many. For exact ones there is Redis.
 */
export async function openPostgres({
  url,
  now,
  timeoutMs = timeoutMsDefault,
  deadAfterMs = deadAfterMsDefault,
}: PostgresOptions): Promise<Store> {
  const parts = createParts(url, timeoutMs, deadAfterMs);
  try {
    await migrate(parts.db, "postgres", now);
    await Promise.all([parts.writes.open(), parts.reads.open()]);
    // No call waits for this one.
    await parts.changes.poll(parts.reads, connectWaitMs);
    return createStore(parts, timeoutMs, now);
  } catch (error) {
    await closeAll(parts);
    throw error instanceof StoreError ? error : cannotOpen(url, error);
  }
}

function createParts(url: string, timeoutMs: number, deadAfterMs: number): Parts {
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
    deadNodes: new DeadNodes(db, { nodeId, deadAfterMs, connectionOf: connectionName("reads", "") }),
    writes: new OrderedConnection({
      url,
      timeoutMs,
      name: connectionName("writes", nodeId),
      onConnect: async (client) => void (await client.query(byKeys)),
    }),
    reads: new OrderedConnection({
      url,
      timeoutMs,
      name: connectionName("reads", nodeId),
      onConnect: (it) => changes.listen(it),
    }),
    changes,
    nodeId,
  };
}

function createStore(parts: Parts, timeoutMs: number, now: () => number): Store {
  const { db, writes, reads, changes, deadNodes, nodeId } = parts;
  let closed = false;
  return {
    db,
    shared: true,
    nodeId,
    blobs: blobsWithTimeout(createBlobs(db, now), timeoutMs),
    get revision() {
      return changes.revision;
    },
    writeLedger: (batch) => writeBatch(writes, nodeId, batch),
    readBalance: (accountId, budgetQuery) => readBalance(writes, accountId, budgetQuery),
    ask: (query) => ask(reads, query),
    readKey: keyReader(db, reads),
    abandonCalls: (at) => deadNodes.abandonCalls(at),
    change: (work) => changes.change(db, work),
    bumpRevision() {
      changes.revision += 1;
    },
    pollExternalChange() {
      if (closed) return false;
      // On failure the connection recovers by itself, and all cached copies are invalidated.
      changes.poll(reads).catch(() => undefined);
      return changes.takeExternalChange();
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

function connectionName(connection: "writes" | "reads", nodeId: string): string {
  return `modelgate ${connection} ${nodeId}`;
}

async function closeAll({ db, writes, reads }: Parts): Promise<void> {
  await Promise.all([writes.close(), reads.close(), db.destroy()]);
}

function cannotOpen(url: string, error: unknown): StoreError {
  const reason = error instanceof AggregateError ? (error.errors[0] as Error).message : (error as Error).message;
  return new StoreError(`Cannot open the database ${shownUrl(url)}: ${reason}`, error);
}

/** Calls wait for files, so these have the timeout of calls. No call waits for pruning. */
function blobsWithTimeout(blobs: Blobs, timeoutMs: number): Blobs {
  return {
    put: (blob) => within(timeoutMs, blobs.put(blob)),
    get: (id) => within(timeoutMs, blobs.get(id)),
    prune: (now) => blobs.prune(now),
  };
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new LostConnection(`PostgreSQL did not answer within ${timeoutMs} ms`, true)),
    timeoutMs,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { createBlobs } from "../blobs.ts";
import { StoreError } from "../errors.ts";
import { createIdempotencyKeys } from "../idempotency-keys.ts";
import { migrate } from "../migrate.ts";
import { PostgresNames } from "../names.ts";
import type { Database } from "../schema.ts";
import { readSetting, type Store } from "../store.ts";
import { addSharedUsage } from "../usage-sums.ts";
import { ChangeFeed } from "./change-feed.ts";
import { DeadNodes } from "./dead-nodes.ts";
import { connectionOptions, OrderedConnection, type OrderedConnectionOptions, shownUrl } from "./ordered-connection.ts";
import { ask, createKeyReader, readBalance, readBudgets, readSpent } from "./readers.ts";
import { writeLedger } from "./write-ledger.ts";

/** Keeps the whole call overhead below a quarter of a second. */
const timeoutMsDefault = 200;
/** No call waits for a heartbeat, and a slow one is better than none. */
const heartbeatMsMin = 1000;
/** At most a hundred queries a second look up ids that may be made up. */
const unprovenPauseMs = 10;
/** Images of many megabytes take a while. */
const blobMsMin = 10_000;
/** Connections for everything that no call waits for; each gateway has four more, and a fifth once it stores images. */
const poolMax = 6;
const connectWaitMs = 5000;
const deadAfterMsDefault = 30_000;

/** Queries that calls wait for go by an index. Without this a cached plan may be one made for tables that were still small. */
const onConnect = async (client: pg.Client) => void (await client.query("set enable_seqscan = off"));

interface PostgresOptions {
  url: string;
  timeoutMs?: number | undefined;
  deadAfterMs?: number | undefined;
  now: () => number;
}

interface Parts {
  db: Kysely<Database>;
  /** A queue of its own for each purpose, so that no one of them delays another. */
  connections: Record<"writes" | "reads" | "unproven" | "heartbeat" | "blobs", OrderedConnection>;
  changes: ChangeFeed;
  deadNodes: DeadNodes;
  nodeId: string;
}

/**
 * Opens the store on PostgreSQL, which several gateways may share. Its guarantees, without Redis:
 *
 * - Wallets and quotas count the holds of all nodes: the statement that writes a hold also decides about it
 *   (`guard`), one node after another, so that no call is admitted once nothing is available.
 * - A call is charged once, whichever node ends it; a node that dies leaves its open calls to the others.
 * - Keys, accounts and credits changed on one node are known on the others within a second.
 * - Limits per minute count in each process: n nodes admit up to n times as many. Redis makes them exact.
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
    const { writes, reads, unproven, heartbeat } = parts.connections;
    await Promise.all([writes, reads, unproven, heartbeat].map((connection) => connection.open()));
    await parts.changes.poll(heartbeat, connectWaitMs);
    return createStore(parts, now);
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
  // An idle connection that is lost is replaced when it is needed.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    // A connection that is lost in use fails its query; without a listener it would also end the process.
    client.on("error", () => undefined);
    // To compile a query that has many sums takes longer than to run it.
    client.query("set jit = off").catch(() => undefined);
  });
  const changes = new ChangeFeed(nodeId);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  const connect = (purpose: string, options: Partial<OrderedConnectionOptions> = {}) =>
    new OrderedConnection({ url, timeoutMs, name: `modelgate ${purpose} ${nodeId}`, ...options });
  return {
    db,
    connections: {
      writes: connect("writes", { onConnect }),
      reads: connect("reads", { onConnect }),
      unproven: connect("unproven", { onConnect }),
      heartbeat: connect("heartbeat", {
        timeoutMs: Math.max(timeoutMs, heartbeatMsMin),
        onConnect: (client) => changes.listen(client),
      }),
      blobs: connect("blobs", { timeoutMs: Math.max(timeoutMs, blobMsMin), connectsWhenUsed: true }),
    },
    deadNodes: new DeadNodes(db, { nodeId, deadAfterMs }),
    changes,
    nodeId,
  };
}

function createStore(parts: Parts, now: () => number): Store {
  const { db, connections, changes, deadNodes, nodeId } = parts;
  const { writes, reads, unproven, heartbeat, blobs } = connections;
  const target = { connection: writes, names: new PostgresNames(writes), nodeId };
  const readKey = createKeyReader(db, reads);
  const readUnprovenKey = createKeyReader(db, unproven, { pauseMs: unprovenPauseMs });
  const readForeignKey = createKeyReader(db, unproven, { pauseMs: unprovenPauseMs, column: "foreign_hash" });
  let closed = false;
  return {
    db,
    shared: true,
    nodeId,
    blobs: createBlobs(db, now, (query) => ask(blobs, query)),
    idempotencyKeys: createIdempotencyKeys({ db, now, sharedNodeId: nodeId }),
    get revision() {
      return changes.revision;
    },
    writeLedger: (batch) => writeLedger(target, batch),
    addUsage: (rows, step) => addSharedUsage(db, rows, step),
    readBalance: (accountId, budgetQuery) => readBalance(writes, accountId, budgetQuery),
    readSpent: (accountId, sinceDay) => readSpent(writes, accountId, sinceDay),
    readBudgets: (accountId, draws) => readBudgets(writes, accountId, draws),
    ask: (query) => ask(reads, query),
    readKey: (keyId, isUnproven = false) => (isUnproven ? readUnprovenKey : readKey)(keyId),
    readForeignKey,
    abandonCalls: (at) => deadNodes.abandonCalls(at),
    change: (work, keyId) => changes.change(db, work, keyId),
    onKeyChange: (listener) => changes.onKeyChange(listener),
    endCall: (callId) => changes.endCall(db, callId),
    onEndCall: (listener) => changes.onEndCall(listener),
    bumpRevision() {
      changes.revision += 1;
    },
    pollExternalChange() {
      if (closed) return false;
      // After a failure the connection is opened again, and all cached copies are invalidated.
      changes.poll(heartbeat).catch(() => undefined);
      return changes.takeExternalChange();
    },
    trouble: () => (writes.isOpen ? undefined : "PostgreSQL does not answer, so no call can be recorded"),
    setting: (name, make) => readSetting(db, name, make),
    async close() {
      if (closed) return;
      closed = true;
      await heartbeat.query({ text: "delete from nodes where id = $1", values: [nodeId] }).catch(() => undefined);
      await closeAll(parts);
    },
  };
}

async function closeAll({ db, connections }: Parts): Promise<void> {
  await Promise.all([...Object.values(connections).map((connection) => connection.close()), db.destroy()]);
}

function cannotOpen(url: string, error: unknown): StoreError {
  const { code, message } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException;
  return new StoreError(`Cannot open the database ${shownUrl(url)}: ${message}${findAdvice(code)}`, error);
}

/** Advice, where there is any: an answer of PostgreSQL has its SQLSTATE, a connection that fails has none. */
function findAdvice(code: string | undefined): string {
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code))
    return "; see that PostgreSQL runs there and that DATABASE_URL is right";
  if (code === "42501") return "; let its user create tables there";
  return /^(28|3D)/.test(code) ? "; see that user, password and database in DATABASE_URL are right" : "";
}

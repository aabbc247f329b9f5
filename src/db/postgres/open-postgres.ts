import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect } from "kysely";
import type pg from "pg";
import { createBlobs } from "../blobs.ts";
import { describeFailure, NotWritableError, StoreError, UnknownPayerError } from "../errors.ts";
import { createIdempotencyKeys } from "../idempotency-keys.ts";
import { migrate } from "../migrate.ts";
import type { Database } from "../schema.ts";
import { readSetting, type Store, type StoreReport } from "../store.ts";
import { addSharedUsage } from "../usage-sums.ts";
import { ChangeFeed } from "./change-feed.ts";
import { DeadNodes } from "./dead-nodes.ts";
import { Lease } from "./lease.ts";
import { OrderedConnection, type OrderedConnectionOptions } from "./ordered-connection.ts";
import { isOutOfConnections, Primary } from "./primary.ts";
import { ProvenPool } from "./proven-pool.ts";
import { ask, createKeyReader, readBalance, readBudgets } from "./readers.ts";
import { LedgerWriter } from "./write-ledger.ts";

/** As long as a client waits without noticing: a checkpoint or a moved disk holds a server up for a second. */
const timeoutMsDefault = 2000;
/** No call waits for a heartbeat, and a slow one is better than none. */
const heartbeatMsMin = 1000;
/** At most a hundred queries a second look up ids that may be made up. */
const unprovenPauseMs = 10;
/** Images of many megabytes take a while. */
const blobMsMin = 10_000;
const connectWaitMs = 5000;
/** How long the start waits for a free connection, and how often it tries. */
const freeWaitMs = 30_000;
const freePauseMs = 500;
const deadAfterMsDefault = 30_000;

/** Queries that calls wait for go by an index. Without this a cached plan may be one made for tables that were still small. */
const onConnect = async (client: pg.Client) => void (await client.query("set enable_seqscan = off"));

interface PostgresOptions {
  url: string;
  timeoutMs?: number | undefined;
  deadAfterMs?: number | undefined;
  now: () => number;
  report: StoreReport;
}

interface Parts {
  primary: Primary;
  pool: ProvenPool;
  db: Kysely<Database>;
  /** One queue per purpose: no purpose delays another. */
  connections: Record<"writes" | "reads" | "unproven" | "heartbeat" | "blobs", OrderedConnection>;
  writer: LedgerWriter;
  settings: KnownSettings;
  changes: ChangeFeed;
  lease: Lease;
  deadNodes: DeadNodes;
  nodeId: string;
  timeoutMs: number;
}

/**
 * Opens the store on PostgreSQL, which several gateways may share. Its guarantees, without Redis:
 *
 * - Wallets and quotas count the holds of all nodes: the statement that writes a hold also decides about it (`guard`),
 *   one node after another, so no call is admitted when nothing is available.
 * - A call is charged once, whichever node ends it; a node that dies leaves its open calls to the others.
 * - Changes of keys, accounts and credits on one node reach the others within a second.
 * - Limits per minute count in each process: n nodes admit up to n times as many. Redis makes them exact.
 * - Every connection has proved that it leads to the server that takes writes. Data read by a connection that was lost,
 *   or from a database that turns out to be a different one, is read again.
 */
export async function openPostgres({
  url,
  now,
  report,
  timeoutMs = timeoutMsDefault,
  deadAfterMs = deadAfterMsDefault,
}: PostgresOptions): Promise<Store> {
  const parts = createParts({ url, timeoutMs, deadAfterMs, report });
  try {
    // In a rollout the gateways that end have not given their connections back yet.
    const whenFree = createPatience(report);
    await whenFree(() => migrate(parts.db, "postgres", now));
    const { writes, reads, unproven, heartbeat } = parts.connections;
    const sessions = [writes, reads, unproven, heartbeat];
    await Promise.all(sessions.map((connection) => whenFree(() => connection.open())));
    await refuseTransactionPool(sessions);
    await parts.changes.poll(heartbeat, parts.primary, connectWaitMs);
    return createStore(parts, now);
  } catch (error) {
    await closeAll(parts);
    throw error instanceof StoreError ? error : cannotOpen(parts.primary, error);
  }
}

/** Returns a function that tries a step of the start again while the server has no free connection. */
function createPatience(report: StoreReport): <T>(step: () => Promise<T>) => Promise<T> {
  const deadlineMs = performance.now() + freeWaitMs;
  let isReported = false;
  return async (step) => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!isOutOfConnections(error) || performance.now() > deadlineMs) throw error;
        if (!isReported) report("database_full_of_connections", { waitSeconds: freeWaitMs / 1000 });
        isReported = true;
        await sleep(freePauseMs);
      }
    }
  };
}

/**
 * A pooler that gives each transaction whatever session is free loses prepared statements, `LISTEN` and settings. Sessions that are
 * open at the same time have processes of their own, and keep them.
 *
 * @throws {StoreError} For such a pooler.
 */
async function refuseTransactionPool(sessions: readonly OrderedConnection[]): Promise<void> {
  const pids: number[] = [];
  for (const connection of [...sessions, ...sessions]) {
    const { rows } = await connection.query<{ pid: number }>({ text: "select pg_backend_pid() as pid" });
    pids.push((rows[0] as { pid: number }).pid);
  }
  const first = pids.slice(0, sessions.length);
  const isStable = first.every((pid, place) => pids[place + sessions.length] === pid);
  if (isStable && new Set(first).size === sessions.length) return;
  throw new StoreError(
    "Cannot use this database: DATABASE_URL leads to a pooler that pools transactions; name its address for session pooling, or PostgreSQL itself",
  );
}

type ConnectOptions = Pick<PostgresOptions, "url" | "report"> & { timeoutMs: number; deadAfterMs: number };

function createParts({ url, timeoutMs, deadAfterMs, report }: ConnectOptions): Parts {
  const nodeId = crypto.randomUUID();
  const lease = new Lease(nodeId, () => report("lease_lost", {}));
  const changes = new ChangeFeed(nodeId, lease);
  const primary = openPrimary(url, (differences) => {
    report("database_changed", { reason: differences.join("; ") });
    writer.forget();
    changes.invalidate();
    renew();
    settings.isKnown = false;
  });
  const onReconnected = () => changes.invalidate();
  const onRefused = () => {
    report("database_refuses_writes", {});
    renew();
  };
  const pool = new ProvenPool({ primary, name: "modelgate", onRefused });
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  const connect = (purpose: string, options: Partial<OrderedConnectionOptions> = {}) =>
    new OrderedConnection({
      primary,
      timeoutMs,
      name: `modelgate ${purpose} ${nodeId}`,
      onReconnected,
      onRefused,
      ...options,
    });
  const connections = {
    writes: connect("writes", { onConnect }),
    reads: connect("reads", { onConnect }),
    unproven: connect("unproven", { onConnect }),
    heartbeat: connect("heartbeat", {
      timeoutMs: Math.max(timeoutMs, heartbeatMsMin),
      onConnect: (client) => changes.listen(client),
    }),
    blobs: connect("blobs", { timeoutMs: Math.max(timeoutMs, blobMsMin), connectsWhenUsed: true }),
  };
  const renew = () => {
    for (const connection of Object.values(connections)) connection.renew();
  };
  const writer = new LedgerWriter(connections.writes, nodeId, lease);
  const settings = new KnownSettings(db, report);
  return {
    primary,
    pool,
    db,
    connections,
    writer,
    settings,
    deadNodes: new DeadNodes(db, { nodeId, lease, deadAfterMs }),
    changes,
    lease,
    nodeId,
    timeoutMs,
  };
}

function openPrimary(...options: ConstructorParameters<typeof Primary>): Primary {
  try {
    return new Primary(...options);
  } catch (error) {
    throw new StoreError(`Cannot open the database: the URL cannot be used: ${(error as RangeError).message}`, error);
  }
}

/**
 * Values of `settings` that the gateway was built with, such as its secrets. A database that lacks them is an older one and gets
 * them back; one that has others is another gateway's, and this gateway is not ready as long as it has come to that one.
 */
class KnownSettings {
  readonly #db: Kysely<Database>;
  readonly #report: StoreReport;
  readonly #values = new Map<string, string>();
  #foreign: string | undefined;
  #isChecking = false;
  /** Whether the database is known to have these values. */
  isKnown = true;

  constructor(db: Kysely<Database>, report: StoreReport) {
    this.#db = db;
    this.#report = report;
  }

  /** A setting whose value is another one than this process knows. */
  get foreign(): string | undefined {
    return this.#foreign;
  }

  async read(name: string, make: () => string): Promise<string> {
    const value = await readSetting(this.#db, name, make);
    this.#values.set(name, value);
    return value;
  }

  /**
   * Compares the cached values with the values in the database. For a timer: it fails while a backup is being restored.
   */
  async check(): Promise<void> {
    if (this.isKnown || this.#isChecking) return;
    this.#isChecking = true;
    try {
      this.isKnown = true;
      let foreign: string | undefined;
      for (const [name, known] of this.#values) {
        if ((await readSetting(this.#db, name, () => known)) !== known) foreign ??= name;
      }
      if (foreign !== undefined && this.#foreign === undefined) this.#report("database_foreign", { setting: foreign });
      this.#foreign = foreign;
    } catch {
      this.isKnown = false;
    } finally {
      this.#isChecking = false;
    }
  }
}

function createStore(parts: Parts, now: () => number): Store {
  const { db, connections, writer, settings, changes, lease, deadNodes, nodeId } = parts;
  const { writes, reads, unproven, heartbeat, blobs } = connections;
  const readKey = createKeyReader(db, reads);
  const readUnprovenKey = createKeyReader(db, unproven, { pauseMs: unprovenPauseMs });
  const readForeignKey = createKeyReader(db, unproven, { pauseMs: unprovenPauseMs, column: "foreign_hash" });
  let closed = false;
  return {
    db,
    shared: true,
    nodeId,
    callWaitMs: parts.timeoutMs,
    blobs: createBlobs(db, now, (query) => ask(blobs, query)),
    idempotencyKeys: createIdempotencyKeys({ db, now, sharedNodeId: nodeId }),
    get revision() {
      return changes.revision;
    },
    get epoch() {
      return parts.primary.epoch;
    },
    writeLedger: (batch) =>
      writer.write(batch).catch((error) => {
        // A key that was read before the database lost it is still taken for one.
        if (error instanceof UnknownPayerError) changes.invalidate();
        throw error;
      }),
    tryWrite: () => writer.tryWrite(),
    addUsage: (rows, step) => addSharedUsage({ db, readEpoch: () => parts.primary.epoch }, rows, step),
    readBalance: (accountId, today) => readBalance(writes, accountId, today),
    readBudgets: (owner, draws) => readBudgets(writes, owner, draws),
    ask: (query) => ask(reads, query),
    readKey: (keyId, isUnproven = false) => (isUnproven ? readUnprovenKey : readKey)(keyId),
    readForeignKey,
    abandonCalls: (at, isRunning) => deadNodes.abandonCalls(at, isRunning),
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
      changes.poll(heartbeat, parts.primary).catch(() => undefined);
      void settings.check();
      // A look-up that failed is tried again, with a key that nobody has.
      if (reads.failure !== undefined) readKey("").catch(() => undefined);
      if (unproven.failure !== undefined) readUnprovenKey("").catch(() => undefined);
      return changes.takeExternalChange();
    },
    reportNode(read) {
      lease.report = read;
    },
    get heartbeatAgeMs() {
      return changes.beatAtMs === undefined ? undefined : performance.now() - changes.beatAtMs;
    },
    trouble: () => findTrouble(parts),
    degraded() {
      const sentence = "PostgreSQL gives no more connections: pages, and requests with an Idempotency-Key, are refused";
      return parts.pool.failure === undefined ? [] : [sentence];
    },
    setting: (name, make) => settings.read(name, make),
    async close() {
      if (closed) return;
      closed = true;
      await heartbeat.query({ text: "delete from nodes where id = $1", values: [nodeId] }).catch(() => undefined);
      await closeAll(parts);
    },
  };
}

/** Why no call can be recorded, or no key be looked up. */
function findTrouble({ connections: { writes, reads, unproven }, settings, changes }: Parts): string | undefined {
  if (settings.foreign !== undefined) {
    return "The database is not the one that this gateway was started with: restart it, or correct DATABASE_URL";
  }
  const recording = writes.isOpen ? changes.failure : writes.failure;
  if (recording !== undefined || !writes.isOpen) return `${describeFailure(recording)}, so no call can be recorded`;
  const looking = [reads, unproven].find(({ isOpen, failure }) => !isOpen || failure !== undefined);
  return looking && `${describeFailure(looking.failure)}, so no API key can be checked`;
}

async function closeAll({ db, connections }: Parts): Promise<void> {
  await Promise.all([...Object.values(connections).map((connection) => connection.close()), db.destroy()]);
}

function cannotOpen({ shownUrl }: Primary, error: unknown): StoreError {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = first as NodeJS.ErrnoException;
  const { message } = (error instanceof AggregateError && error.message !== "" ? error : first) as Error;
  const advice =
    first instanceof NotWritableError
      ? "; name the primary in DATABASE_URL, or all servers of the cluster, separated by commas"
      : findAdvice(code);
  return new StoreError(`Cannot open the database ${shownUrl}: ${message}${advice}`, error);
}

/**
 * Returns advice for an error of PostgreSQL or of the connection. PostgreSQL's errors have an SQLSTATE; connection
 * errors do not.
 */
function findAdvice(code: string | undefined): string {
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code))
    return "; see that PostgreSQL runs there and that DATABASE_URL is right";
  if (code === "42501") return "; let its user create tables there";
  return /^(28|3D)/.test(code) ? "; see that user, password and database in DATABASE_URL are right" : "";
}

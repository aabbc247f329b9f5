import { clearTimeout, setTimeout } from "node:timers";
import pg, { type QueryConfig, type QueryResult, type QueryResultRow } from "pg";
import { LostConnectionError } from "../errors.ts";
import { connectionOptions, isEndOfConnection, mergeErrors, type Primary, type Server } from "./primary.ts";

/** Options of {@link OrderedConnection}. */
export interface OrderedConnectionOptions {
  primary: Primary;
  /** Unique among live connections, so that a lost one can be found on the server. */
  name: string;
  /** How long a statement may take from its sending before the connection counts as lost, and wait for its turn. */
  timeoutMs: number;
  /** Connects when the first statement comes, which waits for that. */
  connectsWhenUsed?: boolean;
  /** Prepares each new connection before anything else runs on it. */
  onConnect?(client: pg.Client): Promise<void>;
  /** Called with each connection after the first: whatever was learned by the last one may be so no longer. */
  onReconnected?(): void;
  /** Called when the server says that it takes no writes, which it had proved to do. */
  onRefused?(): void;
}

/** How a statement is run. */
interface QueryOptions {
  /** Default: that of the connection. */
  readonly timeoutMs?: number | undefined;
  /** The connection that the statement is meant for, by {@link OrderedConnection.generation}: it fails on any other. */
  readonly generation?: number;
}

/** A connection as long as it lives: statements fail rather than run on the next one. */
export interface PinnedConnection {
  readonly generation: number;
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>>;
}

const connectWaitMs = 2000;
const reconnectMsMin = 50;
const reconnectMsMax = 1000;
/** How long a lost connection may take to end on the server. */
const fenceWaitMs = 2000;

/**
 * One connection to the server of PostgreSQL that takes writes, on which statements run in order. A statement that is not answered
 * in time fails, and the connection with it, as it does when the server says that it cannot serve; a statement that has waited too
 * long for its turn fails alone. Without a connection statements fail at once.
 */
export class OrderedConnection {
  readonly #options: OrderedConnectionOptions;
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = reconnectMsMin;
  /** The server process of a lost connection, which may still run what it was sent. */
  #left: number | undefined;
  #cause: unknown;
  #failure: unknown;
  /** Resolves when all statements so far have been answered. */
  #last: Promise<void> = Promise.resolve();
  #unanswered = 0;
  #closed = false;
  /** The epoch of the primary that this connection has proved to belong to. */
  #epoch = 0;
  /** Counts connections. */
  generation = 0;

  constructor(options: OrderedConnectionOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** Why there is no connection, or why the last statement lost its connection; undefined when neither is so. */
  get failure(): unknown {
    return this.#client === undefined ? (this.#cause ?? this.#failure) : this.#failure;
  }

  /** Connects or fails; after that it reconnects by itself. */
  open(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
      // It may have been lost while it was made.
      if (this.generation > 0 && this.#client === undefined) this.#reconnectLater();
    });
    return this.#connecting;
  }

  async query<Row extends QueryResultRow>(
    statement: QueryConfig,
    { timeoutMs = this.#options.timeoutMs, generation }: QueryOptions = {},
  ): Promise<QueryResult<Row>> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = done.promise;
    this.#unanswered += 1;
    try {
      if (this.#unanswered > 1) await waitForTurn(before, timeoutMs);
      return await this.#send<Row>(statement, timeoutMs, generation);
    } finally {
      this.#unanswered -= 1;
      // The statements before one that gave up waiting still run.
      void before.then(done.resolve);
    }
  }

  /** This connection alone, not the one that follows when it is lost. */
  pin(): PinnedConnection {
    const { generation } = this;
    return { generation, query: (statement) => this.query(statement, { generation }) };
  }

  /** Connects anew, unless that has happened since the primary's epoch began. */
  renew(): void {
    if (this.#epoch !== this.#options.primary.epoch) this.#lose(this.#client, new Error("The server may be another"));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#connecting?.catch(() => undefined);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #connect(): Promise<void> {
    const errors: unknown[] = [];
    for (const server of this.#options.primary.candidates()) {
      if (this.#closed) return;
      try {
        return await this.#connectTo(server);
      } catch (error) {
        errors.push(error);
      }
    }
    this.#cause = mergeErrors(errors);
    throw this.#cause;
  }

  async #connectTo(server: Server): Promise<void> {
    const { primary, name, onConnect, onReconnected } = this.#options;
    const client = new pg.Client({ ...connectionOptions(server, name), connectionTimeoutMillis: connectWaitMs });
    client.on("error", (error) => this.#lose(client, error));
    const timer = setTimeout(() => client.connection.stream.destroy(), connectWaitMs + fenceWaitMs);
    try {
      await client.connect();
      await primary.prove(client, server);
      this.#epoch = primary.epoch;
      await this.#fence(client);
      await onConnect?.(client);
    } catch (error) {
      client.connection.stream.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (this.#closed) return client.end();
    this.#client = client;
    this.#cause = undefined;
    this.generation += 1;
    if (this.generation > 1) onReconnected?.();
    this.renew();
  }

  /** Ends the server's side of the lost connection, so that nothing it was sent runs after what is sent now. */
  async #fence(client: pg.Client): Promise<void> {
    if (this.#left === undefined) return;
    await client.query(
      `select pg_terminate_backend(pid, ${fenceWaitMs - 500}) from pg_stat_activity where pid = $1 and application_name = $2`,
      [this.#left, this.#options.name],
    );
    this.#left = undefined;
  }

  async #send<Row extends QueryResultRow>(
    statement: QueryConfig,
    timeoutMs: number,
    generation: number | undefined,
  ): Promise<QueryResult<Row>> {
    // If this fails, the statement does, with the same cause.
    if (this.#client === undefined && this.#options.connectsWhenUsed) await this.open().catch(() => undefined);
    const client = this.#client;
    if (client === undefined) {
      this.#reconnectLater();
      throw new LostConnectionError("PostgreSQL is not connected", false, this.#cause);
    }
    if (generation !== undefined && generation !== this.generation) {
      throw new LostConnectionError("The connection to PostgreSQL is another one", false);
    }
    const timer = setTimeout(() => this.#lose(client, silence(timeoutMs)), timeoutMs);
    try {
      const result = await client.query<Row>(statement);
      this.#retryMs = reconnectMsMin;
      this.#failure = undefined;
      return result;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) {
        const cause = this.#cause ?? error;
        this.#failure = cause;
        throw new LostConnectionError("The connection to PostgreSQL was lost", true, cause);
      }
      if (isEndOfConnection(error)) {
        this.#failure = error;
        const isRefused = this.#options.primary.refuse(error, this.#epoch);
        this.#lose(client, error);
        if (isRefused) this.#options.onRefused?.();
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #lose(client: pg.Client | undefined, cause: unknown): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    this.#cause = cause;
    this.#left = (client as unknown as { processID: number | null }).processID ?? undefined;
    client.connection.stream.destroy();
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#closed || this.#retry !== undefined || this.#connecting !== undefined) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.open().catch(() => this.#reconnectLater());
    }, this.#retryMs);
    this.#retry.unref();
    this.#retryMs = Math.min(reconnectMsMax, this.#retryMs * 2);
  }
}

async function waitForTurn(before: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const error = new LostConnectionError(`PostgreSQL was busy with earlier statements for ${ms} ms`, false);
  const timer = setTimeout(() => late.reject(error), ms);
  try {
    await Promise.race([before, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function silence(ms: number): Error {
  return new Error(`PostgreSQL did not answer within ${ms} ms`);
}

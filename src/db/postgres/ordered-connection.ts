import { clearTimeout, setTimeout } from "node:timers";
import pg, { type QueryConfig, type QueryResult, type QueryResultRow } from "pg";
import { LostConnectionError } from "../errors.ts";
import { whenLate } from "../when-late.ts";
import { connectionOptions, isEndOfConnection, mergeErrors, type Primary, type Server } from "./primary.ts";

/** Options of {@link OrderedConnection}. */
export interface OrderedConnectionOptions {
  primary: Primary;
  /** Unique among live connections: finds a lost connection on the server. */
  name: string;
  /**
   * How long a statement may take, with its wait in the queue. The connection outlives a late answer, see
   * {@link lostFactor}.
   */
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
  /** How long it is waited for; by default as long as {@link OrderedConnectionOptions.timeoutMs} says. */
  readonly timeoutMs?: number | undefined;
  /** The connection that the statement is meant for, by {@link OrderedConnection.generation}: it fails on any other. */
  readonly generation?: number;
}

/** A statement whose turn it is. */
interface Sending {
  readonly statement: QueryConfig;
  /** The time that is left for it. */
  readonly restMs: number;
  readonly timeoutMs: number;
  /** Called once it is answered, or never will be. */
  finish(): void;
}

/**
 * A connection as long as it lives: statements fail rather than run on the next one, and are waited for until it is lost, because
 * their caller has a deadline of its own.
 */
export interface PinnedConnection {
  readonly generation: number;
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>>;
}

/** A statement that is not answered for this many times as long as it is waited for has lost its connection. */
const lostFactor = 3;
const connectWaitMs = 2000;
const reconnectMsMin = 50;
const reconnectMsMax = 1000;
/** How long a lost connection may take to end on the server. */
const fenceWaitMs = 2000;

/** How long a statement may go unanswered before its connection counts as lost, where statements are waited for so long. */
function lostMsOf(timeoutMs: number): number {
  return timeoutMs * lostFactor;
}

/**
 * One connection to the PostgreSQL server that takes writes. Its statements run in order. A statement without an answer
 * in time fails alone: the connection keeps waiting, so a server that was frozen for a moment continues where it was.
 * The connection is lost after a longer silence, and when the server reports that it cannot serve. Without a
 * connection, statements fail at once.
 */
export class OrderedConnection {
  readonly #options: OrderedConnectionOptions;
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = reconnectMsMin;
  /** The server process of the connection, or of the last one. */
  #pid: number | undefined;
  /** The server process of a lost connection; it may still run the statements that it received. */
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

  /** Why there is no connection, or why the last statement was late or lost its connection; undefined when none is so. */
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
    const finish = () => {
      this.#unanswered -= 1;
      // The statements before one that gave up waiting still run.
      void before.then(done.resolve);
    };
    let client: pg.Client;
    let restMs = timeoutMs;
    try {
      if (this.#unanswered > 1) restMs = await waitForTurn(before, timeoutMs);
      client = await this.#take(generation);
    } catch (error) {
      finish();
      throw error;
    }
    return await this.#send<Row>(client, { statement, restMs, timeoutMs, finish });
  }

  /** This connection alone, not the one that follows when it is lost. */
  pin(): PinnedConnection {
    const { generation } = this;
    const timeoutMs = lostMsOf(this.#options.timeoutMs);
    return { generation, query: (statement) => this.query(statement, { generation, timeoutMs }) };
  }

  /** Reconnects, unless that has happened since the primary's epoch began. */
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
      const pid = await primary.prove(client, server);
      this.#epoch = primary.epoch;
      await this.#fence(client);
      this.#pid = pid;
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

  /** Ends the lost connection on the server: nothing sent on it may run after statements that are sent now. */
  async #fence(client: pg.Client): Promise<void> {
    if (this.#left === undefined) return;
    await client.query(
      `select pg_terminate_backend(pid, ${fenceWaitMs - 500}) from pg_stat_activity where pid = $1 and application_name = $2`,
      [this.#left, this.#options.name],
    );
    this.#left = undefined;
  }

  /** The connection for a statement whose turn it is. */
  async #take(generation: number | undefined): Promise<pg.Client> {
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
    return client;
  }

  /** The answer, or a failure when it is late; it is waited for all the same, and the next statement with it. */
  #send<Row extends QueryResultRow>(
    client: pg.Client,
    { statement, restMs, timeoutMs, finish }: Sending,
  ): Promise<QueryResult<Row>> {
    const lostMs = Math.max(timeoutMs, lostMsOf(this.#options.timeoutMs));
    return new Promise((resolve, reject) => {
      const lose = () => this.#lose(client, silence(lostMs));
      const beLate = () => {
        if (isAnswered) return;
        timer = setTimeout(lose, lostMs - restMs);
        const cause = silence(timeoutMs);
        this.#failure = cause;
        reject(new LostConnectionError("PostgreSQL is late", true, cause));
      };
      let isAnswered = false;
      let timer = restMs < lostMs ? whenLate(restMs, beLate) : setTimeout(lose, lostMs);
      client.query<Row>(statement).then(
        (result) => {
          isAnswered = true;
          clearTimeout(timer);
          this.#retryMs = reconnectMsMin;
          this.#failure = undefined;
          finish();
          resolve(result);
        },
        (error) => {
          isAnswered = true;
          clearTimeout(timer);
          finish();
          reject(this.#judge(client, error));
        },
      );
    });
  }

  /** Returns the error of a statement after acting on its meaning for the connection. */
  #judge(client: pg.Client, error: unknown): unknown {
    if (!(error instanceof pg.DatabaseError)) {
      const cause = this.#cause ?? error;
      this.#failure = cause;
      return new LostConnectionError("The connection to PostgreSQL was lost", true, cause);
    }
    // The server answers, though late.
    if (!isEndOfConnection(error)) {
      this.#failure = undefined;
      return error;
    }
    this.#failure = error;
    const isRefused = this.#options.primary.refuse(error, this.#epoch);
    this.#lose(client, error);
    if (isRefused) this.#options.onRefused?.();
    return error;
  }

  #lose(client: pg.Client | undefined, cause: unknown): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    this.#cause = cause;
    this.#left = this.#pid;
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

/** Returns how much of the time is left. */
async function waitForTurn(before: Promise<void>, ms: number): Promise<number> {
  const deadlineMs = performance.now() + ms;
  const late = Promise.withResolvers<never>();
  const error = new LostConnectionError(`PostgreSQL was busy with earlier statements for ${ms} ms`, false);
  const timer = setTimeout(() => late.reject(error), ms);
  try {
    await Promise.race([before, late.promise]);
    return Math.max(0, deadlineMs - performance.now());
  } finally {
    clearTimeout(timer);
  }
}

function silence(ms: number): Error {
  return new Error(`PostgreSQL did not answer within ${ms} ms`);
}

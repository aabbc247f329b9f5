import { clearTimeout, setTimeout } from "node:timers";
import pg, { type ClientConfig, type QueryConfig, type QueryResult, type QueryResultRow } from "pg";
import { LostConnection } from "../errors.ts";

/** Options of {@link OrderedConnection}. */
export interface OrderedConnectionOptions {
  url: string;
  /** Unique among live connections, so that a lost one can be found on the server. */
  name: string;
  /** How long a statement may take before the connection counts as lost. */
  timeoutMs: number;
  /** Prepares each new connection before anything else runs on it. */
  onConnect?(client: pg.Client): Promise<void>;
}

const connectWaitMs = 2000;
const reconnectMsMin = 50;
const reconnectMsMax = 1000;
/** How long a connection of before may take to end on the server. */
const fenceWaitMs = 2000;

/**
 * One connection to PostgreSQL, on which statements run in the order in which they were asked for. A statement that is
 * not answered in time fails, and the connection with it; while there is none, statements fail at once.
 */
export class OrderedConnection {
  readonly #options: OrderedConnectionOptions;
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = reconnectMsMin;
  /** The server's process of a connection that was lost, which may still be about to run what it was sent. */
  #left: number | undefined;
  #cause: unknown;
  /** Settles when the last statement asked for has been answered. */
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: OrderedConnectionOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** Connects or fails; after that it reconnects by itself. */
  open(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** `patienceMs` where it may take longer than a call waits. */
  async query<Row extends QueryResultRow>(
    statement: QueryConfig,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<QueryResult<Row>> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = done.promise;
    const timer = setTimeout(() => this.#lose(this.#client, silence(timeoutMs)), timeoutMs);
    try {
      await before;
      return await this.#send<Row>(statement);
    } finally {
      clearTimeout(timer);
      done.resolve();
    }
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
    const { url, name, onConnect } = this.#options;
    const client = new pg.Client({ ...connectionOptions(url, name), connectionTimeoutMillis: connectWaitMs });
    client.on("error", (error) => this.#lose(client, error));
    const timer = setTimeout(() => client.connection.stream.destroy(), connectWaitMs + fenceWaitMs);
    try {
      await client.connect();
      await this.#fence(client);
      await onConnect?.(client);
    } catch (error) {
      this.#cause = error;
      client.connection.stream.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (this.#closed) return client.end();
    this.#client = client;
    this.#cause = undefined;
    this.#retryMs = reconnectMsMin;
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

  async #send<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    const client = this.#client;
    if (client === undefined) {
      this.#reconnectLater();
      throw new LostConnection("PostgreSQL is not connected", false, this.#cause);
    }
    try {
      return await client.query<Row>(statement);
    } catch (error) {
      if (error instanceof pg.DatabaseError) throw error;
      throw new LostConnection("The connection to PostgreSQL was lost", true, this.#cause ?? error);
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

function silence(ms: number): Error {
  return new Error(`PostgreSQL did not answer within ${ms} ms`);
}

const int8 = 20;
const numeric = 1700;

/** pg returns 64-bit numbers as text. All of ours fit in 2^53, so a larger one is an error. */
function readWhole(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`Cannot read ${text} from the database: expected a whole number within 2^53`);
}

const getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === int8 || oid === numeric
    ? readWhole
    : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser;

/** How every connection of a store is made; `name` is shown to the database's operator. */
export function connectionOptions(url: string, name: string): ClientConfig {
  return { connectionString: url, application_name: name, types: { getTypeParser }, keepAlive: true };
}

/** The URL without its password, for messages. */
export function shownUrl(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

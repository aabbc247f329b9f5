import { clearTimeout, setTimeout } from "node:timers";
import pg, { type ClientConfig, type QueryConfig, type QueryResult, type QueryResultRow } from "pg";
import { LostConnectionError } from "../errors.ts";

/** Options of {@link OrderedConnection}. */
export interface OrderedConnectionOptions {
  url: string;
  /** Unique among live connections, so that a lost one can be found on the server. */
  name: string;
  /** How long a statement may take from its sending before the connection counts as lost, and wait for its turn. */
  timeoutMs: number;
  /** Connects when the first statement comes, which waits for that. */
  connectsWhenUsed?: boolean;
  /** Prepares each new connection before anything else runs on it. */
  onConnect?(client: pg.Client): Promise<void>;
}

const connectWaitMs = 2000;
const reconnectMsMin = 50;
const reconnectMsMax = 1000;
/** How long a lost connection may take to end on the server. */
const fenceWaitMs = 2000;

/**
 * One connection to PostgreSQL, on which statements run in order. A statement that is not answered in time fails, and the
 * connection with it; a statement that has waited too long for its turn fails alone. Without a connection statements fail
 * at once.
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
  /** Resolves when all statements so far have been answered. */
  #last: Promise<void> = Promise.resolve();
  #unanswered = 0;
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

  async query<Row extends QueryResultRow>(
    statement: QueryConfig,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<QueryResult<Row>> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = done.promise;
    this.#unanswered += 1;
    try {
      if (this.#unanswered > 1) await waitForTurn(before, timeoutMs);
      return await this.#send<Row>(statement, timeoutMs);
    } finally {
      this.#unanswered -= 1;
      // The statements before one that gave up waiting still run.
      void before.then(done.resolve);
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

  async #send<Row extends QueryResultRow>(statement: QueryConfig, timeoutMs: number): Promise<QueryResult<Row>> {
    // If this fails, the statement does, with the same cause.
    if (this.#client === undefined && this.#options.connectsWhenUsed) await this.open().catch(() => undefined);
    const client = this.#client;
    if (client === undefined) {
      this.#reconnectLater();
      throw new LostConnectionError("PostgreSQL is not connected", false, this.#cause);
    }
    const timer = setTimeout(() => this.#lose(client, silence(timeoutMs)), timeoutMs);
    try {
      return await client.query<Row>(statement);
    } catch (error) {
      if (error instanceof pg.DatabaseError) throw error;
      throw new LostConnectionError("The connection to PostgreSQL was lost", true, this.#cause ?? error);
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

import type { PostgresPool, PostgresPoolClient } from "kysely";
import pg from "pg";
import { connectionOptions, isEndOfConnection, mergeErrors, type Primary, type Server } from "./primary.ts";

/** Connections for everything that no call waits for. */
const connectionsMax = 6;
const connectWaitMs = 5000;
/** pg-pool's words for a request that found all connections in use for too long. */
const queueTimeout = "timeout exceeded when trying to connect";

/** Options of {@link ProvenPool}. */
interface ProvenPoolOptions {
  primary: Primary;
  name: string;
  /** Called when the server reports that it takes no writes, although the connection had proved that it does. */
  onRefused(): void;
}

/**
 * A pool of connections that have proved to belong to the server that takes writes. A connection is not used again
 * after a statement failed because the server cannot serve, or when the primary has to be checked again.
 */
export class ProvenPool implements PostgresPool {
  readonly options = {};
  readonly #primary: Primary;
  readonly #pool: pg.Pool;
  readonly #onRefused: () => void;
  /** The server that the next new connection goes to. */
  #server: Server;
  readonly #servers = new WeakMap<pg.ClientBase, Server>();
  /** The epoch of the primary at the time when each connection proved itself. */
  readonly #epochs = new WeakMap<pg.ClientBase, number>();

  constructor({ primary, name, onRefused }: ProvenPoolOptions) {
    this.#primary = primary;
    this.#onRefused = onRefused;
    this.#server = primary.candidates()[0] as Server;
    const [servers, getServer] = [this.#servers, () => this.#server];
    this.#pool = new pg.Pool({
      max: connectionsMax,
      connectionTimeoutMillis: connectWaitMs,
      Client: class extends pg.Client {
        constructor() {
          const server = getServer();
          super({ ...connectionOptions(server, name), connectionTimeoutMillis: connectWaitMs });
          servers.set(this, server);
        }
      },
      onConnect: (client) => this.#prove(client as pg.Client),
    });
    // An idle connection that is lost is replaced when it is needed.
    this.#pool.on("error", () => undefined);
    // A connection that is lost in use fails its query; without a listener it would also end the process.
    this.#pool.on("connect", (client) => void client.on("error", () => undefined));
  }

  /** Why the last connection could not be had; undefined when it could. */
  failure: unknown;

  async connect(): Promise<PostgresPoolClient> {
    const errors: unknown[] = [];
    for (const server of this.#primary.candidates()) {
      this.#server = server;
      try {
        const client = await this.#take();
        this.failure = undefined;
        return this.#lend(client);
      } catch (error) {
        errors.push(error);
        // All connections are in use, wherever they lead.
        if ((error as Error).message === queueTimeout) break;
      }
    }
    this.failure = mergeErrors(errors);
    throw this.failure;
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  /** A connection of this epoch of the primary. */
  async #take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#epochs.get(client) === this.#primary.epoch) return client;
      client.release(true);
    }
  }

  #lend(client: pg.PoolClient): PostgresPoolClient {
    let isSpent = false;
    const judge = (error: unknown): never => {
      if (isEndOfConnection(error)) {
        isSpent = true;
        if (this.#primary.refuse(error, this.#epochs.get(client) as number)) this.#onRefused();
      }
      throw error;
    };
    const query = (text: string, values: readonly unknown[]) => client.query(text, values as unknown[]).catch(judge);
    return {
      query: query as unknown as PostgresPoolClient["query"],
      release: (isDiscarded) => client.release(isDiscarded === true || isSpent),
    };
  }

  async #prove(client: pg.Client): Promise<void> {
    const timer = setTimeout(() => client.connection.stream.destroy(), connectWaitMs);
    try {
      await this.#primary.prove(client, this.#servers.get(client) as Server);
      this.#epochs.set(client, this.#primary.epoch);
    } finally {
      clearTimeout(timer);
    }
  }
}

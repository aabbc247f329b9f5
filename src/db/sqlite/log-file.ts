import { closeSync, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { NotSynced } from "../errors.ts";

/** Writes what the platform has cached of an open file to its disk. */
type Sync = (fd: number) => Promise<void>;

/**
 * The log of a database in WAL mode, synced to the disk by a thread of the platform while the event loop goes on. Its
 * frames carry checksums, so the next start ignores what a power failure leaves of a commit that was not synced.
 */
export class LogFile {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #sync: Sync;
  #fd: number | undefined;
  #syncing: Promise<void> | undefined;

  constructor(database: DatabaseSync, path: string, sync: Sync = promisify(fdatasync)) {
    this.#database = database;
    this.#path = path;
    this.#sync = sync;
  }

  /** Runs a transaction that SQLite does not sync: a killed process leaves it, and a power failure may lose it. */
  leaveUnsynced(transact: () => void): void {
    this.#database.exec("pragma synchronous = normal");
    try {
      transact();
    } finally {
      this.#database.exec("pragma synchronous = full");
    }
  }

  /**
   * Resolves once all transactions until now are on the disk. SQLite syncs those itself that were not left unsynced.
   *
   * @throws {NotSynced} When the disk refused; the transactions stand.
   */
  async sync(): Promise<void> {
    // SQLite locks the database and its shared memory, never the log: a second descriptor of it can be closed safely.
    this.#fd ??= openSync(this.#path, "r+");
    this.#syncing = this.#sync(this.#fd);
    await this.#syncing.catch((cause) => {
      throw new NotSynced(cause);
    });
  }

  async close(): Promise<void> {
    await this.#syncing?.catch(() => undefined);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

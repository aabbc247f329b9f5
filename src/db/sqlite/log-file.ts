import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { NotSyncedError } from "../errors.ts";

/** Writes what the platform has cached of an open file to its disk: by a thread of the platform, or before it returns. */
interface Disk {
  sync(fd: number): Promise<void>;
  syncNow(fd: number): void;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
}

const platform: Disk = { sync: promisify(fdatasync), syncNow: fdatasyncSync, now: () => performance.now() };

/** Where a sync takes less than this, a thread that does it costs a lone call more than the wait. */
const quickMs = 0.5;
/** Weight of a new sync in the moving mean. */
const weightOfNew = 0.1;

/**
 * The log of a database in WAL mode, synced to the disk by a thread of the platform while the event loop goes on, or at
 * once where nothing else waits and the disk was quick lately. Its frames carry checksums, so the next start ignores what a
 * power failure leaves of a commit that was not synced.
 */
export class LogFile {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #disk: Disk;
  /** How long a sync took lately. */
  #meanMs = Number.POSITIVE_INFINITY;
  #fd: number | undefined;
  #syncing: Promise<void> | undefined;

  constructor(database: DatabaseSync, path: string, disk: Disk = platform) {
    this.#database = database;
    this.#path = path;
    this.#disk = disk;
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
   * @param isAlone Nothing else was written with it, so that the event loop has little to do meanwhile.
   * @throws {NotSyncedError} When the disk refused; the transactions stand.
   */
  async sync(isAlone = false): Promise<void> {
    // SQLite locks the database and its shared memory, never the log: a second descriptor of it can be closed safely.
    this.#fd ??= openSync(this.#path, "r+");
    const startedMs = this.#disk.now();
    try {
      if (isAlone && this.#meanMs < quickMs) this.#disk.syncNow(this.#fd);
      else {
        this.#syncing = this.#disk.sync(this.#fd);
        await this.#syncing;
      }
    } catch (cause) {
      throw new NotSyncedError(cause);
    }
    const ms = this.#disk.now() - startedMs;
    this.#meanMs = this.#meanMs === Number.POSITIVE_INFINITY ? ms : this.#meanMs + (ms - this.#meanMs) * weightOfNew;
  }

  async close(): Promise<void> {
    await this.#syncing?.catch(() => undefined);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

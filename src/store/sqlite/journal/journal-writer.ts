import type { DatabaseSync } from "node:sqlite";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { BookWrite } from "../../book-write.ts";
import type { Applier } from "./applier.ts";
import { CallIds } from "./call-ids.ts";
import { CallVersions } from "./call-versions.ts";
import type { JournalBounds } from "./journal-bounds.ts";
import { JournalFile } from "./journal-file.ts";
import { lineOf } from "./journal-line.ts";
import { WaitingBatches } from "./waiting-batches.ts";

const retryMs = 250;
/** A lock that another process has for a moment is no trouble. */
const troubleAfterMs = 5000;

/** What {@link JournalWriter} wants. */
interface WriterParts {
  readonly database: DatabaseSync;
  readonly applier: Applier;
  readonly file: string;
  /** Bytes of whole lines that stand in the file; all of them are applied. */
  readonly bytes: number;
  /** The number of the last batch. */
  readonly sequence: number;
  readonly bounds: JournalBounds;
  readonly lock: { release(): void };
}

/** The side of the journal that its owner has: appends batches, and applies them soon. */
export class JournalWriter {
  readonly waiting = new WaitingBatches();
  readonly versions = new CallVersions();
  readonly #parts: WriterParts;
  readonly #ids: CallIds;
  readonly #file: JournalFile;
  #sequence: number;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #failure: { readonly error: unknown; readonly sinceMs: number } | undefined;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#ids = new CallIds(parts.database);
    this.#sequence = parts.sequence;
    this.#file = new JournalFile(parts.file, parts.bytes, parts.bounds.append);
  }

  /** @throws {Error} When it cannot be written, or a call's id is taken; nothing of it is written then. */
  write(batch: readonly BookWrite[]): void {
    this.#refuseOpens(batch);
    const writes = this.#ids.take(batch, (callId) => this.waiting.ends(callId));
    if (writes.length === 0) return;
    const sequence = this.#sequence + 1;
    const line = lineOf({ sequence, writes });
    try {
      this.#file.append(line);
    } catch (error) {
      this.#ids.undo(writes);
      throw error;
    }
    this.#sequence = sequence;
    this.waiting.add({ sequence, writes, bytes: line.length });
    this.#schedule();
  }

  /** Applies all that waits, at once. */
  drain(): void {
    while (this.waiting.writes > 0) this.#applySlice();
  }

  /** Takes note that batches up to this one are applied, perhaps by another process. */
  forget(applied: number): void {
    const batches = this.waiting.shift(applied);
    this.#ids.applied(batches);
    this.versions.applied(batches);
  }

  trouble(): string | undefined {
    const megabytes = Math.ceil(this.waiting.bytes / 1e6);
    const reason = this.#failure?.error instanceof Error ? `: ${this.#failure.error.message}` : "";
    if (this.#isFull()) {
      return `${megabytes} MB of calls wait in the journal and no more are taken${reason}`;
    }
    if (this.#failure === undefined || performance.now() - this.#failure.sinceMs < troubleAfterMs) return undefined;
    return `Calls are written to the journal and cannot be applied to the database, ${megabytes} MB wait${reason}`;
  }

  close(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    try {
      this.drain();
      this.#whenApplied(() => this.#file.remove());
    } catch {
      // Whoever opens the store next applies what waits.
    }
    this.#file.close();
    this.#parts.lock.release();
  }

  #isFull(): boolean {
    return this.waiting.bytes > this.#parts.bounds.waitingBytesMax;
  }

  /** Ends of calls are always taken: there are never more of them than calls were open. */
  #refuseOpens(batch: readonly BookWrite[]): void {
    if (!this.#isFull() || !batch.some(({ kind }) => kind === "open")) return;
    const error = new Error("The journal is full: what waits in it cannot be applied to the database");
    throw Object.assign(error, { refusesOpens: true, cause: this.#failure?.error });
  }

  #schedule(): void {
    const isFailing = this.#failure !== undefined;
    if (!isFailing && this.waiting.writes >= this.#parts.bounds.sliceWritesMax) {
      this.#immediate ??= setImmediate(() => {
        this.#immediate = undefined;
        this.#tick();
      });
    } else if (this.#timer === undefined) {
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          this.#tick();
        },
        isFailing ? retryMs : this.#parts.bounds.waitMs,
      );
      this.#timer.unref();
    }
  }

  /** Applies one slice, and leaves the rest to the next turn. */
  #tick(): void {
    const { database } = this.#parts;
    if (this.waiting.writes > 0 && !database.isTransaction) this.#withoutWaiting(() => this.#applyAndRotate());
    if (this.waiting.writes > 0) this.#schedule();
  }

  #applyAndRotate(): void {
    const { rotateBytesMin } = this.#parts.bounds;
    try {
      this.#applySlice();
      // Under a load that leaves something waiting all the time it must come to an end too.
      if (this.#file.bytes >= 2 * rotateBytesMin) this.drain();
      if (this.#file.bytes >= rotateBytesMin && this.waiting.writes === 0) this.#whenApplied(() => this.#file.empty());
    } catch (error) {
      this.#failure = { error, sinceMs: this.#failure === undefined ? performance.now() : this.#failure.sinceMs };
    }
  }

  #applySlice(): void {
    const { applier, bounds } = this.#parts;
    this.forget(applier.apply(this.waiting.all, bounds.sliceWritesMax));
    this.#failure = undefined;
  }

  /**
   * Does something to the file while nobody reads it, when all of it is applied, and SQLite's own log is on the disk, as
   * far as SQLite itself would have it there.
   */
  #whenApplied(work: () => void): void {
    const { database, applier } = this.#parts;
    database.exec("pragma wal_checkpoint(passive)");
    applier.transact((applied) => {
      if (applied >= this.#sequence) work();
    });
  }

  /** SQLite's waiting for another process's lock would stop the event loop. */
  #withoutWaiting(work: () => void): void {
    const { database } = this.#parts;
    const { timeout } = database.prepare("pragma busy_timeout").get() as { timeout: number };
    database.exec("pragma busy_timeout = 0");
    try {
      work();
    } finally {
      database.exec(`pragma busy_timeout = ${timeout}`);
    }
  }
}

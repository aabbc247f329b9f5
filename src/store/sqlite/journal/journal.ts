import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import type { BookStatements } from "../../book-statements.ts";
import type { BookWrite } from "../../book-write.ts";
import type { Database } from "../../database.ts";
import type { BudgetAsked, Funds } from "../../funds.ts";
import { Applier } from "./applier.ts";
import { prepareDrain } from "./drain-file.ts";
import type { JournalBounds } from "./journal-bounds.ts";
import { takeLock } from "./journal-lock.ts";
import { JournalWriter } from "./journal-writer.ts";
import { readJournal } from "./read-journal.ts";
import { prepareWrittenFunds, type WrittenFunds } from "./written-funds.ts";

/** How long after another process was found to have the journal it is asked for again. */
const ownRetryMs = 5000;

/** What {@link Journal} wants. */
interface JournalParts {
  readonly db: Kysely<Database>;
  readonly database: DatabaseSync;
  readonly statements: BookStatements;
  /** The journal's path. */
  readonly file: string;
  readonly bounds: JournalBounds;
}

/**
 * The journal of a store, for each process that opens it. Batches are appended to a file, which makes them last, and
 * applied to the tables later and together: that is a fraction of the work of a transaction each. One process at a time
 * writes to it, the first that has something to write; any other writes to the tables itself. Whoever asks the tables
 * for something that must be true drains the journal before; what is only shown waits for nothing.
 */
export class Journal {
  readonly #parts: JournalParts;
  readonly #applier: Applier;
  readonly #drainFile: () => void;
  readonly #writtenFunds: (accountId: string, asked?: BudgetAsked) => WrittenFunds;
  #writer: JournalWriter | undefined;
  #ownAfterMs = 0;
  #closed = false;

  constructor(parts: JournalParts) {
    const { db, database, statements, file, bounds } = parts;
    this.#parts = parts;
    this.#applier = new Applier(db, database, statements);
    this.#drainFile = prepareDrain(this.#applier, file, bounds.sliceWritesMax);
    this.#writtenFunds = prepareWrittenFunds(database);
  }

  /** Whether this process writes to the journal. */
  get owned(): boolean {
    return this.#writer !== undefined;
  }

  /** Has this process write to the journal from now on, unless another does. Not within a transaction. */
  own(): boolean {
    if (this.#writer !== undefined) return true;
    const nowMs = performance.now();
    // A database in memory ends with its process, so there is nothing that a journal could keep.
    if (this.#closed || this.#parts.file.startsWith(":memory:") || nowMs < this.#ownAfterMs) return false;
    this.#ownAfterMs = nowMs + ownRetryMs;
    const { file, bounds, database } = this.#parts;
    const lock = takeLock(`${file}-lock`);
    if (lock === undefined) return false;
    try {
      this.#drainFile();
      const applied = this.#applier.applied();
      const { last, bytes } = readJournal(file, applied);
      const sequence = last === undefined ? applied : Math.max(applied, last);
      this.#writer = new JournalWriter({ database, applier: this.#applier, file, bytes, sequence, bounds, lock });
    } catch (error) {
      lock.release();
      throw error;
    }
    return true;
  }

  /** @throws {Error} As `Store.writeBooks` does. */
  write(batch: readonly BookWrite[]): void {
    if (this.#writer === undefined) throw new Error("Cannot write to the journal: this process does not own it");
    this.#writer.write(batch);
  }

  /** Applies all that waits. Within a transaction nothing can be applied, and it began with nothing waiting. */
  drain(): void {
    if (this.#closed || this.#parts.database.isTransaction) return;
    if (this.#writer === undefined) this.#drainFile();
    else this.#writer.drain();
  }

  /**
   * Makes the tables tell what is to be told. What is only shown may wait for the writer's own timer: applied for each
   * of many readers alone, little at a time, the same facts cost several times as much.
   */
  beforeRead(isShown: boolean): void {
    if (!isShown || this.#writer === undefined) this.drain();
  }

  readFunds(accountId: string, asked?: BudgetAsked): Funds {
    if (this.#writer === undefined) this.drain();
    const { funds, applied } = this.#writtenFunds(accountId, asked);
    if (this.#writer === undefined) return funds;
    this.#writer.forget(applied);
    return this.#writer.waiting.settle(accountId, funds, asked);
  }

  /** Of an account's calls as the tables have them; absent where another process writes them. */
  versionOf(accountId: string): string | undefined {
    return this.#writer?.versions.of(accountId);
  }

  trouble(): string | undefined {
    return this.#writer?.trouble();
  }

  /** Applies what can be applied and lets go of the journal; it is no more when nothing waits. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer?.close();
    this.#writer = undefined;
  }
}

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { BookWrite } from "../../book-write.ts";
import type { JournalBatch } from "./journal-line.ts";

/** SQLite's code of a doubled primary key (https://www.sqlite.org/rescode.html#constraint_primarykey). */
const doubledKey = 1555;

/**
 * Knows which calls can be opened and ended, so that what the journal takes can be applied. Ids of later calls sort
 * later, so that most are beyond the last one applied and need no look-up.
 */
export class CallIds {
  readonly #find: StatementSync;
  /** Opened by this process and not ended. */
  readonly #open = new Set<string>();
  /** Opened in batches that are not applied yet. */
  readonly #waiting = new Set<string>();
  /** No id beyond this one is in the tables. */
  #highest: string;

  constructor(database: DatabaseSync) {
    this.#find = database.prepare("select state from calls where id = ?");
    const row = database.prepare("select max(id) as id from calls").get() as { id: string | null };
    this.#highest = row.id === null ? "" : row.id;
  }

  /**
   * Takes note of a batch and returns what of it is to be written: all but ends of calls that have ended.
   *
   * @throws {Error} One that `isConstraintError` knows, when a call's id is taken; nothing is noted then.
   */
  take(batch: readonly BookWrite[], hasEnded: (callId: string) => boolean): readonly BookWrite[] {
    const taken: BookWrite[] = [];
    try {
      for (const write of batch) {
        if (write.kind === "open") this.#takeOpen(write.callId);
        else if (!this.#takeEnd(write.open.callId, hasEnded, taken)) continue;
        taken.push(write);
      }
    } catch (error) {
      this.undo(taken);
      throw error;
    }
    return taken;
  }

  /** Forgets a batch that could not be written. */
  undo(writes: readonly BookWrite[]): void {
    for (const write of writes) if (write.kind === "end") this.#open.add(write.open.callId);
    for (const write of writes) {
      if (write.kind === "end") continue;
      this.#open.delete(write.callId);
      this.#waiting.delete(write.callId);
    }
  }

  /** Takes note that batches are applied. */
  applied(batches: readonly JournalBatch[]): void {
    for (const { writes } of batches) {
      for (const write of writes) {
        if (write.kind === "end") continue;
        this.#waiting.delete(write.callId);
        if (write.callId > this.#highest) this.#highest = write.callId;
      }
    }
  }

  #takeOpen(callId: string): void {
    if (this.#waiting.has(callId) || (callId <= this.#highest && this.#find.get(callId) !== undefined)) {
      throw Object.assign(new Error("UNIQUE constraint failed: calls.id"), { errcode: doubledKey });
    }
    this.#open.add(callId);
    this.#waiting.add(callId);
  }

  #takeEnd(callId: string, hasEnded: (callId: string) => boolean, taken: readonly BookWrite[]): boolean {
    if (this.#open.delete(callId)) return true;
    const isTaken = taken.some((write) => write.kind === "end" && write.open.callId === callId);
    if (isTaken || hasEnded(callId)) return false;
    const found = this.#find.get(callId) as { state: string } | undefined;
    return found !== undefined && (found.state === "open" || found.state === "abandoned");
  }
}

import { setImmediate, setTimeout } from "node:timers";
import {
  type CallEnded,
  type CallOpened,
  type HoldDecision,
  isConstraintError,
  isOutcomeUnknown,
  type LedgerWrite,
  type Store,
} from "../db/index.ts";
import { unmadeCallEnd } from "./call-record.ts";

/** A batch of this many writes gains nothing by waiting. */
const writesEnough = 64;
/** How long after a failed write it is tried again. */
const retryMs = 250;

/** The outcome of a batch; undefined when all of it is written and no hold needed a decision. */
export type BatchOutcome = BatchResult | undefined;

interface BatchResult {
  /** The writes that failed, and why. */
  readonly failures: ReadonlyMap<LedgerWrite, unknown>;
  /** Decisions of the store about holds. */
  readonly decisions: ReadonlyMap<CallOpened, HoldDecision>;
}

const none: BatchResult = { failures: new Map(), decisions: new Map() };

/** Called after each attempted transaction with its writes, its duration and the ends of calls that still wait. */
export type OnCommit = (writes: number, ms: number, unwritten: number) => void;

interface Batch {
  readonly writes: LedgerWrite[];
  readonly done: PromiseWithResolvers<BatchOutcome>;
}

/**
 * Group commit: what is queued in one turn of the event loop is written as one transaction. Ends of calls whose write
 * fails are kept until they are written; there are never more of them than calls were open when the store failed.
 */
export class CommitQueue {
  readonly #store: Store;
  readonly #onEndWritten: (end: CallEnded, wasRetried: boolean) => void;
  readonly #onCommit: OnCommit | undefined;
  readonly #unwritten = new Set<CallEnded>();
  #next: Batch | undefined;
  #writing: Batch | undefined;
  #retry: NodeJS.Timeout | undefined;

  /**
   * `onEndWritten` is called in the same turn in which the write is known to stand; `wasRetried` when an earlier try
   * failed, which may have been written all the same.
   */
  constructor(store: Store, onEndWritten: (end: CallEnded, wasRetried: boolean) => void, onCommit?: OnCommit) {
    this.#store = store;
    this.#onEndWritten = onEndWritten;
    this.#onCommit = onCommit;
  }

  /** Whether a transaction is under way. */
  get writing(): boolean {
    return this.#writing !== undefined;
  }

  /** Ends of calls that could not be written so far. */
  get unwritten(): ReadonlySet<CallEnded> {
    return this.#unwritten;
  }

  /** Resolves when the batch of this write has been tried; never rejects. */
  add(write: LedgerWrite): Promise<BatchOutcome> {
    let batch = this.#next;
    if (batch === undefined) {
      batch = { writes: [], done: Promise.withResolvers() };
      this.#next = batch;
      if (this.#writing === undefined) this.#schedule();
    }
    batch.writes.push(write);
    return batch.done.promise;
  }

  /** Tries again what could not be written, and waits for all that is queued by now. */
  async flush(): Promise<void> {
    for (const end of this.#unwritten) this.add(end);
    await this.tried();
  }

  /** Waits until all that is queued by now was tried. */
  async tried(): Promise<void> {
    await Promise.all([this.#writing?.done.promise, this.#next?.done.promise]);
  }

  /** Waits on while each turn brings more: under load that halves the transactions, and at rest it costs nothing. */
  #schedule(seen = 1): void {
    setImmediate(() => {
      const written = this.#next?.writes.length ?? 0;
      if (written > seen && written < writesEnough) this.#schedule(written);
      else void this.#commit();
    });
  }

  async #commit(): Promise<void> {
    const batch = this.#next as Batch;
    this.#next = undefined;
    this.#writing = batch;
    const startedMs = this.#onCommit === undefined ? 0 : performance.now();
    const outcome = await this.#write(batch.writes);
    const failures = outcome?.failures;
    this.#writing = undefined;
    for (const write of batch.writes) {
      // The end of the call carries it too.
      if (write.kind === "extend") continue;
      if (write.kind === "open") {
        if (isOutcomeUnknown(failures?.get(write))) this.#unwritten.add(unmadeCallEnd(write));
        continue;
      }
      if (failures?.has(write)) {
        this.#unwritten.add(write);
      } else {
        const wasRetried = this.#unwritten.delete(write);
        this.#onEndWritten(write, wasRetried);
      }
    }
    this.#onCommit?.(batch.writes.length, performance.now() - startedMs, this.#unwritten.size);
    if (this.#unwritten.size > 0) this.#scheduleRetry();
    if (this.#next !== undefined) this.#schedule();
    batch.done.resolve(outcome);
  }

  /** Does not keep the process alive: what is unwritten when it ends is found open at the next start. */
  #scheduleRetry(): void {
    if (this.#retry !== undefined) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.flush();
    }, retryMs);
    this.#retry.unref();
  }

  /** A write that the schema refuses must not take the others of its batch with it. */
  async #write(writes: readonly LedgerWrite[]): Promise<BatchOutcome> {
    try {
      const decisions = await this.#store.writeLedger(writes);
      return decisions === undefined ? undefined : { ...none, decisions };
    } catch (error) {
      if (writes.length === 1 || !isConstraintError(error)) {
        return { failures: new Map(writes.map((write) => [write, error])), decisions: none.decisions };
      }
    }
    const failures = new Map<LedgerWrite, unknown>();
    const decisions = new Map<CallOpened, HoldDecision>();
    for (const write of writes) {
      const outcome = await this.#write([write]);
      for (const [failed, error] of (outcome ?? none).failures) failures.set(failed, error);
      for (const [open, decision] of (outcome ?? none).decisions) decisions.set(open, decision);
    }
    return { failures, decisions };
  }
}

import { setImmediate, setTimeout } from "node:timers";
import {
  type EndedCall,
  type HoldDecision,
  isConstraintError,
  isOutcomeUnknown,
  type LedgerWrite,
  type OpenCall,
  type Store,
} from "../db/index.ts";
import { unsentEnd } from "./call-records.ts";

/** A batch of this many writes gains nothing by waiting. */
const writesEnough = 64;
/** How long after a failed write it is tried again. */
const retryMs = 250;
/** How often a store that fails is tried where no write is left to be repeated. */
const probeMs = 1000;

/** The outcome of a batch; undefined when all of it is written and no hold needed a decision. */
export type BatchOutcome = BatchResult | undefined;

interface BatchResult {
  /** The writes that failed, and why. */
  readonly failures: ReadonlyMap<LedgerWrite, unknown>;
  /** Decisions of the store about holds. */
  readonly decisions: ReadonlyMap<OpenCall, HoldDecision>;
}

const none: BatchResult = { failures: new Map(), decisions: new Map() };

/** Called after each attempted transaction with its writes, its duration and the ends of calls that still wait. */
export type OnCommit = (writes: number, ms: number, unwritten: number) => void;

interface Batch<Write extends LedgerWrite> {
  readonly writes: Write[];
  readonly done: PromiseWithResolvers<BatchOutcome>;
}

/** A write of a hold. */
type HoldWrite = Exclude<LedgerWrite, EndedCall>;

/**
 * Group commit: what is queued in one turn of the event loop is written as one transaction. Holds are written as soon as
 * they are committed, ends once they are on the disk; while ends wait for it, the next ends collect and the next holds are
 * committed by themselves. Ends of calls whose write fails are kept until they are written; there are never more of them
 * than calls were open when the store failed, because no call begins meanwhile.
 */
export class CommitQueue {
  readonly #store: Store;
  readonly #onEndWritten: (end: EndedCall, wasRetried: boolean) => void;
  readonly #onCommit: OnCommit | undefined;
  readonly #unwritten = new Set<EndedCall>();
  #holds: Batch<HoldWrite> | undefined;
  #ends: Batch<EndedCall> | undefined;
  /** Transactions under way: at most one that may have ends, and one of holds beside it. */
  readonly #underWay = new Set<Promise<void>>();
  #isWriting = false;
  /** The batch that is being written is committed, and its ends wait for the disk. */
  #isSyncing = false;
  #isWritingHolds = false;
  #isFailing = false;
  #retrying: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Why the last writes of ends and of holds failed, for another reason than what they said; undefined when they did not. */
  #endFailure: unknown;
  #holdFailure: unknown;
  #probe: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * `onEndWritten` is called in the same turn in which the write is known to stand; `wasRetried` when an earlier try
   * failed, which may have been written all the same.
   */
  constructor(store: Store, onEndWritten: (end: EndedCall, wasRetried: boolean) => void, onCommit?: OnCommit) {
    this.#store = store;
    this.#onEndWritten = onEndWritten;
    this.#onCommit = onCommit;
  }

  /** Whether a transaction is under way that may have charges in it. */
  get writing(): boolean {
    return this.#isWriting;
  }

  /** Ends of calls that could not be written so far. */
  get unwritten(): ReadonlySet<EndedCall> {
    return this.#unwritten;
  }

  /** Whether ends could not be written, and have not been since. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Why the store takes no writes of calls, by the outcome of the last ones; undefined while it takes them. */
  get failure(): unknown {
    return this.#isFailing ? this.#endFailure : this.#holdFailure;
  }

  /** Tries the store no more by itself. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    clearTimeout(this.#retry);
  }

  /**
   * Whether the store takes no ends of calls, tried once more: a disk may have room for holds alone, and charges that cannot
   * be written must not collect.
   */
  async refusesEnds(): Promise<boolean> {
    this.#retrying ??= this.flush().finally(() => {
      this.#retrying = undefined;
    });
    await this.#retrying;
    return this.#isFailing;
  }

  /** Resolves when the batch of this write has been tried; never rejects. */
  add(write: LedgerWrite): Promise<BatchOutcome> {
    const isFirst = this.#holds === undefined && this.#ends === undefined;
    if (write.kind === "end") {
      this.#ends ??= newBatch();
      this.#ends.writes.push(write);
      if (isFirst && !this.#isWriting) this.#schedule();
      return this.#ends.done.promise;
    }
    const isFirstHold = this.#holds === undefined;
    this.#holds ??= newBatch();
    this.#holds.writes.push(write);
    if (this.#isWriting) {
      if (isFirstHold && this.#isSyncing && !this.#isWritingHolds) this.#scheduleHolds();
    } else if (isFirst) this.#schedule();
    return this.#holds.done.promise;
  }

  /** Tries again what could not be written, and waits for all that is queued by now. */
  async flush(): Promise<void> {
    for (const end of this.#unwritten) this.add(end);
    await Promise.all([...this.#underWay, this.#holds?.done.promise, this.#ends?.done.promise]);
  }

  /** Waits on while each turn brings more: under load that halves the transactions, and at rest it costs nothing. */
  #schedule(seen = 1): void {
    setImmediate(() => {
      const written = this.#waiting();
      if (written > seen && written < writesEnough) this.#schedule(written);
      else if (written > 0 && !this.#isWriting) this.#track(this.#commit());
    });
  }

  #waiting(): number {
    return (this.#holds?.writes.length ?? 0) + (this.#ends?.writes.length ?? 0);
  }

  /** Holds that came while ends wait for the disk. By their turn that may be over, and they are written with the rest. */
  #scheduleHolds(): void {
    setImmediate(() => {
      if (this.#holds !== undefined && this.#isSyncing && !this.#isWritingHolds) this.#track(this.#commitHolds());
    });
  }

  #track(transaction: Promise<void>): void {
    this.#underWay.add(transaction);
    void transaction.then(() => this.#underWay.delete(transaction));
  }

  async #commit(): Promise<void> {
    const [holds, ends] = [this.#holds, this.#ends];
    this.#holds = undefined;
    this.#ends = undefined;
    this.#isWriting = true;
    let isCommitted = false;
    const startedMs = this.#now();
    const outcome = await this.#write([...(holds?.writes ?? []), ...(ends?.writes ?? [])], () => {
      isCommitted = true;
      this.#isSyncing = true;
      holds?.done.resolve(undefined);
      if (this.#holds !== undefined) this.#scheduleHolds();
    });
    this.#isWriting = false;
    this.#isSyncing = false;
    if (!isCommitted) this.#keepUnknown(holds, outcome);
    if (holds !== undefined) this.#noteHolds(holds, isCommitted ? undefined : outcome);
    if (ends !== undefined) {
      this.#isFailing = this.#isStillFailing(ends.writes, outcome);
      this.#endFailure = this.#isFailing ? (findFailure(ends, outcome) ?? this.#endFailure) : undefined;
    }
    for (const end of ends?.writes ?? []) {
      if (outcome?.failures.has(end)) this.#unwritten.add(end);
      else this.#onEndWritten(end, this.#unwritten.delete(end));
    }
    this.#report((holds?.writes.length ?? 0) + (ends?.writes.length ?? 0), startedMs);
    if (this.#waiting() > 0) this.#schedule();
    holds?.done.resolve(outcome);
    ends?.done.resolve(outcome);
  }

  /**
   * A disk that is nearly full may take this end and not those that wait, so that only a batch with all of them shows that it
   * is well again. A write that the schema refuses is no sign of the disk.
   */
  #isStillFailing(ends: readonly EndedCall[], outcome: BatchOutcome): boolean {
    const isRefused = (end: EndedCall) => outcome?.failures.has(end) && !isConstraintError(outcome.failures.get(end));
    return ends.some(isRefused) || (this.#isFailing && !this.#unwritten.isSubsetOf(new Set(ends)));
  }

  async #commitHolds(): Promise<void> {
    const holds = this.#holds as Batch<HoldWrite>;
    this.#holds = undefined;
    this.#isWritingHolds = true;
    const startedMs = this.#now();
    const outcome = await this.#write(holds.writes);
    this.#isWritingHolds = false;
    this.#keepUnknown(holds, outcome);
    this.#noteHolds(holds, outcome);
    this.#report(holds.writes.length, startedMs);
    if (this.#holds !== undefined && this.#isSyncing) this.#scheduleHolds();
    holds.done.resolve(outcome);
  }

  /** A hold of which it is unknown whether it was written is refused, and what may stand of it is ended. */
  #keepUnknown(holds: Batch<HoldWrite> | undefined, outcome: BatchOutcome): void {
    if (outcome === undefined || holds === undefined) return;
    for (const write of holds.writes) {
      // The end of the call carries an extension too.
      if (write.kind === "open" && isOutcomeUnknown(outcome.failures.get(write))) {
        this.#unwritten.add(unsentEnd(write));
      }
    }
  }

  #noteHolds(holds: Batch<HoldWrite>, outcome: BatchOutcome): void {
    const failure = outcome === undefined ? undefined : findFailure(holds, outcome);
    if (failure === undefined && this.#holdFailure === undefined) return;
    this.#holdFailure = failure;
    if (failure !== undefined) this.#scheduleProbe();
  }

  /** No call begins where a balancer sends none to a gateway that is not ready, so that it has to find out by itself. */
  #scheduleProbe(): void {
    if (this.#probe !== undefined || this.#isClosed) return;
    this.#probe = setTimeout(async () => {
      try {
        await this.#store.tryWrite();
        this.#holdFailure = undefined;
      } catch (error) {
        if (this.#holdFailure !== undefined) this.#holdFailure = error;
      }
      this.#probe = undefined;
      if (this.#holdFailure !== undefined) this.#scheduleProbe();
    }, probeMs);
    this.#probe.unref();
  }

  #now(): number {
    return this.#onCommit === undefined ? 0 : performance.now();
  }

  #report(writes: number, startedMs: number): void {
    this.#onCommit?.(writes, performance.now() - startedMs, this.#unwritten.size);
    if (this.#unwritten.size > 0) this.#scheduleRetry();
  }

  /** Does not keep the process alive: what is unwritten when it ends is found open at the next start. */
  #scheduleRetry(): void {
    if (this.#retry !== undefined || this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.flush();
    }, retryMs);
    this.#retry.unref();
  }

  /** A write that the schema refuses must not take the others of its batch with it. */
  async #write(writes: readonly LedgerWrite[], onCommitted?: () => void): Promise<BatchOutcome> {
    try {
      const decisions = await this.#store.writeLedger(writes, onCommitted);
      return decisions === undefined ? undefined : { ...none, decisions };
    } catch (error) {
      if (writes.length === 1 || !isConstraintError(error)) {
        return { failures: new Map(writes.map((write) => [write, error])), decisions: none.decisions };
      }
    }
    const failures = new Map<LedgerWrite, unknown>();
    const decisions = new Map<OpenCall, HoldDecision>();
    for (const write of writes) {
      const outcome = await this.#write([write]);
      for (const [failed, error] of (outcome ?? none).failures) failures.set(failed, error);
      for (const [open, decision] of (outcome ?? none).decisions) decisions.set(open, decision);
    }
    return { failures, decisions };
  }
}

/** Why a write failed, other than for what it said. */
function findFailure({ writes }: Batch<LedgerWrite>, outcome: BatchOutcome): unknown {
  const failed = writes.find(
    (write) => outcome?.failures.has(write) && !isConstraintError(outcome.failures.get(write)),
  );
  return failed === undefined ? undefined : outcome?.failures.get(failed);
}

function newBatch<Write extends LedgerWrite>(): Batch<Write> {
  return { writes: [], done: Promise.withResolvers() };
}

import { setImmediate, setTimeout } from "node:timers";
import {
  type EndedCall,
  type HoldDecision,
  isConstraintError,
  isOutcomeUnknown,
  type LedgerWrite,
  LostConnectionError,
  type OpenCall,
  type Store,
  whenLate,
} from "../db/index.ts";
import { unsentEnd } from "./call-records.ts";
import type { EndSpool } from "./spool.ts";
import { withTimeout } from "./with-timeout.ts";

/** A batch of this many writes gains nothing by waiting. */
const writesEnough = 64;
/** How long after a failed write it is tried again. */
const retryMs = 250;
/** A share of the time that writes are waited for: those that came within it stop waiting together. */
const batchesPerWait = 8;
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

/** Writes queued at about the same time. */
interface Batch<Write extends LedgerWrite> {
  readonly writes: Write[];
  readonly done: PromiseWithResolvers<BatchOutcome>;
  /** When the first of them came, by the monotonic clock. */
  readonly sinceMs: number;
  timer: NodeJS.Timeout | undefined;
  state: "waited for" | "late" | "done";
}

/** A write of a hold. */
type HoldWrite = Exclude<LedgerWrite, EndedCall>;

/**
 * Group commit: the writes queued in one turn of the event loop become one transaction. A hold counts as written once
 * it is committed, an end once it is on disk. While ends wait for the disk, the next ends collect, and the next holds
 * are committed separately. Ends whose write fails go to the {@link EndSpool} and are kept until they are written.
 * There are never more of them than there were open calls when the store failed, because no call begins while it fails.
 *
 * Over a shared store each write waits at most as long as a call may wait ({@link Store.callWaitMs}), from the moment
 * it was queued. Then its call continues without it: a hold that was not sent yet is left out, and a hold that was sent
 * is taken back if it turns out to be granted; an end stays queued. The transaction itself continues for as long as its
 * connection lives, so a late answer counts.
 */
export class CommitQueue {
  readonly #store: Store;
  readonly #onEndWritten: (end: EndedCall, wasRetried: boolean) => void;
  readonly #onCommit: OnCommit | undefined;
  readonly #spool: EndSpool | undefined;
  readonly #unwritten = new Set<EndedCall>();
  /** Ends of {@link #unwritten} that are in the spool. */
  readonly #kept = new Set<EndedCall>();
  #clearing = Promise.resolve();
  /** Whether the spool may have ends. */
  #isSpooled = false;
  /** Whether the spool could not keep the last ends, and none were written since. */
  #isUnkept = false;
  /** Ends of {@link #unwritten} that are queued or being written. */
  readonly #late = new Set<EndedCall>();
  #holds: Batch<HoldWrite>[] = [];
  #ends: Batch<EndedCall>[] = [];
  /** Transactions under way: at most one that may have ends, plus one with holds only. */
  readonly #underWay = new Set<Promise<void>>();
  #isWriting = false;
  /** The current batch is committed, and its ends wait for the disk. */
  #isSyncing = false;
  #isWritingHolds = false;
  #isFailing = false;
  #writtenAtMs: number | undefined;
  #retrying: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  /**
   * Why the last writes of ends and of holds failed, if their content was not the reason; undefined when they
   * succeeded.
   */
  #endFailure: unknown;
  #holdFailure: unknown;
  #probe: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * `onEndWritten` is called in the same turn that confirms the write; `wasRetried` is set if an earlier try failed,
   * although that try may have been written.
   */
  constructor(
    store: Store,
    onEndWritten: (end: EndedCall, wasRetried: boolean) => void,
    { onCommit, spool }: { onCommit?: OnCommit | undefined; spool?: EndSpool | undefined } = {},
  ) {
    this.#store = store;
    this.#onEndWritten = onEndWritten;
    this.#onCommit = onCommit;
    this.#spool = spool;
  }

  /** Whether a transaction is under way that may have charges in it. */
  get writing(): boolean {
    return this.#isWriting;
  }

  /** Ends of calls that could not be written so far. */
  get unwritten(): ReadonlySet<EndedCall> {
    return this.#unwritten;
  }

  /** Charges that could not be written so far, and how many of them are on no disk: these end with this process. */
  get charges(): { waiting: EndedCall[]; unkept: EndedCall[] } {
    const waiting = [...this.#unwritten].filter(({ unmade }) => unmade !== true);
    return { waiting, unkept: waiting.filter((end) => !this.#kept.has(end)) };
  }

  /** When the store last took a write, by the monotonic clock; absent before the first. */
  get writtenAtMs(): number | undefined {
    return this.#writtenAtMs;
  }

  /** Whether ends could not be written, and have not been since; or the spool could not keep them. */
  get isFailing(): boolean {
    return this.#isFailing || this.#isUnkept;
  }

  /** Why the store takes no writes of calls, by the outcome of the last ones; undefined while it takes them. */
  get failure(): unknown {
    return this.#isFailing ? this.#endFailure : this.#holdFailure;
  }

  /** Stops retrying. Resolves when the spool has dropped the ends that the store has taken. */
  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    clearTimeout(this.#retry);
    return this.#clearing;
  }

  /**
   * Whether the store takes no ends of calls, tried once more: a disk may have room for holds alone, and charges that cannot
   * be written must not collect.
   */
  async refusesEnds(): Promise<boolean> {
    this.#retrying ??= this.flush().finally(() => {
      this.#retrying = undefined;
    });
    const { callWaitMs } = this.#store;
    if (callWaitMs === undefined) await this.#retrying;
    else await withTimeout(this.#retrying, callWaitMs).catch(() => undefined);
    return this.isFailing;
  }

  /** Resolves when this write has been tried, or is no longer waited for; never rejects. */
  add(write: LedgerWrite): Promise<BatchOutcome> {
    const isFirst = this.#holds.length === 0 && this.#ends.length === 0;
    if (write.kind === "end") {
      const batch = this.#join(this.#ends, this.#giveUpEnds);
      batch.writes.push(write);
      if (isFirst && !this.#isWriting) this.#schedule();
      return batch.done.promise;
    }
    const isFirstHold = this.#holds.length === 0;
    const batch = this.#join(this.#holds, this.#giveUpHolds);
    batch.writes.push(write);
    if (this.#isWriting) {
      if (isFirstHold && this.#isSyncing && !this.#isWritingHolds) this.#scheduleHolds();
    } else if (isFirst) this.#schedule();
    return batch.done.promise;
  }

  /** Retries failed writes, and waits for all writes that are queued now. */
  async flush(): Promise<void> {
    for (const end of this.#unwritten) if (!this.#late.has(end)) this.add(end);
    await Promise.all([...this.#underWay, ...[...this.#holds, ...this.#ends].map(({ done }) => done.promise)]);
  }

  /** The batch that a new write joins. */
  #join<Write extends LedgerWrite>(batches: Batch<Write>[], giveUp: (batch: Batch<Write>) => void): Batch<Write> {
    const { callWaitMs } = this.#store;
    const last = batches.at(-1);
    if (callWaitMs === undefined) {
      if (last !== undefined) return last;
    } else if (last !== undefined && performance.now() - last.sinceMs < callWaitMs / batchesPerWait) return last;
    const batch: Batch<Write> = {
      writes: [],
      done: Promise.withResolvers(),
      sinceMs: callWaitMs === undefined ? 0 : performance.now(),
      timer: undefined,
      state: "waited for",
    };
    if (callWaitMs !== undefined) {
      batch.timer = whenLate(callWaitMs, () => batch.state === "waited for" && giveUp(batch));
    }
    batches.push(batch);
    return batch;
  }

  /**
   * Refuses the calls of these holds. Holds that are not sent yet never will be; {@link #keepUnknown} handles the
   * others.
   */
  readonly #giveUpHolds = (batch: Batch<HoldWrite>): void => {
    this.#holds = this.#holds.filter((waiting) => waiting !== batch);
    batch.state = "late";
    const error = this.#noteLate();
    batch.done.resolve({ ...none, failures: new Map(batch.writes.map((write) => [write, error])) });
  };

  /** The calls are charged in any case, so they need not wait once their ends are on some disk. */
  readonly #giveUpEnds = (batch: Batch<EndedCall>): void => {
    batch.state = "late";
    this.#noteLate();
    for (const end of batch.writes) {
      this.#unwritten.add(end);
      this.#late.add(end);
    }
    this.#track(this.#keep(batch.writes).then(() => batch.done.resolve(undefined)));
  };

  /**
   * Resolves when these ends are in the spool, or cannot be kept. Ends that only take a hold back are not kept:
   * recovery finds the open hold.
   */
  async #keep(ends: readonly EndedCall[]): Promise<void> {
    const charges = ends.filter(({ unmade }) => unmade !== true);
    if (charges.length === 0) return;
    this.#isSpooled = true;
    if (this.#spool === undefined) return;
    this.#isUnkept = !(await this.#spool.append(charges));
    if (!this.#isUnkept) for (const end of charges) if (this.#unwritten.has(end)) this.#kept.add(end);
  }

  #clearSpool(): void {
    if (!this.#isSpooled || this.#unwritten.size > 0) return;
    this.#isSpooled = false;
    if (this.#spool === undefined) return;
    this.#clearing = this.#spool.clear();
    this.#track(this.#clearing);
  }

  /** A store that is late takes no writes, until one succeeds. */
  #noteLate(): Error {
    const error = new LostConnectionError("PostgreSQL is late", false);
    this.#holdFailure ??= error;
    this.#scheduleProbe();
    return error;
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
    return countWrites(this.#holds) + countWrites(this.#ends);
  }

  /** Holds that came while ends wait for the disk. By their turn that may be over, and they are written with the rest. */
  #scheduleHolds(): void {
    setImmediate(() => {
      if (this.#holds.length > 0 && this.#isSyncing && !this.#isWritingHolds) this.#track(this.#commitHolds());
    });
  }

  #track(transaction: Promise<void>): void {
    this.#underWay.add(transaction);
    void transaction.then(() => this.#underWay.delete(transaction));
  }

  async #commit(): Promise<void> {
    const [holds, ends] = [this.#holds, this.#ends];
    this.#holds = [];
    this.#ends = [];
    this.#isWriting = true;
    let isCommitted = false;
    const startedMs = this.#now();
    const endWrites = writesOf(ends);
    const writes = [...writesOf(holds), ...endWrites];
    const outcome = await this.#write(writes, () => {
      isCommitted = true;
      this.#isSyncing = true;
      finish(holds, undefined);
      if (this.#holds.length > 0) this.#scheduleHolds();
    });
    this.#isWriting = false;
    this.#isSyncing = false;
    if (!isCommitted) this.#keepUnknown(holds, outcome);
    if (holds.length > 0) this.#noteHolds(holds, isCommitted ? undefined : outcome);
    if (endWrites.length > 0) {
      this.#isFailing = this.#isStillFailing(endWrites, outcome);
      this.#endFailure = this.#isFailing ? (findFailure(endWrites, outcome) ?? this.#endFailure) : undefined;
      if (!this.#isFailing) this.#isUnkept = false;
    }
    const failed: EndedCall[] = [];
    for (const end of endWrites) {
      this.#late.delete(end);
      if (!outcome?.failures.has(end)) {
        this.#kept.delete(end);
        this.#onEndWritten(end, this.#unwritten.delete(end));
      } else if (!this.#unwritten.has(end)) {
        this.#unwritten.add(end);
        failed.push(end);
      }
    }
    this.#report(writes.length, startedMs, outcome);
    if (this.#waiting() > 0) this.#schedule();
    finish(holds, outcome);
    // These ends are no longer under way, however long the spool takes.
    markDone(ends);
    if (failed.length > 0) this.#track(this.#keep(failed).then(() => finish(ends, outcome)));
    else finish(ends, outcome);
    this.#clearSpool();
  }

  /**
   * A nearly full disk may take this end but not the ends that wait, so only a batch with all of them shows that the
   * disk works again. A write refused by the schema says nothing about the disk.
   */
  #isStillFailing(ends: readonly EndedCall[], outcome: BatchOutcome): boolean {
    const isRefused = (end: EndedCall) => outcome?.failures.has(end) && !isConstraintError(outcome.failures.get(end));
    return ends.some(isRefused) || (this.#isFailing && !this.#unwritten.isSubsetOf(new Set(ends)));
  }

  async #commitHolds(): Promise<void> {
    const holds = this.#holds;
    this.#holds = [];
    this.#isWritingHolds = true;
    const startedMs = this.#now();
    const writes = writesOf(holds);
    const outcome = await this.#write(writes);
    this.#isWritingHolds = false;
    this.#keepUnknown(holds, outcome);
    this.#noteHolds(holds, outcome);
    this.#report(writes.length, startedMs, outcome);
    if (this.#holds.length > 0 && this.#isSyncing) this.#scheduleHolds();
    finish(holds, outcome);
  }

  /** Ends a hold that is, or may be, written although its call was refused. */
  #keepUnknown(holds: readonly Batch<HoldWrite>[], outcome: BatchOutcome): void {
    for (const { writes, state } of holds) {
      if (outcome === undefined && state !== "late") continue;
      for (const write of writes) {
        // The end of the call carries an extension too.
        if (write.kind === "open" && mayStand(write, outcome, state === "late")) this.#unwritten.add(unsentEnd(write));
      }
    }
  }

  #noteHolds(holds: readonly Batch<HoldWrite>[], outcome: BatchOutcome): void {
    const failure = outcome === undefined ? undefined : findFailure(writesOf(holds), outcome);
    if (failure === undefined && this.#holdFailure === undefined) return;
    this.#holdFailure = failure;
    if (failure !== undefined) this.#scheduleProbe();
  }

  /**
   * A load balancer sends no calls to a gateway that is not ready, so no call would show that the store works again: it
   * is probed.
   */
  #scheduleProbe(): void {
    if (this.#probe !== undefined || this.#isClosed) return;
    this.#probe = setTimeout(async () => {
      try {
        await this.#store.tryWrite();
        this.#writtenAtMs = performance.now();
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

  #report(writes: number, startedMs: number, outcome: BatchOutcome): void {
    const nowMs = performance.now();
    if (outcome === undefined || outcome.failures.size < writes) this.#writtenAtMs = nowMs;
    this.#onCommit?.(writes, nowMs - startedMs, this.#unwritten.size);
    if (this.#unwritten.size > 0) this.#scheduleRetry();
  }

  /** The timer does not keep the process alive: calls whose end is unwritten are found open at the next start. */
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

/** Whether a hold that nobody uses may be in the store: its outcome is unknown, or it was granted too late. */
function mayStand(write: OpenCall, outcome: BatchOutcome, isLate: boolean): boolean {
  if (outcome?.failures.has(write)) return isOutcomeUnknown(outcome.failures.get(write));
  const decision = outcome?.decisions.get(write);
  return isLate && (decision === undefined || !("refused" in decision));
}

/** Why a write failed, if its content was not the reason. */
function findFailure(writes: readonly LedgerWrite[], outcome: BatchOutcome): unknown {
  const failed = writes.find(
    (write) => outcome?.failures.has(write) && !isConstraintError(outcome.failures.get(write)),
  );
  return failed === undefined ? undefined : outcome?.failures.get(failed);
}

function countWrites(batches: readonly Batch<LedgerWrite>[]): number {
  let count = 0;
  for (const { writes } of batches) count += writes.length;
  return count;
}

function writesOf<Write extends LedgerWrite>(batches: readonly Batch<Write>[]): readonly Write[] {
  return batches.length === 1 ? (batches[0] as Batch<Write>).writes : batches.flatMap(({ writes }) => writes);
}

function markDone(batches: readonly Batch<LedgerWrite>[]): void {
  for (const batch of batches) {
    clearTimeout(batch.timer);
    batch.state = "done";
  }
}

/** Resolves the promises of these batches. */
function finish(batches: readonly Batch<LedgerWrite>[], outcome: BatchOutcome): void {
  markDone(batches);
  for (const { done } of batches) done.resolve(outcome);
}

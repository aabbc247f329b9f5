import {
  isOutcomeUnknown,
  isUncounted,
  pruneUsage,
  readLastSeq,
  type Store,
  type UsageProgress,
} from "../../db/index.ts";
import type { RefusedRequest } from "../requests/refusal-log.ts";
import { Cells, type CountedCall, countedColumns, type Slice } from "./cells.ts";
import { Names } from "./names.ts";

/** What a step costs grows with the rows of `usage` that it touches, not with the calls, so there must not be many. */
const pauseMs = 60_000;
/** After the start, for what the last process has left. */
const firstPauseMs = 1000;
/** So many ended calls are counted before that: pages that need them wait for it. */
const callsMax = 5000;
/** Calls of one step, whose sums are in memory. */
const callsAtOnce = 10_000;
/** Calls that are read at once, in the embedded store while the event loop stands still. */
const rowsAtOnce = 200;
/** Sums that are written in one transaction: some hundred rows, and a few milliseconds in the embedded store. */
const cellsAtOnce = 40;
/** A page that is read more often than this shows sums as old. */
const freshMs = 1000;
const hourMs = 3_600_000;
const dayHours = 24;
/** Sums by key and by name are nearly as many as calls where each call has its own; no page shows older hours. */
const hourlyDays = 32;

/** Options of {@link UsageRollup}. */
export interface UsageRollupOptions {
  readonly store: Store;
  readonly retentionDays: number;
  readonly now: () => number;
  readonly log: { warn(event: string, fields: Record<string, unknown>): void };
}

/**
 * Adds up the calls that have ended, by hour and day. It follows the order in which their ends were written, and the row
 * that says how far it came changes in the transactions that write the sums: after a crash, or when another process has
 * gone on meanwhile, it begins where that row says. Refused requests are counted in memory and added now and then.
 */
export class UsageRollup {
  readonly #options: UsageRollupOptions;
  readonly #names = new Names();
  /** Cells of refused requests. */
  #cells = new Cells(this.#names);
  /** The same, on their way into the database. */
  readonly #slices: Slice[] = [];
  /** Ends of calls of this process since the last step began. */
  #ended = 0;
  #flushing: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #flushedAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UsageRollupOptions) {
    this.#options = options;
  }

  /** Begins with what earlier processes have left. */
  start(): void {
    this.#schedule(firstPauseMs);
  }

  /** Tells of the end of a call. Neither throws nor waits. */
  readonly add = (): void => {
    this.#ended += 1;
    if (this.#ended < callsMax) this.#schedule(pauseMs);
    else if (!this.#isWaiting) void this.flush();
  };

  /** Neither throws nor waits. */
  readonly addRefusal = (refused: RefusedRequest): void => {
    this.#cells.addRefusal(refused);
    this.#schedule(pauseMs);
  };

  /** Counts all calls that have ended by now. What fails is tried again later. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWaiting = true;
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  /** Counts what has ended, for a page that shows the sums. */
  async freshen(): Promise<void> {
    if (performance.now() - this.#flushedAtMs > freshMs) await this.flush();
    else await this.#flushing;
  }

  /** Deletes old sums of hours, and of names that are as old as the calls that are deleted. For a timer of the owner. */
  prune(): Promise<number> {
    const { store, retentionDays, now } = this.#options;
    const daysAgo = (days: number) => (Math.floor(now() / hourMs / dayHours) - days) * dayHours;
    return pruneUsage(store, {
      hourly: daysAgo(Math.min(retentionDays, hourlyDays)),
      retained: daysAgo(retentionDays),
    });
  }

  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    this.#timer ??= setTimeout(() => void this.flush(), ms).unref();
  }

  async #flush(): Promise<void> {
    this.#isWaiting = false;
    this.#flushedAtMs = performance.now();
    this.#ended = 0;
    try {
      await this.#writeRefusals();
      while (await this.#step()) await pause();
    } catch (error) {
      this.#options.log.warn("usage_not_counted", { error });
      this.#schedule(pauseMs);
    }
  }

  /** Counts the next calls. Returns whether there may be more. */
  async #step(): Promise<boolean> {
    const { store } = this.#options;
    const progress = await readProgress(store);
    const last = progress.until_seq ?? (await readLastSeq(store));
    if (last === undefined) this.#schedule(firstPauseMs);
    if (last === undefined || last <= progress.seq) return false;
    const until = Math.min(last, progress.seq + callsAtOnce);
    const cells = new Cells(this.#names);
    for await (const call of readUncounted(store, progress.seq, until)) cells.addCall(call);
    return this.#write(cells.toSlices(cellsAtOnce), progress, until);
  }

  /** Returns whether there may be more to count: all is written, or another process has written it. */
  async #write(slices: readonly Slice[], before: UsageProgress, until: number): Promise<boolean> {
    const { store } = this.#options;
    const all = { seq: until, until_seq: null, upto: null };
    if (slices.length === 0) return store.addUsage([], { before, next: all });
    let last = before;
    for (const [place, slice] of slices.entries()) {
      if (place > 0) await pause();
      const isLast = place === slices.length - 1;
      const next = isLast ? all : { seq: before.seq, until_seq: until, upto: slice.upto };
      // Another process has gone on: what is left is read anew.
      if (!(await store.addUsage(slice.toRows(), { before: last, next }))) return true;
      last = next;
    }
    return true;
  }

  /** One write whose outcome is unknown is given up: requests that were refused are no money. */
  async #writeRefusals(): Promise<void> {
    this.#slices.push(...this.#cells.toSlices(cellsAtOnce));
    this.#cells = new Cells(this.#names);
    for (let slice = this.#slices.shift(); slice !== undefined; slice = this.#slices.shift()) {
      try {
        await this.#options.store.addUsage(slice.toRows());
      } catch (error) {
        if (!isOutcomeUnknown(error)) this.#slices.unshift(slice);
        throw error;
      }
      await pause();
    }
  }
}

function readProgress({ db }: Store): Promise<UsageProgress> {
  return db.selectFrom("usage_progress").select(["seq", "until_seq", "upto"]).executeTakeFirstOrThrow();
}

/** In reads of their own, so that calls go on in between. */
async function* readUncounted({ db }: Store, from: number, until: number): AsyncGenerator<CountedCall> {
  for (let seq = from; seq < until; ) {
    const rows = await db
      .selectFrom("calls")
      .select(["seq", ...countedColumns])
      .where("seq", ">", seq)
      .where("seq", "<=", until)
      .where(isUncounted)
      .orderBy("seq")
      .limit(rowsAtOnce)
      .execute();
    yield* rows;
    if (rows.length < rowsAtOnce) return;
    seq = rows.at(-1)?.seq ?? until;
    await pause();
  }
}

/** Lets calls go on. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

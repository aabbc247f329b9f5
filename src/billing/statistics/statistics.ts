import type { Selectable } from "kysely";
import { callIdPrefix } from "../../contract/index.ts";
import { addStatistics, type CallEnded, type Database, pruneStatistics, type Store } from "../../db/index.ts";
import type { Billing } from "../billing.ts";
import type { RefusedRequest } from "../requests/refusal-log.ts";
import { Cells, type Slice } from "./cells.ts";
import { countGap, type GapProgress, type PartialFlush } from "./gaps.ts";
import { Names } from "./names.ts";

/** What a flush costs grows with the cells, not with the calls, so a busy process must not flush often. */
const flushMs = 60_000;
/** More cells than this are flushed before that: some ten megabytes. */
const cellsMax = 10_000;
/** Cells that are written in one transaction: some hundred rows, and a few milliseconds in the embedded store. */
const cellsAtOnce = 50;
/** A page that is read more often than this shows sums as old. */
const freshMs = 1000;
/** A call's id is older than its admission by the time that its body took. */
const marginMs = 600_000;
/** Between two looks for calls that nobody has counted. */
const restMs = 60_000;
const hourMs = 3_600_000;
const dayHours = 24;
/** Sums of hours are nearly as many as calls where each call has a key of its own; no page shows older ones. */
const hourlyDays = 32;

/** Options of {@link Statistics}. */
export interface StatisticsOptions {
  readonly store: Store;
  readonly retentionDays: number;
  readonly now: () => number;
  readonly log: { warn(event: string, fields: Record<string, unknown>): void };
}

/** What a flush writes: rows, and what is counted with them. */
interface Batch {
  /** What is still to be written. */
  readonly slices: Slice[];
  readonly mark: { from_id: string; settled_from: number; exceptions: string };
}

type Mark = Pick<Selectable<Database["statistics_gaps"]>, "settled_from" | "partial">;

/**
 * Sums of the requests of this process, for display. They are kept in memory and added to the database now and then, so that
 * a call pays next to nothing for them. With each flush the process writes which of its calls are counted; if it ends
 * without its last flush, the next one counts the rest from the calls themselves.
 */
export class Statistics {
  readonly #options: StatisticsOptions;
  readonly #names = new Names();
  /** Of the days that are counted later. */
  readonly #gapNames = new Names();
  #cells = new Cells(this.#names);
  #running: Billing["running"] = () => ({ openedAt: undefined, ended: [] });
  /** Ids of the calls that ended in the latest millisecond. */
  #latest: { at: number; ids: string[] } = { at: 0, ids: [] };
  /** The batch that failed, which may have been written all the same. */
  #pending: Batch | undefined;
  /** Its row in `statistics_gaps`. */
  #id = "";
  /** What that row says; undefined: there is none yet. */
  #mark: Mark | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #flushedAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #gap: GapProgress | undefined;
  #restUntilMs = 0;
  #isCounting = false;

  constructor(options: StatisticsOptions) {
    this.#options = options;
  }

  /** Neither throws nor waits. */
  readonly add = (end: CallEnded): void => {
    const { open, settledAt } = end;
    if (settledAt > this.#latest.at) this.#latest = { at: settledAt, ids: [open.callId] };
    else if (settledAt === this.#latest.at) this.#latest.ids.push(open.callId);
    const { accountId, keyId, model, openedAt, session } = open;
    this.#cells.addCall({ ...end, accountId, keyId, model, openedAt, session, plugin: end.route, tag: end.tag });
    this.#schedule();
  };

  /** Neither throws nor waits. */
  readonly addRefusal = (refused: RefusedRequest): void => {
    this.#cells.addRefusal(refused);
    this.#schedule();
  };

  /** Begins to count the calls of a ledger, before the first one. Nothing is written before. */
  async start(ledger: Pick<Billing, "running">): Promise<void> {
    this.#running = () => ledger.running();
    await this.#closeGaps();
    await this.#insertGap();
  }

  /** Adds what was counted so far to the database. A write that fails is tried again with the next one. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  /** Brings what this process counted into the database, for a page that shows it. */
  async freshen(): Promise<void> {
    if (performance.now() - this.#flushedAtMs > freshMs) await this.flush();
    else await this.#flushing;
  }

  /**
   * Counts some of the calls that processes have left uncounted. For a timer of the owner; a round without any costs
   * nothing.
   */
  async countGaps(): Promise<void> {
    if (this.#isCounting || performance.now() < this.#restUntilMs) return;
    this.#isCounting = true;
    try {
      if (this.#gap === undefined && this.#options.store.shared) await this.#closeGaps();
      this.#gap = await countGap(this.#options.store, this.#gap, this.#gapNames);
      if (this.#gap === undefined) this.#restUntilMs = performance.now() + restMs;
    } finally {
      this.#isCounting = false;
    }
  }

  /** Deletes old sums of hours, and of names that are as old as the calls that are deleted. For a timer of the owner. */
  prune(): Promise<number> {
    const { store, retentionDays, now } = this.#options;
    const daysAgo = (days: number) => (Math.floor(now() / hourMs / dayHours) - days) * dayHours;
    return pruneStatistics(store, { 1: daysAgo(Math.min(retentionDays, hourlyDays)), 24: daysAgo(retentionDays) });
  }

  async close(): Promise<void> {
    await this.flush();
    if (this.#pending !== undefined) return;
    await this.#options.store.db.deleteFrom("statistics_gaps").where("id", "=", this.#id).execute();
  }

  #schedule(): void {
    if (this.#cells.size >= cellsMax && this.#pending === undefined) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  async #flush(): Promise<void> {
    if (this.#mark === undefined) return;
    this.#flushedAtMs = performance.now();
    try {
      if (this.#pending !== undefined) await this.#write(this.#pending);
      if (this.#cells.size === 0) return;
      this.#pending = this.#take();
      await this.#write(this.#pending);
    } catch (error) {
      this.#options.log.warn("statistics_not_written", { error });
      this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
    }
  }

  /** All in one turn of the event loop, so that a call is either in the cells or among those still to be counted. */
  #take(): Batch {
    const at = this.#options.now();
    const { openedAt = at, ended } = this.#running();
    const late = ended.filter(({ settledAt }) => settledAt < at).map(({ open }) => open.callId);
    const early = this.#latest.at >= at ? this.#latest.ids : [];
    const slices = this.#cells.toSlices(cellsAtOnce);
    this.#cells = new Cells(this.#names);
    const from_id = callIdPrefix(Math.min(openedAt, at) - marginMs);
    return { slices, mark: { from_id, settled_from: at, exceptions: JSON.stringify([...late, ...early]) } };
  }

  /** Calls go on between two slices. */
  async #write({ slices, mark }: Batch): Promise<void> {
    for (let slice = slices[0]; slice !== undefined; slice = slices[0]) {
      const { settled_from, exceptions } = mark;
      const { upto } = slice;
      const partial = JSON.stringify({ settled_from, exceptions, upto } satisfies PartialFlush);
      const isOwn = await this.#writeSlice(slice, slices.length === 1 ? { ...mark, partial: null } : { partial });
      if (!isOwn) {
        // Another process took this one for dead, and counts its calls until now itself.
        this.#options.log.warn("statistics_counted_elsewhere", {});
        this.#pending = undefined;
        return await this.#insertGap();
      }
      slices.shift();
      if (slices.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    this.#pending = undefined;
  }

  /** Returns whether this process still counts its calls. */
  async #writeSlice(slice: Slice, mark: Partial<Mark> & Pick<Mark, "partial">): Promise<boolean> {
    const { store } = this.#options;
    const before = this.#mark as Mark;
    const isOwn = await store.db.transaction().execute(async (db) => {
      const own = db
        .selectFrom("statistics_gaps")
        .select(["settled_from", "partial"])
        .where("id", "=", this.#id)
        .where("until_id", "is", null);
      const row = await (store.shared ? own.forUpdate() : own).executeTakeFirst();
      // It differs where an earlier try, whose outcome was not known, was written.
      if (row?.settled_from === before.settled_from && row.partial === before.partial) {
        await db.updateTable("statistics_gaps").set(mark).where("id", "=", this.#id).execute();
        await addStatistics(db, store, slice.toRows());
      }
      return row !== undefined;
    });
    this.#mark = { ...before, ...mark };
    return isOwn;
  }

  /** Of dead processes: of any other than this one in the embedded store. */
  async #closeGaps(): Promise<void> {
    const { store, now } = this.#options;
    const open = store.db
      .updateTable("statistics_gaps")
      .set({ until_id: callIdPrefix(now() + (store.shared ? restMs : 0)) })
      .where("until_id", "is", null);
    if (!store.shared) return void (await open.execute());
    await open
      .where((where) =>
        where.not(
          where.exists(where.selectFrom("nodes").select("id").whereRef("nodes.id", "=", "statistics_gaps.node_id")),
        ),
      )
      .execute();
  }

  async #insertGap(): Promise<void> {
    const { store, now } = this.#options;
    const [id, at] = [crypto.randomUUID(), now()];
    const mark = { from_id: callIdPrefix(at - marginMs), settled_from: at, exceptions: "[]", partial: null };
    await store.db
      .insertInto("statistics_gaps")
      .values({ id, node_id: store.nodeId, until_id: null, ...mark })
      .execute();
    this.#id = id;
    this.#mark = mark;
  }
}

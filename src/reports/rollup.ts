import type { Selectable } from "kysely";
import {
  callSums,
  type Database,
  figureColumns,
  isOutcomeUnknown,
  isUncounted,
  latencyBuckets,
  pruneUsage,
  readLastSeq,
  type Store,
  type UsageKind,
  type UsageProgress,
  type UsageRow,
  type UsageStep,
  type UsageSum,
  usageSums,
} from "../db/index.ts";
import { pause } from "./pause.ts";
import type { RefusedRequest } from "./refusal-log.ts";
import { findLatencyBucket } from "./statistics.ts";

/** The cost of a step grows with the rows of `usage` that it touches, not with the calls, so steps must be few. */
const pauseMs = 60_000;
/** Pause after the start, before the calls left by the previous process are counted. */
const firstPauseMs = 1000;
/** Once this number of calls has ended, the next step begins without a pause: pages wait for uncounted calls. */
const callsMax = 5000;
/** Calls of one step, whose sums are in memory. */
const callsAtOnce = 10_000;
/** Numbers of calls that are read at once, in the embedded store while the event loop stands still. */
const rowsAtOnce = 200;
/** Sums that are written in one transaction: some hundred rows, and a few milliseconds in the embedded store. */
const cellsAtOnce = 40;
/** A page that is read more often than this shows sums as old. */
const freshMs = 1000;
const hourMs = 3_600_000;
const dayHours = 24;
/** Sums by name are nearly as many as calls where each call has its own; no page shows older hours. */
const hourlyDays = 32;

/** Options of {@link UsageRollup}. */
export interface UsageRollupOptions {
  readonly store: Store;
  readonly retentionDays: number;
  readonly now: () => number;
  readonly log: { warn(event: string, fields: Record<string, unknown>): void };
}

/**
 * Adds up ended calls by hour and day, in the order of writing their ends. The row that records its progress changes in
 * the same transactions as the sums: after a crash, or when another process has continued in the meantime, it resumes
 * where that row says. Refused requests are counted in memory and added now and then.
 */
export class UsageRollup {
  readonly #options: UsageRollupOptions;
  readonly #names = new Names();
  /** Cells of refused requests. */
  #cells = new Cells(this.#names);
  /** Cells of refused requests that are being written to the database. */
  readonly #slices: Slice[] = [];
  /** Ends of calls of this process since the last step began. */
  #ended = 0;
  /** When the first call ended that is not counted yet, and the first since the running step began, by the monotonic clock. */
  #uncountedSinceMs: number | undefined;
  #endedSinceMs: number | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #freshenedAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UsageRollupOptions) {
    this.#options = options;
  }

  /** Begins with the calls left by earlier processes. */
  start(): void {
    this.#schedule(firstPauseMs);
  }

  /** Tells of the end of a call. Neither throws nor waits. */
  readonly add = (): void => {
    this.#ended += 1;
    this.#endedSinceMs ??= performance.now();
    if (this.#ended < callsMax) this.#schedule(pauseMs);
    else if (!this.#isWaiting) void this.flush();
  };

  /** How long a call of this process that has ended has waited to be counted, in milliseconds; 0: none waits. */
  get lagMs(): number {
    const sinceMs = this.#uncountedSinceMs ?? this.#endedSinceMs;
    return sinceMs === undefined ? 0 : performance.now() - sinceMs;
  }

  /** Neither throws nor waits. */
  readonly addRefusal = (refused: RefusedRequest): void => {
    this.#cells.addRefusal(refused);
    this.#schedule(pauseMs);
  };

  /** Counts all calls that have ended by now. A failed step is retried later. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWaiting = true;
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  /** Counts the ended calls for a page that shows the sums, even if the timer has just counted. */
  async freshen(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#freshenedAtMs <= freshMs) return this.#flushing;
    this.#freshenedAtMs = nowMs;
    await this.flush();
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
    this.#ended = 0;
    this.#uncountedSinceMs ??= this.#endedSinceMs;
    this.#endedSinceMs = undefined;
    try {
      await this.#writeRefusals();
      while (await this.#step()) await pause();
      this.#uncountedSinceMs = undefined;
    } catch (error) {
      this.#options.log.warn("usage_not_counted", { error });
      this.#schedule(pauseMs);
    }
  }

  /**
   * Counts the next calls. Returns whether more calls had ended before it began. Calls that end during a step wait for
   * the next time: otherwise it would continue under load with ever smaller steps, each writing a row for nearly every
   * call.
   */
  async #step(): Promise<boolean> {
    const { store } = this.#options;
    const { epoch } = store;
    const progress = await readProgress(store);
    const last = progress.until_seq ?? (await readLastSeq(store));
    if (last === undefined) this.#schedule(firstPauseMs);
    if (last === undefined || last <= progress.seq) return false;
    const until = Math.min(last, progress.seq + callsAtOnce);
    const cells = new Cells(this.#names);
    for await (const call of readUncounted(store, progress.seq, until)) cells.addCall(call);
    const isWritten = await this.#write(cells.toSlices(cellsAtOnce), { before: progress, epoch }, until);
    return !isWritten || until < last || progress.until_seq !== null;
  }

  /** Returns whether everything was written; if not, another process has continued, and the rest is read again. */
  async #write(
    slices: readonly Slice[],
    { before, epoch }: Pick<UsageStep, "before" | "epoch">,
    until: number,
  ): Promise<boolean> {
    const { store } = this.#options;
    const all = { seq: until, until_seq: null, upto: null };
    if (slices.length === 0) return store.addUsage([], { before, next: all, epoch });
    let last = before;
    for (const [place, slice] of slices.entries()) {
      if (place > 0) await pause();
      const isLast = place === slices.length - 1;
      const next = isLast ? all : { seq: before.seq, until_seq: until, upto: slice.upto };
      if (!(await store.addUsage(slice.toRows(), { before: last, next, epoch }))) return false;
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

/**
 * Reads calls in several small reads, and other calls go on in between. Each read has an upper bound: with a limit
 * alone, PostgreSQL sorts all remaining rows for each read while its statistics of a growing table are poor.
 */
async function* readUncounted({ db }: Store, from: number, until: number): AsyncGenerator<CallRow> {
  for (let seq = from; seq < until; seq += rowsAtOnce) {
    if (seq > from) await pause();
    yield* await db
      .selectFrom("calls")
      .select(countedColumns)
      .where("seq", ">", seq)
      .where("seq", "<=", Math.min(seq + rowsAtOnce, until))
      .where(isUncounted)
      .orderBy("seq")
      .execute();
  }
}

const bucketHours = [1, 24] as const;

const placeOf = Object.fromEntries(usageSums.map((name, place) => [name, place])) as Record<UsageSum, number>;
const firstBytes = usageSums.length;
const durations = firstBytes + latencyBuckets;

/** Columns counted of a call that has ended. */
const countedColumns = [
  ...([
    "state",
    "account_id",
    "key_id",
    "model",
    "plugin",
    "status",
    "session",
    "tag",
    "end_user",
    "opened_at",
    "cache_miss",
  ] as const),
  ...(["first_byte_ms", "duration_ms"] as const),
  ...callSums,
] as const;
type CallRow = Pick<Selectable<Database["calls"]>, (typeof countedColumns)[number]>;

interface Cell {
  readonly kind: UsageKind;
  readonly hour: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly plugin: string;
  readonly status: number;
  readonly name: string;
  readonly figures: Float64Array;
}

/** A part of the cells that is written at once. */
interface Slice {
  /** The last of its accounts. */
  readonly upto: string;
  toRows(): UsageRow[];
}

type CellKey = Omit<Cell, "figures">;
const unnamed = { keyId: "", model: "", plugin: "", status: 0 };

/** Sums of requests in memory, by all that statistics tell apart. */
class Cells {
  readonly #cells = new Map<string, Cell>();
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  addCall(call: CallRow): void {
    const { account_id: accountId, key_id: keyId, model, plugin, status, session, tag, end_user: endUser } = call;
    const hour = Math.floor(call.opened_at / hourMs);
    const key = {
      kind: "call",
      hour,
      accountId,
      keyId,
      model,
      plugin: plugin ?? "",
      status: status ?? 0,
      name: "",
    } as const;
    addCallTo(this.#get(key).figures, call);
    if (call.cache_miss !== null) addMissTo(this.#get({ ...key, kind: "miss", name: call.cache_miss }).figures, call);
    for (const [kind, values] of [
      ["session", session],
      ["tag", tag],
      ["end_user", endUser],
    ] as const) {
      if (values === null) continue;
      const name = this.#names.take({ kind, hour, accountId, name: values });
      addCallTo(this.#get({ ...unnamed, kind, hour, accountId, name }).figures, call);
    }
  }

  /** Without its model: a client wrote that name, and it may be anything. */
  addRefusal({ opened_at: openedAt, account_id: accountId, key_id: keyId, status }: RefusedRequest): void {
    const hour = Math.floor(openedAt / hourMs);
    add(this.#get({ ...unnamed, kind: "call", hour, accountId, keyId, status, name: "" }).figures, placeOf.refused, 1);
  }

  /** The rows to add to, of each hour and of its day, in slices of about `most` cells, each of whole accounts, in the order of these. */
  toSlices(most: number): Slice[] {
    const cells = [...this.#cells.values()].sort((one, other) =>
      one.accountId === other.accountId ? 0 : one.accountId < other.accountId ? -1 : 1,
    );
    const slices: Cell[][] = [];
    for (const cell of cells) {
      const slice = slices.at(-1);
      const isFull = slice !== undefined && slice.length >= most && slice.at(-1)?.accountId !== cell.accountId;
      if (slice === undefined || isFull) slices.push([cell]);
      else slice.push(cell);
    }
    return slices.map((slice) => ({ upto: slice.at(-1)?.accountId ?? "", toRows: () => toRows(slice) }));
  }

  #get(key: CellKey): Cell {
    const { kind, hour, accountId, keyId, model, plugin, status, name } = key;
    const text = `${kind}\n${hour}\n${accountId}\n${keyId}\n${status}\n${model}\n${plugin}\n${name}`;
    let cell = this.#cells.get(text);
    if (cell === undefined) {
      cell = { ...key, figures: new Float64Array(figureColumns.length) };
      this.#cells.set(text, cell);
    }
    return cell;
  }
}

function toRows(cells: Iterable<Cell>): UsageRow[] {
  const rows = new Map<string, UsageRow & { figures: Float64Array }>();
  for (const cell of cells) {
    const { hour, figures } = cell;
    for (const hours of bucketHours) {
      for (const [kind, ...names] of toKeys(cell, hours)) {
        const key = [hours, kind, hour - (hour % hours), ...names];
        const text = key.join("\n");
        const row = rows.get(text);
        if (row === undefined) rows.set(text, { key, figures: figures.slice() });
        else for (let place = 0; place < figures.length; place++) add(row.figures, place, figures[place] as number);
      }
    }
  }
  return [...rows.values()];
}

/** The rows of a bucket that a cell is part of: kind, account, key, model, plugin, status and name. */
function toKeys({ kind, accountId, keyId, model, plugin, status, name }: Cell, hours: 1 | 24) {
  const own = [kind, accountId, keyId, model, plugin, status, name] as const;
  if (kind === "session" || kind === "end_user") return [own];
  if (kind === "tag") return [own, [kind, "", "", "", "", 0, name] as const];
  const ofAll = [kind, "", "", model, plugin, status, name] as const;
  if (kind === "miss") return [own, ofAll];
  // A key calls only a few models in an hour, so pages add up its rows.
  if (hours === 1) return [own, ofAll];
  const ofKey = ["key", accountId, keyId, "", "", 0, ""] as const;
  return [own, ofAll, ofKey];
}

/** Adds the missed tokens and their cost alone: the other figures of the call are in its own sums. */
function addMissTo(figures: Float64Array, call: CallRow): void {
  add(figures, placeOf.requests, 1);
  for (const name of ["cache_missed_tokens", "cache_lost_nanodollars"] as const) {
    add(figures, placeOf[name], call[name] ?? 0);
  }
}

function addCallTo(figures: Float64Array, call: CallRow): void {
  add(figures, call.state === "settled" ? placeOf.requests : placeOf.failures, 1);
  if (call.status !== null && call.status >= 400) add(figures, placeOf.failed, 1);
  for (const name of callSums) {
    const amount = call[name];
    if (amount !== null) add(figures, placeOf[name], amount);
  }
  if (call.first_byte_ms !== null) add(figures, firstBytes + findLatencyBucket(call.first_byte_ms), 1);
  if (call.duration_ms !== null) add(figures, durations + findLatencyBucket(call.duration_ms), 1);
}

function add(figures: Float64Array, place: number, amount: number): void {
  figures[place] = (figures[place] as number) + amount;
}

/** Names of one account and day that are counted apart. */
const namesMax: Readonly<Record<Exclude<UsageKind, "call" | "key" | "miss">, number>> = {
  session: 500,
  tag: 100,
  end_user: 500,
};
/** Names of all accounts that are remembered, some 10 MB. */
const rememberedMax = 50_000;

/** Stands for the names that are too many; no session or tag can be called so, and an end user of this name counts among them. */
const otherName = "*";

interface Named {
  readonly kind: keyof typeof namesMax;
  readonly hour: number;
  readonly accountId: string;
  readonly name: string;
}

/** The names that clients gave on a day: the first ones are counted apart, and those that are too many as one. */
class Names {
  #day = 0;
  #remembered = 0;
  #names = new Map<string, Set<string>>();

  /** The name to count by. */
  take({ kind, hour, accountId, name }: Named): string {
    const day = Math.floor(hour / 24);
    if (day > this.#day) {
      this.#day = day;
      this.#remembered = 0;
      this.#names = new Map();
    }
    const owner = `${day}\n${kind}\n${accountId}`;
    let names = this.#names.get(owner);
    if (names?.has(name)) return name;
    if (this.#remembered >= rememberedMax) return otherName;
    if (names === undefined) {
      names = new Set();
      this.#names.set(owner, names);
    }
    if (names.size >= namesMax[kind]) return otherName;
    names.add(name);
    this.#remembered += 1;
    return name;
  }
}

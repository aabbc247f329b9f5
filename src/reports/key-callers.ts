import { sql } from "kysely";
import { deleteInBatches, isOutcomeUnknown, type Store } from "../db/index.ts";
import { pause } from "./pause.ts";

/** From where a key is used: a network, and a program by its user agent. */
export interface CallerOrigin {
  /** IPv4 /24 or IPv6 /48. */
  readonly network: string;
  /** First word of the user agent; empty without one. */
  readonly program: string;
}

/** Requests of a key from one origin. */
export interface KeyCaller extends CallerOrigin {
  readonly requests: number;
  /** Milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Origins of one key and day that are counted apart; all others are one row. */
const originsOfDayMax = 50;
/** Stands for the origins beyond that, in both columns. */
const otherOrigins = "*";
const rest: CallerOrigin = { network: otherOrigins, program: otherOrigins };

/** Rows in memory until they are written; requests beyond that are not counted. */
const cellsMax = 100_000;
/** Rows of one statement. */
const rowsAtOnce = 100;
const dayMs = 86_400_000;
/** A page that is read more often than this shows its last state. */
const freshMs = 1000;

interface Cell extends CallerOrigin {
  readonly keyId: string;
  readonly day: number;
  requests: number;
  firstAt: number;
  lastAt: number;
}

/** Options of {@link KeyCallers}. */
interface KeyCallersOptions {
  readonly store: Store;
  readonly retentionDays: number;
  readonly now: () => number;
}

/**
 * Counts in memory from where keys are used, and adds the counts to the sums by day now and then: a request costs no
 * write. Counts of several processes add up.
 */
export class KeyCallers {
  readonly #options: KeyCallersOptions;
  /** Cells by key and day, then by origin. */
  #days = new Map<string, Map<string, Cell>>();
  #size = 0;
  #writing: Promise<void> = Promise.resolve();
  #freshenedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: KeyCallersOptions) {
    this.#options = options;
  }

  /** Neither throws nor waits. */
  note(keyId: string, { network, program }: CallerOrigin, at: number): void {
    const day = Math.floor(at / dayMs);
    this.#add({ keyId, day, network, program, requests: 1, firstAt: at, lastAt: at });
  }

  /** Writes what was counted; what cannot be written is kept for the next time. */
  flush(): Promise<void> {
    const writing = this.#writing.then(() => this.#write());
    this.#writing = writing.catch(() => undefined);
    return writing;
  }

  /** Writes what was counted for a page that shows it. */
  async freshen(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#freshenedAtMs <= freshMs) return await this.#writing;
    this.#freshenedAtMs = nowMs;
    await this.flush();
  }

  /** Deletes sums that are as old as the calls that are deleted. For a timer of the owner. */
  prune(): Promise<number> {
    const { store, retentionDays, now } = this.#options;
    return deleteInBatches(store.db, "key_callers", sql`day < ${Math.floor(now() / dayMs) - retentionDays}`);
  }

  #add(added: Cell): void {
    const { keyId, day } = added;
    const dayName = `${day} ${keyId}`;
    let cells = this.#days.get(dayName);
    if (cells === undefined) {
      if (this.#size >= cellsMax) return;
      cells = new Map();
      this.#days.set(dayName, cells);
    }
    let name = `${added.network} ${added.program}`;
    let cell = cells.get(name);
    if (cell === undefined && (cells.size >= originsOfDayMax || this.#size >= cellsMax)) {
      name = `${rest.network} ${rest.program}`;
      cell = cells.get(name);
      if (cell === undefined) cell = { ...added, ...rest, requests: 0 };
    }
    if (cell === undefined) cell = { ...added, requests: 0 };
    if (!cells.has(name)) {
      cells.set(name, cell);
      this.#size += 1;
    }
    cell.requests += added.requests;
    cell.firstAt = Math.min(cell.firstAt, added.firstAt);
    cell.lastAt = Math.max(cell.lastAt, added.lastAt);
  }

  async #write(): Promise<void> {
    const cells = [...this.#days.values()].flatMap((ofDay) => [...ofDay.values()]).sort(compareCells);
    this.#days = new Map();
    this.#size = 0;
    for (let start = 0; start < cells.length; start += rowsAtOnce) {
      if (start > 0) await pause();
      try {
        await this.#writeSome(cells.slice(start, start + rowsAtOnce));
      } catch (error) {
        // Counts that may have been written are given up: they are no money.
        for (const cell of cells.slice(isOutcomeUnknown(error) ? start + rowsAtOnce : start)) this.#add(cell);
        throw error;
      }
    }
  }

  /** Adds only as many new rows as keep a key and day within their bound. */
  async #writeSome(cells: readonly Cell[]): Promise<void> {
    const { db } = this.#options.store;
    const stored = await db
      .selectFrom("key_callers")
      .select(["key_id", "day", "network", "program"])
      .where("key_id", "in", [...new Set(cells.map(({ keyId }) => keyId))])
      .where("day", "in", [...new Set(cells.map(({ day }) => day))])
      .execute();
    const counted = new Map<string, Set<string>>();
    const originsOf = (day: number, keyId: string) => {
      const name = `${day} ${keyId}`;
      const origins = counted.get(name) ?? new Set();
      counted.set(name, origins);
      return origins;
    };
    for (const { key_id: keyId, day, network, program } of stored) originsOf(day, keyId).add(`${network} ${program}`);
    const rows = new Map<string, Cell>();
    for (const cell of cells) {
      const origins = originsOf(cell.day, cell.keyId);
      const origin = `${cell.network} ${cell.program}`;
      const isRest = cell.network !== otherOrigins && !origins.has(origin) && origins.size >= originsOfDayMax;
      if (!isRest) origins.add(origin);
      const row = isRest ? { ...cell, ...rest } : { ...cell };
      const name = `${row.day} ${row.keyId} ${row.network} ${row.program}`;
      const present = rows.get(name);
      if (present === undefined) rows.set(name, row);
      else {
        present.requests += row.requests;
        present.firstAt = Math.min(present.firstAt, row.firstAt);
        present.lastAt = Math.max(present.lastAt, row.lastAt);
      }
    }
    await db
      .insertInto("key_callers")
      .values(
        // Two nodes that add to the same rows do so in the same order.
        [...rows.values()].sort(compareCells).map(({ keyId, firstAt, lastAt, ...row }) => ({
          key_id: keyId,
          day: row.day,
          network: row.network,
          program: row.program,
          requests: row.requests,
          first_at: firstAt,
          last_at: lastAt,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["key_id", "day", "network", "program"]).doUpdateSet({
          requests: sql`key_callers.requests + excluded.requests`,
          first_at: sql`case when excluded.first_at < key_callers.first_at then excluded.first_at else key_callers.first_at end`,
          last_at: sql`case when excluded.last_at > key_callers.last_at then excluded.last_at else key_callers.last_at end`,
        }),
      )
      .execute();
  }
}

function compareCells(one: Cell, other: Cell): number {
  return compare(one.keyId, other.keyId) || one.day - other.day || compare(toName(one), toName(other));
}

const toName = ({ network, program }: CallerOrigin) => `${network} ${program}`;

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** An origin that was first seen within these days is new, if the key is older in use. */
const newDays = 7;

/** Reads from where a key was used in the last days. The origin that was last seen comes first; {@link otherOrigins} is last. */
export async function readKeyCallers(
  { db }: Pick<Store, "db">,
  { keyId, days, now }: { readonly keyId: string; readonly days: number; readonly now: number },
): Promise<(KeyCaller & { readonly isNew: boolean })[]> {
  // All days that are kept decide what is new; the sums cover the requested days.
  const from = Math.floor(now / dayMs) - days + 1;
  const rows = await db
    .selectFrom("key_callers")
    .select(["network", "program"])
    .select(({ fn }) => [fn.min("first_at").as("first_at"), fn.max("last_at").as("last_at")])
    .select(sql<number>`sum(case when day >= ${from} then requests else 0 end)`.as("requests"))
    .where("key_id", "=", keyId)
    .groupBy(["network", "program"])
    .execute();
  const all = rows.map(({ network, program, ...row }): KeyCaller => {
    return {
      network,
      program,
      requests: Number(row.requests),
      firstAt: Number(row.first_at),
      lastAt: Number(row.last_at),
    };
  });
  const startedAt = Math.min(...all.map(({ firstAt }) => firstAt));
  const firstOf = new Map<string, number>();
  for (const { network, firstAt } of all) firstOf.set(network, Math.min(firstAt, firstOf.get(network) ?? firstAt));
  const isNew = ({ network }: KeyCaller) => {
    const firstAt = firstOf.get(network) ?? startedAt;
    return network !== otherOrigins && firstAt > now - newDays * dayMs && firstAt > startedAt + dayMs;
  };
  return all
    .filter(({ requests }) => requests > 0)
    .sort(
      (one, other) =>
        Number(one.network === otherOrigins) - Number(other.network === otherOrigins) ||
        other.lastAt - one.lastAt ||
        compare(toName(one), toName(other)),
    )
    .map((caller) => ({ ...caller, isNew: isNew(caller) }));
}

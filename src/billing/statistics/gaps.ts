import { type Selectable, sql } from "kysely";
import type { MeterName, Meters } from "../../contract/index.ts";
import { addStatistics, type Database, meterColumns, type Store } from "../../db/index.ts";
import { Cells } from "./cells.ts";
import type { Names } from "./names.ts";

/** Calls that are read at once, in the embedded store while the event loop stands still. */
const rowsAtOnce = 200;
/** More cells than this are written. */
const cellsMax = 100;

type Gap = Selectable<Database["statistics_gaps"]>;
type Call = Selectable<Database["calls"]>;

/** What a flush has counted before its end: the calls of the accounts up to one. */
export interface PartialFlush {
  readonly settled_from: number;
  readonly exceptions: string;
  readonly upto: string;
}

/** Calls of a gap that were counted and are not written yet. */
export interface GapProgress {
  readonly gap: Gap;
  readonly cells: Cells;
  readonly isCounted: (call: Call) => boolean;
  /** The last call that was read. */
  at: string;
}

/**
 * Counts the next calls that their process has not counted. What was counted is written with how far it was read, so it
 * may be left at any time.
 *
 * @returns What to go on with; undefined when no calls are uncounted.
 */
export async function countGap(
  store: Store,
  progress: GapProgress | undefined,
  names: Names,
): Promise<GapProgress | undefined> {
  const current = progress ?? (await beginGap(store, names));
  if (current === undefined) return undefined;
  const rows = await readCalls(store, current);
  for (const row of rows) if (!current.isCounted(row)) current.cells.addCall(toEndedCall(row));
  current.at = rows.at(-1)?.id ?? current.at;
  const isEnd = rows.length < rowsAtOnce;
  if (!isEnd && current.cells.size < cellsMax) return current;
  await write(store, current, isEnd);
  return await beginGap(store, names);
}

async function beginGap({ db }: Store, names: Names): Promise<GapProgress | undefined> {
  const gap = await db
    .selectFrom("statistics_gaps")
    .selectAll()
    .where("until_id", "is not", null)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (gap === undefined) return undefined;
  const isBefore = createTest(gap);
  const partial: PartialFlush | undefined = gap.partial === null ? undefined : JSON.parse(gap.partial);
  const isBeforePartial = partial && createTest(partial);
  const isCounted = (call: Call) =>
    (call.state !== "settled" && call.state !== "released") ||
    isBefore(call) ||
    (partial !== undefined && call.account_id <= partial.upto && isBeforePartial?.(call) === true);
  return { gap, cells: new Cells(names), isCounted, at: gap.from_id };
}

/** Whether a call was counted by the flush that wrote this. */
function createTest({ settled_from: from, exceptions }: Pick<Gap, "settled_from" | "exceptions">) {
  const ids = new Set<string>(JSON.parse(exceptions));
  return ({ id, settled_at: settledAt }: Call) => settledAt < from !== ids.has(id);
}

function readCalls({ db }: Store, { gap, at }: GapProgress): Promise<Call[]> {
  const { node_id: nodeId, until_id: untilId } = gap;
  return db
    .selectFrom("calls")
    .selectAll()
    .where("id", ">", at)
    .where("id", "<=", untilId)
    .$if(nodeId !== null, (query) => query.where("node_id", "=", nodeId))
    .orderBy("id")
    .limit(rowsAtOnce)
    .execute();
}

/** What another process has written meanwhile is not written again. */
async function write(store: Store, { gap, cells, at }: GapProgress, isEnd: boolean): Promise<void> {
  await store.db.transaction().execute(async (db) => {
    const where = sql<boolean>`id = ${gap.id} and from_id = ${gap.from_id}`;
    const [changed] = isEnd
      ? await db.deleteFrom("statistics_gaps").where(where).returning("id").execute()
      : await db.updateTable("statistics_gaps").set({ from_id: at }).where(where).returning("id").execute();
    if (changed !== undefined) await addStatistics(db, store, cells.toRows());
  });
}

function toEndedCall(row: Call) {
  return {
    state: row.state as "settled" | "released",
    meters: toMeters(row),
    status: row.status ?? 0,
    chargedNanodollars: row.charged_nanodollars ?? 0,
    quotaTokens: row.quota_tokens ?? 0,
    openedAt: row.opened_at,
    accountId: row.account_id,
    keyId: row.key_id,
    model: row.model,
    plugin: row.route,
    costNanodollars: row.cost_nanodollars,
    firstByteMs: row.first_byte_ms,
    durationMs: row.duration_ms,
    session: row.session,
    tag: row.tag,
  };
}

function toMeters(row: Call): Meters {
  const meters: Partial<Record<MeterName, number>> = {};
  for (const [name, column] of Object.entries(meterColumns)) {
    const amount = row[column];
    if (amount !== null) meters[name as MeterName] = amount;
  }
  return meters;
}

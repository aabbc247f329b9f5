import type { DatabaseSync } from "node:sqlite";
import { CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import { meterColumns } from "../contract/index.ts";
import { toRanges } from "./ranges.ts";
import type { Database, UsageKey, UsageKind } from "./schema.ts";

/** The primary key, in its order. */
const usageKey = [
  ...(["hours", "kind", "hour", "account_id", "key_id", "model", "plugin", "status", "name"] as const),
] as const satisfies readonly (keyof UsageKey)[];

/** Summed up under the same name as in `calls`. */
export const callSums = [
  ...meterColumns,
  ...(["cost_nanodollars", "provider_cost_nanodollars", "charged_nanodollars", "quota_tokens"] as const),
  ...(["cache_missed_tokens", "cache_lost_nanodollars", "cache_saved_nanodollars"] as const),
] as const;

/** The sums at the start of {@link UsageRow.figures}; the histograms of time to first token and duration follow. */
export const usageSums = [...(["requests", "failures", "refused", "failed"] as const), ...callSums] as const;
export type UsageSum = (typeof usageSums)[number];

/** Buckets of a latency histogram. */
export const latencyBuckets = 24;

const histogram = (measure: "f" | "d") => Array.from({ length: latencyBuckets }, (_, bucket) => `${measure}${bucket}`);
/** Counts of calls by the time to their first byte, and by their duration. */
const histogramColumns: readonly string[] = [...histogram("f"), ...histogram("d")];
export const figureColumns: readonly string[] = [...usageSums, ...histogramColumns];

/**
 * Sums of columns of `usage_rows`, for the list of a select. Queries over many rows read the table, where most figures
 * are null, and not the view: handling the view's zeros would double their work.
 */
export function sumsOf(columns: readonly string[]): string {
  return columns.map((name) => `cast(coalesce(sum(${name}), 0) as bigint) as ${name}`).join(", ");
}

/** An addition to a row: its key and its figures by {@link figureColumns}. */
export interface UsageRow {
  readonly key: readonly (string | number)[];
  readonly figures: Float64Array | readonly number[];
}

/** How far the roll-up has come: the row of `usage_progress`. */
export type UsageProgress = Omit<Database["usage_progress"], "id">;

/** A step of the roll-up: the progress that is expected before it, and the progress after the added sums. */
export interface UsageStep {
  readonly before: UsageProgress;
  readonly next: UsageProgress;
  /** {@link Store.epoch} from before the calls were read: sums of another database's calls are not added to this one. */
  readonly epoch: number;
}

/** Zeros are stored as null, both in added and in existing figures. */
const upsert = (source: string, added: readonly string[] = figureColumns) => `insert into usage_rows as s
  (${[...usageKey, ...added]}) ${source} on conflict (${usageKey}) do update
  set ${added.map((name) => `${name} = coalesce(s.${name} + excluded.${name}, s.${name}, excluded.${name})`)}`;

/** A figure in its stored form. */
function toStored(figure: number): number | null {
  return figure === 0 ? null : figure;
}

const moveProgress = (place: (number: number) => string) => `update usage_progress
  set seq = ${place(1)}, until_seq = ${place(2)}, upto = ${place(3)}
  where seq = ${place(4)} and until_seq is not distinct from ${place(5)} and upto is not distinct from ${place(6)}`;

function toValues({ before, next }: UsageStep) {
  return [next.seq, next.until_seq, next.upto, before.seq, before.until_seq, before.upto];
}

/** Returns the implementation of `Store.addUsage` for an embedded store; the result is whether anything was written. */
export function prepareUsageWriter(database: DatabaseSync): (rows: readonly UsageRow[], step?: UsageStep) => boolean {
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  const add = database.prepare(upsert(`values (${[...usageKey, ...figureColumns].map(() => "?")})`));
  const move = database.prepare(moveProgress((number) => `?${number}`));
  return (rows, step) => {
    begin.run();
    try {
      const isNext = step === undefined || move.run(...toValues(step)).changes > 0;
      if (isNext) for (const { key, figures } of rows) add.run(...key, ...Array.from(figures, toStored));
      commit.run();
      return isNext;
    } catch (error) {
      // A full disk can end the transaction by itself.
      if (database.isTransaction) database.exec("rollback");
      throw error;
    }
  };
}

const numeric = new Set<string>(["hours", "hour", "status", ...figureColumns]);
/** Adds to some of the figures, which follow the key in each list of the JSON. */
function addJson(added: readonly string[]): string {
  const values = [...usageKey, ...added].map((name, place) =>
    numeric.has(name) ? `(r->>${place})::bigint` : `r->>${place}`,
  );
  return upsert(`select ${values} from jsonb_array_elements($1::jsonb) as r`, added);
}
const moveShared = moveProgress((number) => `$${number}${number === 3 || number === 6 ? "::text" : "::bigint"}`);

/**
 * `Store.addUsage` of PostgreSQL. Two nodes that add to the same rows do so in the order of their keys, and never wait for one another. Figures that
 * are zero in all rows, most of them, are neither sent nor added.
 */
export function addSharedUsage(
  { db, readEpoch }: { db: Kysely<Database>; readEpoch: () => number },
  rows: readonly UsageRow[],
  step?: UsageStep,
): Promise<boolean> {
  const sorted = rows.toSorted((one, other) => byKey(one.key, other.key));
  const places = [...figureColumns.keys()].filter((place) => rows.some(({ figures }) => figures[place] !== 0));
  // As text at once: lists of all figures would take most of the time.
  const values = sorted.map(({ key, figures }) => {
    const added = places.map((place) => String(toStored(figures[place] as number)));
    return `${JSON.stringify(key).slice(0, -1)}${["", ...added].join()}]`;
  });
  return db.transaction().execute(async (transaction) => {
    if (step !== undefined) {
      if (step.epoch !== readEpoch()) return false;
      const moved = await transaction.executeQuery(CompiledQuery.raw(moveShared, toValues(step)));
      if (moved.numAffectedRows === 0n) return false;
    }
    if (places.length === 0) return true;
    const statement = addJson(places.map((place) => figureColumns[place] as string));
    await transaction.executeQuery(CompiledQuery.raw(statement, [`[${values.join()}]`]));
    return true;
  });
}

function byKey(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  for (let place = 0; place < usageKey.length; place++) {
    const [a, b] = [one[place] as string | number, other[place] as string | number];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/**
 * Whether a row of `calls` is not in the sums yet. An abandoned call never is. Both engines find such rows by their
 * `seq`, because the value it is compared with is known before the first row is read.
 */
export const isUncounted: RawBuilder<boolean> = sql`calls.seq > (select seq from usage_progress)
  and (calls.seq > (select coalesce(until_seq, 0) from usage_progress)
    or calls.account_id > (select coalesce(upto, '') from usage_progress)) and calls.state <> 'abandoned'`;

const lockWaitMs = 50;
/** PostgreSQL's code of a lock that was not to be had in this time. */
const lockNotAvailable = "55P03";

/**
 * The highest `seq` such that no end of a call with a lower one is still to be written; undefined if unknown now.
 * Writers of ends share a lock that this query waits for. It does not wait long, because later writers queue behind it.
 */
export async function readLastSeq({
  db,
  shared,
}: {
  db: Kysely<Database>;
  shared: boolean;
}): Promise<number | undefined> {
  if (!shared) return maxSeq(db);
  const locked = db.transaction().execute(async (transaction) => {
    await sql.raw(`set local lock_timeout = ${lockWaitMs}`).execute(transaction);
    await sql`select pg_advisory_xact_lock(hashtextextended('ends of calls', 0))`.execute(transaction);
    return maxSeq(transaction);
  });
  return locked.catch((error) => {
    if ((error as { code?: unknown }).code === lockNotAvailable) return undefined;
    throw error;
  });
}

async function maxSeq(db: Kysely<Database>): Promise<number> {
  const { last } = await db
    .selectFrom("calls")
    .select(({ fn }) => fn.max<number | null>("seq").as("last"))
    .executeTakeFirstOrThrow();
  return last ?? 0;
}

/** Sums that expire: the length of their buckets, their kind, and the first hour that stays. */
const expiring: readonly [hours: 1 | 24, kind: UsageKind, before: keyof UsageExpiry][] = [
  [1, "call", "retained"],
  [1, "miss", "retained"],
  [1, "session", "hourly"],
  [1, "tag", "hourly"],
  [1, "end_user", "hourly"],
  [24, "session", "retained"],
  [24, "tag", "retained"],
  [24, "end_user", "retained"],
];

/** The first hours that stay, counted from 1970. */
export interface UsageExpiry {
  /** First hour of the sums of names that pages show by the hour. */
  readonly hourly: number;
  /** First hour of the sums that are kept as long as calls are. */
  readonly retained: number;
}

/** Deletes the oldest bucket of each kind that expires, some accounts at a time; returns how many rows there were. */
export async function pruneUsage({ db }: { db: Kysely<Database> }, expiry: UsageExpiry): Promise<number> {
  let pruned = 0;
  for (const [hours, kind, before] of expiring) {
    const oldest = await db
      .selectFrom("usage_rows")
      .select("hour")
      .where("hours", "=", hours)
      .where("kind", "=", kind)
      .where("hour", "<", expiry[before])
      .orderBy("hour")
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) continue;
    const ofBucket = sql`hours = ${hours} and kind = ${kind} and hour = ${oldest.hour}`;
    const behind = (after: string | undefined) => (after === undefined ? sql`` : sql`and account_id > ${after}`);
    const findLast = async (after: string | undefined, rows: number) => {
      const query = sql<{ account_id: string }>`select account_id from usage_rows where ${ofBucket} ${behind(after)}
        order by account_id limit 1 offset ${rows - 1}`;
      return (await query.execute(db)).rows[0]?.account_id;
    };
    for await (const { after, last } of toRanges(findLast)) {
      const upTo = last === undefined ? sql`` : sql`and account_id <= ${last}`;
      const { numAffectedRows = 0n } =
        await sql`delete from usage_rows where ${ofBucket} ${behind(after)} ${upTo}`.execute(db);
      pruned += Number(numAffectedRows);
    }
  }
  return pruned;
}

import { CompiledQuery, type RawBuilder, sql, type Transaction } from "kysely";
import { meterColumns } from "./meter-columns.ts";
import type { Database } from "./schema.ts";
import type { Store } from "./store.ts";
import { latencyBuckets, type UsageKey, type UsageKind } from "./usage-tables.ts";

/** The primary key, in its order. */
const usageKey = [
  ...(["hours", "kind", "hour", "account_id", "key_id", "model", "plugin", "status", "name"] as const),
] as const satisfies readonly (keyof UsageKey)[];

/** Sums that stand in {@link UsageRow.figures} first; the histograms of first byte and duration follow. */
export const usageSums = [
  ...(["requests", "failures", "refused", "failed"] as const),
  ...Object.values(meterColumns),
  ...(["cost_nanodollars", "charged_nanodollars", "quota_tokens"] as const),
] as const;
export type UsageSum = (typeof usageSums)[number];

const histogram = (measure: "f" | "d") => Array.from({ length: latencyBuckets }, (_, bucket) => `${measure}${bucket}`);
export const figureColumns: readonly string[] = [...usageSums, ...histogram("f"), ...histogram("d")];

/** What is added to a row: its key and its figures by {@link figureColumns}. */
export interface UsageRow {
  readonly key: readonly (string | number)[];
  readonly figures: ArrayLike<number>;
}

const numeric = new Set<string>(["hours", "hour", "status", ...figureColumns]);
const columns = [...usageKey, ...figureColumns];
const upsert = (source: string) => `insert into usage as s (${columns}) ${source}
  on conflict (${usageKey}) do update set ${figureColumns.map((name) => `${name} = s.${name} + excluded.${name}`)}`;
const insertRow = upsert(`values (${columns.map(() => "?")})`);
const insertJson = upsert(
  `select ${columns.map((name, place) => `${numeric.has(name) ? `(r->>${place})::bigint` : `r->>${place}`}`)}
  from jsonb_array_elements($1::jsonb) as r`,
);

/** Adds to rows, in the order of their keys: two nodes that add to the same ones must not wait for one another. */
export async function addUsage(
  db: Transaction<Database>,
  { shared }: Pick<Store, "shared">,
  rows: readonly UsageRow[],
): Promise<void> {
  const values = rows.map(({ key, figures }) => [...key, ...Array.from(figures)]).sort(byKey);
  if (shared) {
    if (values.length > 0) await db.executeQuery(CompiledQuery.raw(insertJson, [JSON.stringify(values)]));
    return;
  }
  for (const row of values) await db.executeQuery(CompiledQuery.raw(insertRow, row));
}

function byKey(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  for (let place = 0; place < usageKey.length; place++) {
    const [a, b] = [one[place] as string | number, other[place] as string | number];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/**
 * Whether a row of `calls` is not in the sums yet. An abandoned call never is. Both engines find such rows by their `seq`,
 * because what it is compared with is known before the first row is read.
 */
export const isUncounted: RawBuilder<boolean> = sql`calls.seq > (select seq from usage_progress)
  and (calls.seq > (select coalesce(until_seq, 0) from usage_progress)
    or calls.account_id > (select coalesce(upto, '') from usage_progress)) and calls.state <> 'abandoned'`;

const lockWaitMs = 50;
/** PostgreSQL's code of a lock that was not to be had in this time. */
const lockNotAvailable = "55P03";

/**
 * The highest `seq` of an end of a call of which no lower one is still to come; undefined where that is not known now. Who
 * writes ends shares a lock, which this one waits for: not for long, because the next writers wait behind it.
 */
export async function readLastSeq({ db, shared }: Pick<Store, "db" | "shared">): Promise<number | undefined> {
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

async function maxSeq(db: Store["db"]): Promise<number> {
  const { last } = await db
    .selectFrom("calls")
    .select(({ fn }) => fn.max<number | null>("seq").as("last"))
    .executeTakeFirstOrThrow();
  return last ?? 0;
}

/** What expires, as how long its buckets are and what it is the sum of, and how the first hour that stays is called. */
const expiring: readonly [hours: 1 | 24, kind: UsageKind, before: keyof UsageExpiry][] = [
  [1, "call", "retained"],
  [1, "key", "hourly"],
  [1, "session", "hourly"],
  [1, "tag", "hourly"],
  [24, "session", "retained"],
  [24, "tag", "retained"],
];

/** The first hours that stay, counted from 1970. */
export interface UsageExpiry {
  /** Of what pages show by the hour: each key of an account and each name has a row. */
  readonly hourly: number;
  /** Of what is kept for as long as calls are. */
  readonly retained: number;
}

/** Deletes the oldest bucket of each kind that expires; returns how many rows there were. */
export async function pruneUsage({ db }: Pick<Store, "db">, expiry: UsageExpiry): Promise<number> {
  let pruned = 0;
  for (const [hours, kind, before] of expiring) {
    const oldest = await db
      .selectFrom("usage")
      .select("hour")
      .where("hours", "=", hours)
      .where("kind", "=", kind)
      .where("hour", "<", expiry[before])
      .orderBy("hour")
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) continue;
    const { numDeletedRows } = await db
      .deleteFrom("usage")
      .where("hours", "=", hours)
      .where("kind", "=", kind)
      .where("hour", "=", oldest.hour)
      .executeTakeFirstOrThrow();
    pruned += Number(numDeletedRows);
  }
  return pruned;
}

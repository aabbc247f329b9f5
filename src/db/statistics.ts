import { CompiledQuery, type Transaction } from "kysely";
import { meterColumns } from "./meter-columns.ts";
import type { Database } from "./schema.ts";
import { latencyBuckets, type StatisticsKey } from "./statistics-tables.ts";
import type { Store } from "./store.ts";

/** The primary key, in its order. */
const statisticsKey = [
  ...(["hours", "kind", "hour", "account_id", "key_id", "model", "plugin", "status", "name"] as const),
] as const satisfies readonly (keyof StatisticsKey)[];

/** Sums that stand in {@link StatisticsRow.figures} first; the histograms of first byte and duration follow. */
export const statisticsSums = [
  ...(["requests", "failures", "refused", "failed"] as const),
  ...Object.values(meterColumns),
  ...(["cost_nanodollars", "charged_nanodollars", "quota_tokens"] as const),
] as const;
export type StatisticsSum = (typeof statisticsSums)[number];

const histogram = (measure: "f" | "d") => Array.from({ length: latencyBuckets }, (_, bucket) => `${measure}${bucket}`);
export const figureColumns: readonly string[] = [...statisticsSums, ...histogram("f"), ...histogram("d")];

/** What is added to a row: its key and its figures by {@link figureColumns}. */
export interface StatisticsRow {
  readonly key: readonly (string | number)[];
  readonly figures: ArrayLike<number>;
}

const numeric = new Set<string>(["hours", "hour", "status", ...figureColumns]);
const columns = [...statisticsKey, ...figureColumns];
const upsert = (source: string) => `insert into statistics as s (${columns}) ${source}
  on conflict (${statisticsKey}) do update set ${figureColumns.map((name) => `${name} = s.${name} + excluded.${name}`)}`;
const insertRow = upsert(`values (${columns.map(() => "?")})`);
const insertJson = upsert(
  `select ${columns.map((name, place) => `${numeric.has(name) ? `(r->>${place})::bigint` : `r->>${place}`}`)}
  from jsonb_array_elements($1::jsonb) as r`,
);

/** Adds to rows, in the order of their keys: two nodes that add to the same ones must not wait for one another. */
export async function addStatistics(
  db: Transaction<Database>,
  { shared }: Pick<Store, "shared">,
  rows: readonly StatisticsRow[],
): Promise<void> {
  const values = rows.map(({ key, figures }) => [...key, ...Array.from(figures)]).sort(byKey);
  if (shared) {
    if (values.length > 0) await db.executeQuery(CompiledQuery.raw(insertJson, [JSON.stringify(values)]));
    return;
  }
  for (const row of values) await db.executeQuery(CompiledQuery.raw(insertRow, row));
}

function byKey(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  for (let place = 0; place < statisticsKey.length; place++) {
    const [a, b] = [one[place] as string | number, other[place] as string | number];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** What expires: sums of hours, and names that clients gave. */
const expiring = [
  [1, "call"],
  [1, "key"],
  [1, "session"],
  [1, "tag"],
  [24, "session"],
  [24, "tag"],
] as const;

/**
 * Deletes the oldest bucket of each kind that expires if it began before the given hour, which differs by how long the
 * bucket is; returns how many rows there were.
 */
export async function pruneStatistics(
  { db }: Pick<Store, "db">,
  before: Readonly<Record<1 | 24, number>>,
): Promise<number> {
  let pruned = 0;
  for (const [hours, kind] of expiring) {
    const oldest = await db
      .selectFrom("statistics")
      .select("hour")
      .where("hours", "=", hours)
      .where("kind", "=", kind)
      .where("hour", "<", before[hours])
      .orderBy("hour")
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) continue;
    const { numDeletedRows } = await db
      .deleteFrom("statistics")
      .where("hours", "=", hours)
      .where("kind", "=", kind)
      .where("hour", "=", oldest.hour)
      .executeTakeFirstOrThrow();
    pruned += Number(numDeletedRows);
  }
  return pruned;
}

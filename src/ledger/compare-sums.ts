import { type RawBuilder, sql } from "kysely";
import type { Store } from "../db/index.ts";

/** A query of a text column `subject` and the named columns of whole numbers. */
export interface SumsQuery {
  columns: readonly string[];
  from: RawBuilder<unknown>;
  /** The calls that are summed up, as `subject` and `id`; absent where a subject is a call itself. */
  calls?: RawBuilder<unknown>;
}

/** The words of a difference: `Wallet of acc_1: balance_nanodollars is 88, entries sum to 87`. */
export interface ComparisonLabels {
  what: string;
  found: string;
}

/** Bounds what a ruined database can print. */
const differencesMax = 1000;
/** Limit of the subjects whose calls are looked up, and of the calls that are named for each. */
const subjectsMax = 20;
const callsMax = 10;

/**
 * Compares two queries by subject; one that only one of them has counts as 0 in the other. One statement, without an
 * outer join, so that every engine runs it in one pass over each.
 */
export async function compareSums(
  store: Store,
  labels: ComparisonLabels,
  written: SumsQuery,
  found: SumsQuery,
): Promise<string[]> {
  const { columns } = written;
  const sums = columns.flatMap((column) => [`w_${column}`, `f_${column}`]);
  const zero = sql`0`;
  // A union matches columns by their place, so both sides list written before found.
  const side = (query: SumsQuery, isWritten: boolean) =>
    sql`select subject, ${sql.join(
      columns.flatMap((column) => [
        sql`${isWritten ? sql.ref(column) : zero} as ${sql.ref(`w_${column}`)}`,
        sql`${isWritten ? zero : sql.ref(column)} as ${sql.ref(`f_${column}`)}`,
      ]),
    )} from (${query.from}) as side`;
  const { rows } = await sql<Record<string, number | string>>`
    select subject, ${sql.join(sums.map((sum) => sql`sum(${sql.ref(sum)}) as ${sql.ref(sum)}`))}
    from (${side(written, true)} union all ${side(found, false)}) as sides
    group by subject
    having ${sql.join(
      columns.map((column) => sql`sum(${sql.ref(`w_${column}`)}) <> sum(${sql.ref(`f_${column}`)})`),
      sql` or `,
    )}
    order by subject limit ${sql.lit(differencesMax)}`.execute(store.db);
  const named = await findCalls(store, found, rows.slice(0, subjectsMax));
  return rows.flatMap((row) =>
    columns
      .filter((column) => row[`w_${column}`] !== row[`f_${column}`])
      .map((column) => {
        const sums = `${column} is ${row[`w_${column}`]}, ${labels.found} ${row[`f_${column}`]}`;
        return `${labels.what} ${row.subject}: ${sums}${named.get(row.subject) ?? ""}`;
      }),
  );
}

/** The newest calls of which the subjects are sums, in words: where to look first. */
async function findCalls(
  store: Store,
  { calls }: SumsQuery,
  rows: readonly Record<string, unknown>[],
): Promise<Map<unknown, string>> {
  const named = new Map<unknown, string>();
  if (calls === undefined) return named;
  for (const { subject } of rows) {
    const { rows: ids } = await sql<{ id: string }>`select id from (${calls}) as summed where subject = ${subject}
      order by id desc limit ${sql.lit(callsMax + 1)}`.execute(store.db);
    if (ids.length === 0) continue;
    const list = ids.slice(0, callsMax).map(({ id }) => id);
    named.set(subject, ` (calls ${list.join(", ")}${ids.length > callsMax ? " and more" : ""})`);
  }
  return named;
}

import { sql } from "kysely";
import { type Store, usageColumns } from "../db/index.ts";

/** Recorded usage of a model on a UTC day. */
export interface RecordedUsage extends Record<(typeof usageColumns)[number], number> {
  /** Days since 1970. */
  day: number;
  model: string;
  /** Calls that were settled. */
  requests: number;
  cost_nanodollars: number;
}

/**
 * Sums by day and model, from `fromDay` to `toDay`, both included. Of all providers together they come from the
 * roll-ups; of one `route` from its single calls, which must not have been pruned.
 *
 * @throws {RangeError} When calls of these days were pruned and a route is asked for.
 */
export async function recordedUsage(
  store: Store,
  { fromDay, toDay, route }: { fromDay: number; toDay: number; route?: string | undefined },
): Promise<RecordedUsage[]> {
  if (route === undefined) {
    const { rows } = await sql<RecordedUsage>`select day, model, sum(requests) as requests,
      ${sql.join([...usageColumns, "cost_nanodollars"].map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))}
      from usage_days where day >= ${fromDay} and day <= ${toDay} group by day, model`.execute(store.db);
    return rows;
  }
  await assertUnpruned(store, fromDay);
  const dayMs = sql.lit(86_400_000);
  const columns = [...usageColumns, "cost_nanodollars"];
  const { rows } = await sql<RecordedUsage>`select opened_at / ${dayMs} as day, model, count(*) as requests,
    ${sql.join(columns.map((column) => sql`coalesce(sum(${sql.ref(column)}), 0) as ${sql.ref(column)}`))}
    from calls where state = 'settled' and route = ${route}
    and opened_at >= ${fromDay * 86_400_000} and opened_at < ${(toDay + 1) * 86_400_000}
    group by opened_at / ${dayMs}, model`.execute(store.db);
  return rows;
}

async function assertUnpruned({ db }: Store, fromDay: number): Promise<void> {
  const row = await db
    .selectFrom("opening_balances")
    .select((select) => select.fn.max("before_day").as("before"))
    .executeTakeFirst();
  if (row === undefined || row.before === null || row.before <= fromDay) return;
  const day = new Date(row.before * 86_400_000).toISOString().slice(0, 10);
  throw new RangeError(
    `Cannot sum the calls of one provider before ${day}: single calls of those days were pruned; leave out the provider, or begin at that day`,
  );
}

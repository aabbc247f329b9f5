import { type RawBuilder, sql } from "kysely";
import { usageColumns } from "../contract/index.ts";
import { isUncounted, type Store } from "../db/index.ts";

/** Recorded usage of a model on a UTC day. */
export interface RecordedUsage extends Record<(typeof usageColumns)[number], number> {
  /** Days since 1970. */
  day: number;
  model: string;
  /** Calls that were settled. */
  requests: number;
  cost_nanodollars: number;
}

const hoursOfDay = sql.lit(24);
const dayMs = sql.lit(86_400_000);

/**
 * Sums by day and model, from `fromDay` to `toDay`, both included, of all providers together or of one `plugin`: those of the
 * roll-up, and of the calls that are not in it yet.
 */
export async function recordedUsage(
  store: Store,
  { fromDay, toDay, plugin }: { fromDay: number; toDay: number; plugin?: string | undefined },
): Promise<RecordedUsage[]> {
  const summed = [...usageColumns, "cost_nanodollars"];
  const of = (column: string): RawBuilder<unknown> =>
    plugin === undefined ? sql`` : sql`and ${sql.ref(column)} = ${plugin}`;
  const { rows } = await sql<RecordedUsage>`select day, model, sum(requests) as requests,
    ${sql.join(summed.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))}
    from (
      select hour / ${hoursOfDay} as day, model, requests, ${sql.join(summed.map((column) => sql.ref(column)))} from usage
      where hours = ${hoursOfDay} and kind = 'call' and account_id = '' ${of("plugin")}
      and hour >= ${fromDay} * ${hoursOfDay} and hour <= ${toDay} * ${hoursOfDay}
      union all
      select opened_at / ${dayMs} as day, model, 1 as requests,
      ${sql.join(summed.map((column) => sql`coalesce(${sql.ref(column)}, 0) as ${sql.ref(column)}`))}
      from calls where ${isUncounted} and state = 'settled' ${of("plugin")}
      and opened_at >= ${fromDay} * ${dayMs} and opened_at < ${toDay + 1} * ${dayMs}
    ) as recorded group by day, model having sum(requests) > 0`.execute(store.db);
  return rows;
}

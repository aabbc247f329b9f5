import { sql } from "kysely";
import { callKeyOfTime, type Store } from "../db/index.ts";

/** Calls that one look reads; more would delay running calls. */
const scannedMax = 10_000;
/** A call that began this long ago may have failed just now. */
const callMsMax = 600_000;
/** From this status on a call failed at the gateway or its provider. */
const failedFrom = 500;
const rateLimited = 429;
const minuteMs = 60_000;

/** The calls whose last attempt was at a provider, and those that were not sent because it was paused. */
export interface ProviderCalls {
  readonly calls: number;
  readonly failed: number;
  /** Those of the failed calls that were not sent: each route of their model was paused, at this provider among others. */
  readonly refused: number;
  /** Accounts with failed calls, the most first. */
  readonly accounts: readonly { readonly accountId: string; readonly calls: number; readonly failed: number }[];
  /** The errors that clients were answered, the most frequent first. */
  readonly answers: readonly { readonly status: number; readonly code: string | null; readonly calls: number }[];
  readonly byModel: ReadonlyMap<string, { readonly calls: number; readonly failed: number }>;
}

interface Row {
  readonly account: string;
  readonly model: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly refused: number;
  readonly calls: number;
}

/** The first and the last failed call of a minute, milliseconds since 1970. */
interface FailedMinute {
  readonly first: number;
  readonly last: number;
}

const endedAt = sql`opened_at + coalesce(duration_ms, 0)`;

export type Source = Pick<Store, "db" | "shared">;

/** The failed calls of a provider as an incident counts them. */
export function isFailedOf(plugin: string, store: Source) {
  return sql`(${isOf(plugin, store)} and ${hasFailed})`;
}

const hasFailed = sql`(status >= ${sql.lit(failedFrom)} or status = ${sql.lit(rateLimited)})`;

/** The calls of a provider: those that it was sent, and those that were not because it was paused. */
function isOf(plugin: string, { shared }: Source) {
  const paused = shared ? sql`(detail::json ->> 'paused')` : sql`(detail ->> '$.paused')`;
  const name = JSON.stringify(plugin).replaceAll(/[\\%_]/g, "\\$&");
  const isPaused = sql`${paused} like ${`%${name}%`} escape '\\'`;
  return sql`(plugin = ${plugin} or (plugin is null and error_code = 'unavailable' and ${isPaused}))`;
}

function latestCalls(from: number) {
  return sql`from calls where id_bytes > ${callKeyOfTime(from - callMsMax)} order by id_bytes desc`;
}

/**
 * Reads the minutes with failed calls of a provider, the oldest first.
 *
 * @returns `seenFrom`: a busy gateway has more calls than one look reads, which are then those since this time.
 */
export async function readFailedMinutes(
  store: Source,
  { plugin, from }: { readonly plugin: string; readonly from: number },
): Promise<{ readonly seenFrom: number; readonly minutes: readonly FailedMinute[] }> {
  const { db } = store;
  const { rows } = await sql<FailedMinute>`
    select min(${endedAt}) as first, max(${endedAt}) as last
    from (select status, error_code, detail, plugin, opened_at, duration_ms ${latestCalls(from)} limit ${sql.lit(scannedMax)}) as latest
    where ${isOf(plugin, store)} and ${endedAt} >= ${from}
      and ${hasFailed}
    group by cast((${endedAt}) as bigint) / ${sql.lit(minuteMs)} order by 1`.execute(db);
  const [oldest] = (
    await sql<{
      at: number;
    }>`select opened_at as at ${latestCalls(from)} limit 1 offset ${sql.lit(scannedMax - 1)}`.execute(db)
  ).rows;
  return {
    seenFrom: Math.max(from, Number(oldest?.at ?? from)),
    minutes: rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) })),
  };
}

/** Reads the calls of a provider that have ended in a time, of the latest calls of the gateway. */
export async function readProviderCalls(
  store: Source,
  { plugin, from, to }: { readonly plugin: string; readonly from: number; readonly to?: number | undefined },
): Promise<ProviderCalls> {
  const { rows } = await sql<Row>`
    select account_id as account, model, status, error_code as code,
      case when plugin is null then 1 else 0 end as refused, cast(count(*) as bigint) as calls
    from (select account_id, model, status, error_code, detail, plugin, opened_at, duration_ms ${latestCalls(from)} limit ${sql.lit(scannedMax)}) as latest
    where ${isOf(plugin, store)} and ${endedAt} >= ${from} and ${endedAt} <= ${to ?? Number.MAX_SAFE_INTEGER}
    group by account_id, model, status, error_code, 5`.execute(store.db);
  const accounts = sumBy(rows, ({ account }) => account);
  const answers = sumBy(
    rows.filter(({ code }) => code !== null),
    ({ status, code }) => JSON.stringify([status, code]),
  );
  const byCalls = (one: { calls: number }, other: { calls: number }) => other.calls - one.calls;
  return {
    calls: rows.reduce((sum, { calls }) => sum + Number(calls), 0),
    failed: rows.filter(isFailed).reduce((sum, { calls }) => sum + Number(calls), 0),
    refused: rows.filter(({ refused }) => Number(refused) === 1).reduce((sum, { calls }) => sum + Number(calls), 0),
    accounts: [...accounts]
      .map(([accountId, figures]) => ({ accountId, ...figures }))
      .filter(({ failed }) => failed > 0)
      .sort((one, other) => other.failed - one.failed || byCalls(one, other)),
    answers: [...answers]
      .map(([key, { calls }]) => {
        const [status, code] = JSON.parse(key) as [number | null, string | null];
        return { status: status ?? 0, code, calls };
      })
      .sort(byCalls),
    byModel: sumBy(rows, ({ model }) => model),
  };
}

/** A request that its client sent wrongly, or left, is no failure of the provider. */
function isFailed({ status }: Row): boolean {
  return status !== null && (status >= failedFrom || status === rateLimited);
}

function sumBy(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, { calls: number; failed: number }> {
  const sums = new Map<string, { calls: number; failed: number }>();
  for (const row of rows) {
    const key = keyOf(row);
    const sum = sums.get(key) ?? { calls: 0, failed: 0 };
    const calls = Number(row.calls);
    sums.set(key, { calls: sum.calls + calls, failed: sum.failed + (isFailed(row) ? calls : 0) });
  }
  return sums;
}

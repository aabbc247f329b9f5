import { sql } from "kysely";
import { callKeyOfTime, type Store } from "../db/index.ts";
import { readFigures, readGroups, readTotals, type StatisticsFilter, sumFigures } from "./statistics.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const hoursPerDay = 24;
/** Limit of the latest calls that are read of a short window; more would delay running calls. */
const callsMax = 20_000;
/** Statuses that groups are read of; there are fewer. */
const statusesMax = 100;
/** From this status on a call failed at the gateway or its provider. */
const failedFrom = 500;

export interface MeasureQuery {
  readonly filter: Pick<StatisticsFilter, "accountId" | "keyId" | "model" | "plugin">;
  /** At most an hour, or whole days. */
  readonly minutes: number;
  readonly now: number;
}

/** Measures of calls over a time. Refused requests are not among them. */
export interface Measures {
  readonly calls: number;
  /** Calls with a status of 500 or above. */
  readonly failed: number;
  /** At the prices of accounts. */
  readonly costNanodollars: number;
  /** 95 of 100 calls took no longer; absent without calls that were timed. */
  readonly durationMs: number | undefined;
  readonly firstByteMs: number | undefined;
}

/**
 * Measures the calls that ended in the last minutes: for a day or longer by the sums of hours, otherwise call by call.
 */
export function measureCalls(store: Store, query: MeasureQuery): Promise<Measures> {
  return query.minutes < hoursPerDay * 60 ? measureLatest(store, query) : measureHours(store, query);
}

async function measureLatest({ db }: Store, { filter, minutes, now }: MeasureQuery): Promise<Measures> {
  const { accountId, keyId, model, plugin } = filter;
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  const conditions = sql.join(
    [
      sql`id_bytes > ${callKeyOfTime(now - minutes * minuteMs)}`,
      ...equals("account_id", accountId),
      ...equals("key_id", keyId),
      ...equals("model", model),
      ...equals("plugin", plugin),
    ],
    sql` and `,
  );
  const { rows } = await sql<Record<"status" | "cost" | "duration" | "first", number | null>>`
    select status, cost_nanodollars as cost, duration_ms as duration, first_byte_ms as first
    from calls where ${conditions} order by id_bytes desc limit ${callsMax}`.execute(db);
  return {
    calls: rows.length,
    failed: rows.filter(({ status }) => status !== null && status >= failedFrom).length,
    costNanodollars: rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
    durationMs: findP95(rows.flatMap(({ duration }) => duration ?? [])),
    firstByteMs: findP95(rows.flatMap(({ first }) => first ?? [])),
  };
}

function findP95(values: number[]): number | undefined {
  return values.sort((one, other) => one - other)[Math.ceil(values.length * 0.95) - 1];
}

async function measureHours(store: Store, { filter, minutes, now }: MeasureQuery): Promise<Measures> {
  const last = Math.floor(now / hourMs);
  const count = Math.round(minutes / 60);
  const starts = Array.from({ length: count }, (_, index) => last - count + 1 + index);
  return (await measureStarts(store, filter, starts)).measures;
}

/** Calls of whole hours, and of the same hours of days before. */
export interface CompareQuery extends MeasureQuery {
  readonly days: number;
  /** Whether the running hour is left out; otherwise it is the last one. */
  readonly isWhole: boolean;
}

/**
 * Measures the calls of some hours, and those of the same hours of the days before. Days before the first one with a call
 * in these hours do not count; later ones without calls do.
 */
export async function measureSameHours(store: Store, { filter, minutes, now, days, isWhole }: CompareQuery) {
  const end = Math.floor(now / hourMs) + (isWhole ? 0 : 1);
  const count = Math.round(minutes / 60);
  const startsOf = (day: number) => Array.from({ length: count }, (_, hour) => end - count + hour - day * hoursPerDay);
  const before = Array.from({ length: days }, (_, day) => startsOf(day + 1)).flat();
  const current = await measureStarts(store, filter, startsOf(0));
  const past = await measureStarts(store, filter, before);
  const first = Math.min(...past.hours);
  const counted = past.hours.length === 0 ? 0 : Math.ceil((end - first) / hoursPerDay) - 1;
  return { current: current.measures, before: past.measures, days: counted };
}

/** Measures of the calls of some hours, and the hours that have any. */
async function measureStarts(store: Store, filter: MeasureQuery["filter"], starts: readonly number[]) {
  const query = { filter, hours: 1, starts } as const;
  const byHour = await readTotals(store, query);
  const totals = readFigures(sumFigures(byHour.values()));
  const options = { group: "status", rank: "requests", limit: statusesMax, charted: 0 } as const;
  const { groups } = await readGroups(store, query, options);
  const failed = groups
    .filter(({ value }) => Number(value) >= failedFrom)
    .map(({ total }) => readFigures(total))
    .reduce((sum, { requests, failures }) => sum + requests + failures, 0);
  const measures: Measures = {
    calls: totals.requests + totals.failures,
    failed,
    costNanodollars: totals.cost_nanodollars,
    durationMs: totals.durationMs.p95,
    firstByteMs: totals.firstByteMs.p95,
  };
  const hours = [...byHour].flatMap(([hour, figures]) => {
    const { requests, failures } = readFigures(figures);
    return requests + failures > 0 ? [hour] : [];
  });
  return { measures, hours };
}

/** The models that were called in the days until now, by their ids. */
export async function readUsedModels(
  { db }: Pick<Store, "db">,
  { days, now }: { days: number; now: number },
): Promise<Set<string>> {
  const last = Math.floor(now / hourMs / hoursPerDay);
  const starts = Array.from({ length: days + 1 }, (_, index) => (last - index) * hoursPerDay);
  const hours = sql.join(starts.map((start) => sql.lit(start)));
  const { rows } = await sql<{ model: string }>`select distinct model from usage
    where hours = 24 and kind = 'call' and hour in (${hours}) and account_id = ''`.execute(db);
  return new Set(rows.map(({ model }) => model));
}

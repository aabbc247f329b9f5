import { type RawBuilder, sql } from "kysely";
import { callKeyOfTime, type Store, toCallKey } from "../../db/index.ts";
import {
  detailColumns,
  filterColumns,
  hasColumn,
  idColumn,
  idValue,
  type LoggedRequest,
  type LogTable,
  listColumns,
  type RequestDetail,
} from "./request-columns.ts";
import { isTextFilter, type RequestFilter, toConditions } from "./request-filter.ts";

/** A place in the log, which is sorted by time and id, newest first. An empty id stands before all of that time. */
export interface LogCursor {
  readonly at: number;
  readonly id: string;
}

/** One page of {@link readRequests}. */
export interface RequestPage {
  readonly requests: readonly LoggedRequest[];
  /** Where the next page begins; absent when there is none. */
  readonly next?: LogCursor | undefined;
}

/**
 * Rows that one page looks at. A filter that fits nearly nothing would else read all calls, and in the embedded store
 * stop the event loop for that long; such a page ends early, and the next one goes on from there.
 */
const scannedMax = 5000;

type LogStore = Pick<Store, "db">;

interface PageOptions {
  readonly limit: number;
  readonly before?: LogCursor | undefined;
}

/** Requests that reached authentication, newest first: calls, and requests that were refused before they became one. */
export async function readRequests(
  store: LogStore,
  filter: RequestFilter,
  { limit, before }: PageOptions,
): Promise<RequestPage> {
  const tables = toTables(filter);
  if (isTextFilter(filter) && before === undefined) {
    const readRows = await inOrder(tables, (table) => readNamed(store, table, filter, limit));
    if (readRows.some(({ length }) => length > 0))
      return { requests: once(readRows.flat()).sort(byPlace).slice(0, limit) };
  }
  // One more than is shown tells whether there is a next page.
  const reads = await inOrder(tables, (table) => readTable(store, table, filter, { limit: limit + 1, before }));
  // All tables are known only down to the newest of the places at which a search ended.
  const [end] = reads.flatMap(({ searchedTo }) => searchedTo ?? []).sort((one, other) => compare(one, other));
  const sortedRows = once(reads.flatMap(({ rows }) => rows))
    .filter((row) => end === undefined || compare(toCursor(row), end) <= 0)
    .sort(byPlace);
  const requests = sortedRows.slice(0, limit);
  const last = requests.at(-1);
  return { requests, next: sortedRows.length > limit && last !== undefined ? toCursor(last) : end };
}

/** One request with all that is known of it; undefined when there is none of this id, or not of this account. */
export async function readRequest(
  { db }: LogStore,
  id: string,
  accountId: string | undefined,
): Promise<RequestDetail | undefined> {
  const owner = accountId === undefined ? sql`` : sql`and account_id = ${accountId}`;
  for (const table of ["open_calls", "calls", "refusals"] as const) {
    const { rows } = await sql<RequestDetail>`
      select ${detailColumns(table)} from ${sql.table(table)} where ${hasId(table, id)} ${owner}`.execute(db);
    if (rows[0] !== undefined) return rows[0];
  }
  return undefined;
}

/** Reasons that are told apart. */
const reasonsMax = 5;

/** Why requests of an account were refused in a span, and how many each; the most frequent reason first. */
export async function readRefusalReasons(
  { db }: LogStore,
  { accountId, keyId, from, until }: { accountId: string; keyId: string | undefined; from: number; until: number },
): Promise<{ code: string; requests: number }[]> {
  const rows = await db
    .selectFrom("refusals")
    .select(({ fn }) => ["error_code", fn.sum<number>("requests").as("requests")])
    .where("account_id", "=", accountId)
    .where("opened_at", ">=", from)
    .where("opened_at", "<", until)
    .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId ?? ""))
    .groupBy("error_code")
    .orderBy("requests", "desc")
    .limit(reasonsMax)
    .execute();
  return rows.map(({ error_code: code, requests }) => ({ code, requests: Number(requests) }));
}

/** Those that may have what is asked for. */
function toTables({ status, plugin, protocol, tag, ...filter }: RequestFilter): LogTable[] {
  const { errorCode: error_code, durationMsMin: duration_ms, costNanodollarsMin: cost_nanodollars } = filter;
  const figures = { error_code, duration_ms, cost_nanodollars };
  const requested = { plugin, protocol, tag, ...figures, status: isOfTable(status) ? undefined : status };
  const columns = Object.entries(requested).flatMap(([column, value]) => (value === undefined ? [] : [column]));
  const tables: LogTable[] =
    status === "running" ? ["open_calls"] : status === "refused" ? ["refusals"] : ["open_calls", "calls", "refusals"];
  return tables.filter(
    (table) => columns.every((column) => hasColumn(table, column)) && !(table === "refusals" && status === "ok"),
  );
}

/** Whether it is said by the table in which a request stands. */
function isOfTable(status: RequestFilter["status"]): boolean {
  return status === "running" || status === "refused";
}

/** Calls that run are read before the others: one that ends meanwhile is then found twice, and not missed. */
async function inOrder<Result>(
  tables: readonly LogTable[],
  read: (table: LogTable) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const table of tables) results.push(await read(table));
  return results;
}

/** Each request once, as it was read last. */
function once(requests: readonly LoggedRequest[]): LoggedRequest[] {
  return [...new Map(requests.map((request) => [request.id, request])).values()];
}

/** Requests with exactly this id, or this id of their client, however old. */
async function readNamed(store: LogStore, table: LogTable, { text, ...filter }: RequestFilter, limit: number) {
  const { found: conditions, others } = toConditions(table, filter);
  const named = [[hasId(table, text ?? "")], [sql`client_request_id is not null`, sql`client_request_id = ${text}`]];
  const reads = (hasColumn(table, "client_request_id") ? named : named.slice(0, 1)).map((name) =>
    readScanned(store, table, {
      found: [...name, ...toSpan(filter)],
      others: [...conditions, ...others],
      order: byTime(table),
      limit,
    }),
  );
  return (await Promise.all(reads)).flatMap(({ rows }) => rows);
}

function readTable(store: LogStore, table: LogTable, filter: RequestFilter, { limit, before }: PageOptions) {
  const { found: conditions, others } = toConditions(table, filter);
  // No index has the time of all calls, and their ids sort by time.
  if (table === "calls" && conditions.length === 0) {
    return readScanned(store, table, { found: toIdSpan(filter, before), others, order: sql`id_bytes desc`, limit });
  }
  const span = [...toSpan(filter), ...toPlace(table, before)];
  return readScanned(store, table, { found: [...conditions, ...span], others, order: byTime(table), limit });
}

interface Scan {
  /** Conditions that one index finds in the order of time. */
  readonly found: readonly RawBuilder<unknown>[];
  readonly others: readonly RawBuilder<unknown>[];
  readonly order: RawBuilder<unknown>;
  readonly limit: number;
}

function hasId(table: LogTable, id: string): RawBuilder<unknown> {
  return sql`${idColumn(table)} = ${idValue(table, id)}`;
}

const byTime = (table: LogTable) => sql`opened_at desc, ${idColumn(table)} desc`;

/**
 * The rows of one table. What an index finds, newest first, is cut before the other conditions are looked at: `limit` in
 * a subquery keeps both engines from choosing another index. Of the rows that are looked at only what the conditions ask
 * for is read, because the names of a call are looked up one by one.
 */
async function readScanned(
  { db }: LogStore,
  table: LogTable,
  { found: conditions, others, order, limit }: Scan,
): Promise<{ rows: readonly LoggedRequest[]; searchedTo?: LogCursor | undefined }> {
  const from = sql`from ${sql.table(table)} where ${and(conditions)} order by ${order}`;
  const columns = listColumns(table);
  if (others.length === 0) {
    return { rows: (await sql<LoggedRequest>`select ${columns} ${from} limit ${sql.lit(limit)}`.execute(db)).rows };
  }
  const id = idColumn(table);
  const { rows } = await sql<LoggedRequest>`
    select ${columns} from ${sql.table(table)} where ${id} in (
      select ${id} from (select ${filterColumns(table)} ${from} limit ${sql.lit(scannedMax)}) as scanned
      where ${and(others)} limit ${sql.lit(limit)}) order by ${order}`.execute(db);
  if (rows.length === limit) return { rows };
  const [end] = (
    await sql<{ opened_at: number; id: string }>`
      select opened_at, id ${from} limit 1 offset ${sql.lit(scannedMax - 1)}`.execute(db)
  ).rows;
  return { rows, searchedTo: end && toCursor(end) };
}

function toSpan({ from, until }: RequestFilter): RawBuilder<unknown>[] {
  return [
    ...(from === undefined ? [] : [sql`opened_at >= ${from}`]),
    ...(until === undefined ? [] : [sql`opened_at < ${until}`]),
  ];
}

function toPlace(table: LogTable, before: LogCursor | undefined): RawBuilder<unknown>[] {
  if (before === undefined) return [];
  const isBefore = sql`${idColumn(table)} < ${idValue(table, before.id)}`;
  return [sql`opened_at <= ${before.at}`, sql`(opened_at < ${before.at} or ${isBefore})`];
}

/** Time and place as spans of ids. */
function toIdSpan({ from, until }: RequestFilter, before: LogCursor | undefined): RawBuilder<unknown>[] {
  return [
    ...(from === undefined ? [] : [sql`id_bytes >= ${callKeyOfTime(from)}`]),
    ...(until === undefined ? [] : [sql`id_bytes < ${callKeyOfTime(until)}`]),
    ...(before === undefined
      ? []
      : [sql`id_bytes < ${before.id === "" ? callKeyOfTime(before.at) : toCallKey(before.id)}`]),
  ];
}

function and(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

function toCursor({ opened_at: at, id }: Pick<LoggedRequest, "opened_at" | "id">): LogCursor {
  return { at, id };
}

/** Newest first. */
function compare(one: LogCursor, other: LogCursor): number {
  if (one.at !== other.at) return other.at - one.at;
  return one.id === other.id ? 0 : one.id < other.id ? 1 : -1;
}

function byPlace(one: LoggedRequest, other: LoggedRequest): number {
  return compare(toCursor(one), toCursor(other));
}

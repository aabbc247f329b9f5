/**
 * The log of requests that reached authentication: calls that run, calls that have ended, and requests that were refused before they
 * became calls, each in a table of its own, shown as one list.
 */
import { createHash } from "node:crypto";
import { type RawBuilder, type Selectable, sql } from "kysely";
import { type CallDetail, usageColumns } from "../contract/index.ts";
import { type CallState, callKeyOfTime, type Database, openColumns, toCallKey, toPayerNumber } from "../db/index.ts";
import { isFailedOf, type Source } from "./incident.ts";

type Calls = Selectable<Database["calls"]>;
type Refusals = Selectable<Database["refusals"]>;

const common = [
  "id",
  "account_id",
  "key_id",
  "opened_at",
  "model",
  "capability",
  "protocol",
  "session",
  "tag",
  "client_request_id",
  "status",
  "error_code",
  "duration_ms",
] as const;
/** The effect of prompt caches on the cost of a call. */
const cacheColumns = [
  "cache_miss",
  "cache_miss_place",
  "cache_missed_tokens",
  "cache_lost_nanodollars",
  "cache_saved_nanodollars",
] as const;
const listed = [
  "state",
  "premium",
  "plugin",
  "first_byte_ms",
  "usage_source",
  ...usageColumns,
  "cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
  ...cacheColumns,
  "end_user",
  "agent",
  "parent_agent",
  "detail",
] as const;
const detailed = ["settled_at", "hold_nanodollars", "hold_tokens", "call_units", "price_version", "node_id"] as const;
/** The provider's cost, and the markup on it. Account holders do not see them. */
const ofOperators = ["provider_cost_nanodollars", "provider_price_version", "markup_basis_points"] as const;
const ofRefusals = ["endpoint", "requests"] as const;
const detailOfRefusals = ["message"] as const;

type Columns<Table, Name> = { [Column in Name & keyof Table]: Table[Column] | null };

/** A row of the log. A column that its table does not have is null: a refused request has no `state`. */
export type LoggedRequest = Pick<Calls, "id" | "account_id" | "key_id" | "opened_at"> &
  Columns<Calls, (typeof common)[number] | Exclude<(typeof listed)[number], "state">> & {
    state: CallState | null;
  } & Columns<Refusals, (typeof ofRefusals)[number]>;

/** All that is known of a request. */
export type RequestDetail = LoggedRequest &
  Columns<Calls, (typeof detailed)[number] | (typeof ofOperators)[number]> &
  Columns<Refusals, (typeof detailOfRefusals)[number]>;

/** Reads what the gateway has written. */
export function readDetail({ detail }: Pick<LoggedRequest, "detail">): CallDetail {
  return detail === null ? {} : JSON.parse(detail);
}

type LogTable = "calls" | "open_calls" | "refusals";

const list = [...common, ...listed, ...ofRefusals];
const detail = [...list, ...detailed, ...ofOperators, ...detailOfRefusals];
const columnsOf: Readonly<Record<LogTable, ReadonlySet<string>>> = {
  calls: new Set([...common, ...listed, ...detailed, ...ofOperators]),
  open_calls: new Set(["id", "node_id", ...Object.keys(openColumns)]),
  refusals: new Set([...common, ...ofRefusals, ...detailOfRefusals]),
};
/** Columns that a filter reads row by row. */
const filtered = [
  ...["opened_at", "session", "tag", "end_user", "agent", "status", "model", "protocol", "plugin", "client_request_id"],
  ...["error_code", "duration_ms", "cost_nanodollars", "charged_nanodollars", "detail"],
];

/** Filter of requests; times in milliseconds since 1970. An absent field does not filter. */
export interface RequestFilter {
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** The name that the client sent, if it differs from the model that answered: the name of a virtual model. */
  readonly requestedModel?: string | undefined;
  /** The plugin that answered. */
  readonly plugin?: string | undefined;
  /** The provider whose failed calls an incident counts: those that it was sent, and those refused while it was paused. */
  readonly incidentOf?: string | undefined;
  readonly protocol?: string | undefined;
  readonly session?: string | undefined;
  readonly tag?: string | undefined;
  readonly endUser?: string | undefined;
  readonly agent?: string | undefined;
  readonly status?: StatusFilter | undefined;
  readonly errorCode?: string | undefined;
  /** Minimum duration, in milliseconds. */
  readonly durationMsMin?: number | undefined;
  /** Minimum cost at the price of the account. */
  readonly costNanodollarsMin?: number | undefined;
  /** Minimum charge of a wallet or budget. */
  readonly chargedNanodollarsMin?: number | undefined;
  /** A part of the request's id, or of the client's own. */
  readonly text?: string | undefined;
}

/** `failed` includes refused requests; a span is of HTTP statuses, both ends included. */
export type StatusFilter = "ok" | "failed" | "refused" | "running" | { readonly from: number; readonly to: number };

/** The texts that {@link parseStatusFilter} takes, for messages. */
export const statusForms = "ok, failed, refused, running, a class such as 5xx, or a status such as 429";

/** Parses a status filter; `undefined` if the text is not a status. */
export function parseStatusFilter(text: string): StatusFilter | undefined {
  if (/^[1-5]xx$/.test(text)) return { from: Number(text[0]) * 100, to: Number(text[0]) * 100 + 99 };
  if (/^[1-5]\d\d$/.test(text)) return { from: Number(text), to: Number(text) };
  return (["ok", "failed", "refused", "running"] as const).find((word) => word === text);
}

/**
 * A position in the log, which is sorted by time and id, newest first. An empty id comes before all requests of that
 * time.
 */
export interface LogCursor {
  readonly at: number;
  readonly id: string;
}

/** One page of {@link readRequests}. */
interface RequestPage {
  readonly requests: readonly LoggedRequest[];
  /** Where the next page begins; absent on the last page. */
  readonly next?: LogCursor | undefined;
}

/**
 * Maximum number of rows that one page examines. Otherwise a filter that matches almost nothing would read all calls,
 * and block the event loop of the embedded store for that long. Such a page ends early, and the next page continues
 * there.
 */
const scannedMax = 5000;
/** Number of refusal reasons counted separately. */
const reasonsMax = 5;

type LogStore = Source;
type Condition = RawBuilder<unknown>;

interface PageOptions {
  readonly limit: number;
  readonly before?: LogCursor | undefined;
}

/** Reads the matching requests, newest first. */
export async function readRequests(
  store: LogStore,
  filter: RequestFilter,
  { limit, before }: PageOptions,
): Promise<RequestPage> {
  const tables = toTables(filter);
  if (filter.text !== undefined && before === undefined) {
    const readResults = await inOrder(tables, (table) => readNamed(store, table, filter, limit));
    if (readResults.some(({ length }) => length > 0))
      return { requests: once(readResults.flat()).sort(byPlace).slice(0, limit) };
  }
  // One row more than the page shows whether there is a next page.
  const reads = await inOrder(tables, (table) => readTable(store, table, filter, { limit: limit + 1, before }));
  // All tables are read only down to the newest of the places where a search ended.
  const [end] = reads.flatMap(({ searchedTo }) => searchedTo ?? []).sort((one, other) => compare(one, other));
  const sortedRows = once(reads.flatMap(({ rows }) => rows))
    .filter((row) => end === undefined || compare(toCursor(row), end) <= 0)
    .sort(byPlace);
  const requests = sortedRows.slice(0, limit);
  const last = requests.at(-1);
  return { requests, next: sortedRows.length > limit && last !== undefined ? toCursor(last) : end };
}

/** Reads pages until there are `limit` requests, or `readsMax` parts of the log have been read. */
export async function findRequests(
  store: LogStore,
  filter: RequestFilter,
  { limit, before, readsMax = Number.POSITIVE_INFINITY }: PageOptions & { readonly readsMax?: number },
): Promise<RequestPage> {
  const requests: LoggedRequest[] = [];
  let next = before;
  for (let reads = 0; reads < readsMax && requests.length < limit; reads++) {
    const page = await readRequests(store, filter, { limit: limit - requests.length, before: next });
    requests.push(...page.requests);
    next = page.next;
    if (next === undefined) break;
  }
  return { requests, next };
}

/** Reads one request with all its details; undefined if no request has this id, or it belongs to another account. */
export async function readRequest(
  { db }: LogStore,
  id: string,
  accountId: string | undefined,
): Promise<RequestDetail | undefined> {
  // PostgreSQL takes no text with it, and no id has one.
  if (id.includes("\0")) return undefined;
  const owner = accountId === undefined ? sql`` : sql`and account_id = ${accountId}`;
  for (const table of ["open_calls", "calls", "refusals"] as const) {
    const { rows } = await sql<RequestDetail>`
      select ${select(table, detail)} from ${sql.table(table)} where ${hasId(table, id)} ${owner}`.execute(db);
    if (rows[0] !== undefined) return rows[0];
  }
  return undefined;
}

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

const states = ["id", "state", "opened_at"] as const;
const unlisted = [
  ...(["account_id", "protocol", "session", "tag", "end_user", "agent", "parent_agent"] as const),
  ...(["client_request_id", "detail"] as const),
  ...cacheColumns,
] as const;

/** A request as the list of an account has it. */
export type RecentCall = Omit<LoggedRequest, (typeof unlisted)[number]>;

const recent = list.filter((name) => !(unlisted as readonly string[]).includes(name));

/** Requests of an account, newest first. */
export function readRecentCalls(store: LogStore, accountId: string, page: PageOptions): Promise<RecentCall[]> {
  return readLatest<RecentCall>(store, accountId, page, recent);
}

/** The latest requests of an account, newest first. */
export interface LatestCalls {
  readonly calls: readonly RecentCall[];
  /** Tells this list from any other: a client that knows it by that need not be sent it again. */
  readonly stamp: string;
}

/** The latest requests of an account; `undefined` when they are those that were seen with this stamp. */
export async function readLatestCalls(
  store: LogStore,
  accountId: string,
  { limit, seen }: { limit: number; seen?: string | undefined },
): Promise<LatestCalls | undefined> {
  // Polled by open pages every few seconds, mostly without news: the rest of the rows is read only on a change.
  const read = () => readLatest<Pick<RecentCall, (typeof states)[number]>>(store, accountId, { limit }, states);
  if (seen && hashCalls(await read()) === seen) return undefined;
  const calls = await readRecentCalls(store, accountId, { limit });
  return { calls, stamp: hashCalls(calls) };
}

/** The shown fields of a call change with its state alone. */
function hashCalls(calls: readonly Pick<RecentCall, "id" | "state">[]): string {
  const text = calls.map(({ id, state }) => `${id} ${state}\n`).join("");
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

async function readLatest<Row extends Pick<RecentCall, (typeof states)[number]>>(
  { db }: LogStore,
  accountId: string,
  { limit, before }: PageOptions,
  names: readonly string[],
): Promise<Row[]> {
  const rowsOfTables = await inOrder<readonly Row[]>(["open_calls", "calls", "refusals"], async (table) => {
    const conditions = and([isOf(table, "account", accountId), ...toPlace(table, before)]);
    const { rows } = await sql<Row>`select ${select(table, names)} from ${sql.table(table)} where ${conditions}
      order by ${byTime(table)} limit ${limit}`.execute(db);
    return rows;
  });
  return once(rowsOfTables.flat()).sort(byPlace).slice(0, limit);
}

/** Tables that may have requests that fit. */
function toTables({ status, plugin, incidentOf, tag, endUser: end_user, agent, ...filter }: RequestFilter): LogTable[] {
  const { protocol, errorCode: error_code, durationMsMin: duration_ms, costNanodollarsMin: cost_nanodollars } = filter;
  const figures = { error_code, duration_ms, cost_nanodollars, charged_nanodollars: filter.chargedNanodollarsMin };
  const isOfTable = status === "running" || status === "refused";
  const requested = {
    plugin: plugin ?? incidentOf,
    protocol,
    tag,
    end_user,
    agent,
    ...figures,
    status: isOfTable ? undefined : (status ?? incidentOf),
  };
  const columns = Object.entries(requested).flatMap(([column, value]) => (value === undefined ? [] : [column]));
  const tables: LogTable[] =
    status === "running" ? ["open_calls"] : status === "refused" ? ["refusals"] : ["open_calls", "calls", "refusals"];
  return tables.filter(
    (table) => columns.every((column) => hasColumn(table, column)) && !(table === "refusals" && status === "ok"),
  );
}

/** Running calls are read first: a call that ends during the reads is then found twice, and not missed. */
async function inOrder<Result>(
  tables: readonly LogTable[],
  read: (table: LogTable) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const table of tables) results.push(await read(table));
  return results;
}

/** Removes duplicates; the version read last is kept. */
function once<Row extends Pick<LoggedRequest, "id">>(requests: readonly Row[]): Row[] {
  return [...new Map(requests.map((request) => [request.id, request])).values()];
}

/** Requests with exactly this id, or this id of their client, however old. */
async function readNamed(store: LogStore, table: LogTable, { text, ...filter }: RequestFilter, limit: number) {
  const { found: conditions, others } = toConditions(store, table, filter);
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
  const { found: conditions, others } = toConditions(store, table, filter);
  // No index has the time of all calls, and their ids sort by time.
  if (table === "calls" && conditions.length === 0) {
    return readScanned(store, table, { found: toIdSpan(filter, before), others, order: sql`id_bytes desc`, limit });
  }
  const span = [...toSpan(filter), ...toPlace(table, before)];
  return readScanned(store, table, { found: [...conditions, ...span], others, order: byTime(table), limit });
}

interface Scan {
  /** Conditions that one index finds in the order of time. */
  readonly found: readonly Condition[];
  readonly others: readonly Condition[];
  readonly order: RawBuilder<unknown>;
  readonly limit: number;
}

/**
 * Reads the rows of one table. The rows found by an index, newest first, are cut before the other conditions are
 * checked: `limit` in a subquery keeps both engines from choosing another index. For the checked rows only the columns
 * of the conditions are read, because the names of a call are looked up one by one.
 */
async function readScanned(
  { db }: LogStore,
  table: LogTable,
  { found: conditions, others, order, limit }: Scan,
): Promise<{ rows: readonly LoggedRequest[]; searchedTo?: LogCursor | undefined }> {
  const from = sql`from ${sql.table(table)} where ${and(conditions)} order by ${order}`;
  const columns = select(table, list);
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

/**
 * The conditions of a filter, except its time. One index finds the rows of `found` in the order of time; they are the
 * most selective conditions. `others` are checked row by row.
 */
function toConditions(
  store: LogStore,
  table: LogTable,
  filter: RequestFilter,
): { found: readonly Condition[]; others: readonly Condition[] } {
  const { accountId, keyId, session, tag, status, incidentOf } = filter;
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  const owned = (owner: "account" | "key", id: string | undefined) =>
    id === undefined ? [] : [isOf(table, owner, id)];
  const [account, key] = [owned("account", accountId), owned("key", keyId)];
  const ofSession = session === undefined ? [] : [sql`session is not null`, ...equals("session", session)];
  // Unlike a session, a tag is often shared by many accounts.
  const tagged = tag === undefined ? [] : [sql`tag is not null`, ...equals("tag", tag), ...account];
  const isFailure =
    status === "failed" || incidentOf !== undefined || (typeof status === "object" && status.from >= 400);
  const failed = table === "calls" && isFailure ? [sql`error_no is not null`, ...account] : [];
  const indexed = table === "calls" ? [ofSession, tagged, failed, account] : [account];
  const best = indexed.find((conditions) => conditions.length > 0) ?? [];
  const others = [
    // Each condition once: a page that needs no others is read without a search.
    ...[ofSession, tagged, failed, key, account].flat().filter((condition) => !best.includes(condition)),
    ...equals("model", filter.model),
    ...toRequested(table, filter.requestedModel),
    ...equals("end_user", filter.endUser),
    ...equals("agent", filter.agent),
    ...equals("protocol", filter.protocol),
    ...equals("plugin", filter.plugin),
    ...(incidentOf === undefined ? [] : [isFailedOf(incidentOf, store)]),
    ...equals("error_code", filter.errorCode),
    ...(filter.durationMsMin === undefined ? [] : [sql`duration_ms >= ${filter.durationMsMin}`]),
    ...(filter.costNanodollarsMin === undefined ? [] : [sql`cost_nanodollars >= ${filter.costNanodollarsMin}`]),
    ...(filter.chargedNanodollarsMin === undefined
      ? []
      : [sql`charged_nanodollars >= ${filter.chargedNanodollarsMin}`]),
    ...toStatus(status),
    ...toText(table, filter.text),
  ];
  return { found: best, others };
}

function toStatus(status: StatusFilter | undefined): Condition[] {
  if (status === "ok") return [sql`status < 400`];
  if (typeof status === "object") return [sql`status between ${status.from} and ${status.to}`];
  return [];
}

/** `detail` is JSON as `JSON.stringify` writes it, in whose texts each quote is escaped. */
function toRequested(table: LogTable, name: string | undefined): Condition[] {
  if (name === undefined) return [];
  if (!hasColumn(table, "detail")) return [sql`model = ${name}`];
  return [sql`detail like ${toPattern(`"requested":${JSON.stringify(name)}`)} escape '\\'`];
}

function toPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
}

function toText(table: LogTable, text: string | undefined): Condition[] {
  if (text === undefined) return [];
  const pattern = toPattern(text);
  const columns = ["id", "client_request_id"].filter((column) => hasColumn(table, column));
  return [
    sql`(${sql.join(
      columns.map((column) => sql`${sql.ref(column)} like ${pattern} escape '\\'`),
      sql` or `,
    )})`,
  ];
}

function toSpan({ from, until }: RequestFilter): Condition[] {
  return [
    ...(from === undefined ? [] : [sql`opened_at >= ${from}`]),
    ...(until === undefined ? [] : [sql`opened_at < ${until}`]),
  ];
}

function toPlace(table: LogTable, before: LogCursor | undefined): Condition[] {
  if (before === undefined) return [];
  const isBefore = sql`${idColumn(table)} < ${idValue(table, before.id)}`;
  return [sql`opened_at <= ${before.at}`, sql`(opened_at < ${before.at} or ${isBefore})`];
}

/** Time and place as spans of ids. */
function toIdSpan({ from, until }: RequestFilter, before: LogCursor | undefined): Condition[] {
  return [
    ...(from === undefined ? [] : [sql`id_bytes >= ${callKeyOfTime(from)}`]),
    ...(until === undefined ? [] : [sql`id_bytes < ${callKeyOfTime(until)}`]),
    ...(before === undefined
      ? []
      : [sql`id_bytes < ${before.id === "" ? callKeyOfTime(before.at) : toCallKey(before.id)}`]),
  ];
}

function and(conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

/** Selects columns of a table by name, with null for columns that the table does not have. */
function select(table: LogTable, columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(
    columns.map((name) => {
      if (name === "state" && table === "open_calls") return sql`'open' as state`;
      return hasColumn(table, name) ? sql.ref(name) : sql`null as ${sql.ref(name)}`;
    }),
  );
}

/** The columns used by the conditions of a filter. */
function filterColumns(table: LogTable): RawBuilder<unknown> {
  const numbers = table === "calls" ? ["account_no", "key_no", "error_no"] : ["account_no", "key_no"];
  const owners = table === "refusals" ? ["account_id", "key_id", "error_code"] : ["id_bytes", ...numbers];
  const names = new Set(["id", ...owners, ...filtered.filter((name) => hasColumn(table, name))]);
  return sql.join([...names].map((name) => sql.ref(name)));
}

/** Whether a row of a table may have something in this column. */
function hasColumn(table: LogTable, column: string): boolean {
  return columnsOf[table].has(column);
}

/** The ids of calls are bytes, which an index finds; the ids of refused requests are text. */
function idColumn(table: LogTable): RawBuilder<unknown> {
  return table === "refusals" ? sql`id` : sql`id_bytes`;
}

function idValue(table: LogTable, id: string): string | Uint8Array {
  return table === "refusals" ? id : toCallKey(id);
}

function hasId(table: LogTable, id: string): Condition {
  return sql`${idColumn(table)} = ${idValue(table, id)}`;
}

/** Whether a row is of this account or key. Calls have their numbers, which an index finds. */
function isOf(table: LogTable, owner: "account" | "key", id: string): Condition {
  if (table === "refusals") return sql`${sql.ref(`${owner}_id`)} = ${id}`;
  return sql`${sql.ref(`${owner}_no`)} = ${toPayerNumber(id)}`;
}

function byTime(table: LogTable): RawBuilder<unknown> {
  return sql`opened_at desc, ${idColumn(table)} desc`;
}

function toCursor({ opened_at: at, id }: Pick<LoggedRequest, "opened_at" | "id">): LogCursor {
  return { at, id };
}

/** Newest first. */
function compare(one: LogCursor, other: LogCursor): number {
  if (one.at !== other.at) return other.at - one.at;
  return one.id === other.id ? 0 : one.id < other.id ? 1 : -1;
}

function byPlace(one: Pick<LoggedRequest, "opened_at" | "id">, other: Pick<LoggedRequest, "opened_at" | "id">): number {
  return compare(toCursor(one), toCursor(other));
}

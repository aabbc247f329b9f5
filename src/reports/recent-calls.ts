import { createHash } from "node:crypto";
import { type Selectable, sql } from "kysely";
import { usageColumns } from "../contract/index.ts";
import type { CallState, Database, Store } from "../db/index.ts";
import { idColumn, idValue, isOf, selectColumns } from "./requests/request-columns.ts";

/** Pagination options. */
export interface CallsPage {
  readonly limit: number;
  readonly before?: number | undefined;
  readonly beforeId?: string | undefined;
}

const states = ["id", "state", "opened_at"] as const;
const columns = [
  ...states,
  "key_id",
  "model",
  "capability",
  "premium",
  ...usageColumns,
  "usage_source",
  "cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
  "plugin",
  "status",
  "error_code",
  "first_byte_ms",
  "duration_ms",
  "endpoint",
  "requests",
] as const;

type CallRow = Selectable<Database["calls"]>;
type Refusal = Selectable<Database["refusals"]>;
/** Columns that a request may lack that was refused before it became a call. */
type Lacking = "state" | "model" | "capability" | "premium";

/** One of {@link readRecentCalls}. Of a call that runs most is null. A refused request has no `state`. */
export type RecentCall = Pick<CallRow, Exclude<(typeof columns)[number] & keyof CallRow, Lacking>> &
  Pick<{ [Name in keyof CallRow]: CallRow[Name] | null }, Exclude<Lacking, "state">> & {
    state: CallState | null;
    endpoint: Refusal["endpoint"] | null;
    requests: number | null;
  };

/**
 * The latest calls and refused requests of an account, newest first; `before` (milliseconds since 1970) goes further back,
 * `beforeId` with it among those of that very millisecond.
 */
export function readRecentCalls(store: Store, accountId: string, page: CallsPage): Promise<RecentCall[]> {
  return readLatest<RecentCall>(store, accountId, page, columns);
}

async function readLatest<Row extends Pick<RecentCall, (typeof states)[number]>>(
  { db }: Store,
  accountId: string,
  { limit, before = Number.MAX_SAFE_INTEGER, beforeId = "" }: CallsPage,
  names: readonly string[],
): Promise<Row[]> {
  const read = (table: "calls" | "open_calls" | "refusals") =>
    sql<Row>`select ${selectColumns(table, names)} from ${sql.table(table)}
      where ${isOf(table, "account", accountId)} and opened_at <= ${before}
        and (opened_at < ${before} or ${idColumn(table)} < ${idValue(table, beforeId)})
      order by opened_at desc, ${idColumn(table)} desc limit ${limit}`.execute(db);
  // Those that run are read first: one that ends meanwhile is then found twice, and not missed.
  const open = await read("open_calls");
  const ended = await read("calls");
  const refused = await read("refusals");
  const rowsById = new Map([...open.rows, ...ended.rows, ...refused.rows].map((row) => [row.id, row]));
  return [...rowsById.values()].sort(newestFirst).slice(0, limit);
}

function newestFirst(one: Pick<RecentCall, "id" | "opened_at">, other: Pick<RecentCall, "id" | "opened_at">): number {
  return other.opened_at - one.opened_at || (one.id < other.id ? 1 : -1);
}

/** The latest calls and refused requests of an account, newest first. */
export interface LatestCalls {
  readonly calls: readonly RecentCall[];
  /** Tells this list from any other: a client that knows it by that need not be sent it again. */
  readonly stamp: string;
}

/** The latest calls and refused requests of an account; `undefined` when they are those that were seen with this stamp. */
export async function readLatestCalls(
  store: Store,
  accountId: string,
  { limit, seen }: { limit: number; seen?: string | undefined },
): Promise<LatestCalls | undefined> {
  // Polled by open pages every few seconds, mostly without news: the rest of the rows is read only on a change.
  if (seen && hashCalls(await readStates(store, accountId, limit)) === seen) return undefined;
  const calls = await readRecentCalls(store, accountId, { limit });
  return { calls, stamp: hashCalls(calls) };
}

function readStates(store: Store, accountId: string, limit: number) {
  return readLatest<Pick<RecentCall, (typeof states)[number]>>(store, accountId, { limit }, states);
}

/** The shown fields of a call change with its state alone. */
function hashCalls(calls: readonly Pick<RecentCall, "id" | "state">[]): string {
  const text = calls.map(({ id, state }) => `${id} ${state}\n`).join("");
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

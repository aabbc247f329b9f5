import { type RawBuilder, type Selectable, sql } from "kysely";
import { usageColumns } from "../../contract/index.ts";
import { type CallState, type Database, nameNumber, toCallKey } from "../../db/index.ts";

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
  "detail",
] as const;
const detailed = ["settled_at", "hold_nanodollars", "hold_tokens", "call_units", "price_version", "node_id"] as const;
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
  Columns<Calls, (typeof detailed)[number]> &
  Columns<Refusals, (typeof detailOfRefusals)[number]>;

/** The tables of the log: calls that have ended, those that run, and requests that never became calls. */
export type LogTable = "calls" | "open_calls" | "refusals";

const list = [...common, ...listed, ...ofRefusals];
const detail = [...list, ...detailed, ...detailOfRefusals];
const there: Readonly<Record<LogTable, ReadonlySet<string>>> = {
  calls: new Set([...common, ...listed, ...detailed]),
  open_calls: new Set([
    "id",
    "account_id",
    "key_id",
    "opened_at",
    "model",
    "capability",
    "session",
    "premium",
    "hold_nanodollars",
    "hold_tokens",
    "price_version",
    "node_id",
  ]),
  refusals: new Set([...common, ...ofRefusals, ...detailOfRefusals]),
};

export function listColumns(table: LogTable): RawBuilder<unknown> {
  return selectColumns(table, list);
}

export function detailColumns(table: LogTable): RawBuilder<unknown> {
  return selectColumns(table, detail);
}

/** Whether a row of a table may have something in this column. */
export function hasColumn(table: LogTable, column: string): boolean {
  return there[table].has(column);
}

/** Columns of a table by these names, null where it has none. */
export function selectColumns(table: LogTable, columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(
    columns.map((name) => {
      if (name === "state" && table === "open_calls") return sql`'open' as state`;
      return hasColumn(table, name) ? sql.ref(name) : sql`null as ${sql.ref(name)}`;
    }),
  );
}

/** Calls have their ids as bytes, which an index finds; those of refused requests are text. */
export function idColumn(table: LogTable): RawBuilder<unknown> {
  return table === "refusals" ? sql`id` : sql`id_bytes`;
}

export function idValue(table: LogTable, id: string): string | Uint8Array {
  return table === "refusals" ? id : toCallKey(id);
}

/** Whether a row is of this account or key. Calls have the numbers of their names, which an index finds. */
export function isOf(table: LogTable, owner: "account" | "key", id: string): RawBuilder<unknown> {
  if (table === "refusals") return sql`${sql.ref(`${owner}_id`)} = ${id}`;
  return sql`${sql.ref(`${owner}_no`)} = ${nameNumber(id)}`;
}

/** Columns that a filter reads row by row. */
const filtered = ["opened_at", "session", "tag", "status", "model", "protocol", "plugin", "client_request_id"];

/** The columns that conditions of a filter ask for. */
export function filterColumns(table: LogTable): RawBuilder<unknown> {
  const numbers = table === "calls" ? ["account_no", "key_no", "error_no"] : ["account_no", "key_no"];
  const owners = table === "refusals" ? ["account_id", "key_id", "error_code"] : ["id_bytes", ...numbers];
  const names = ["id", ...owners, ...filtered.filter((name) => hasColumn(table, name))];
  return sql.join(names.map((name) => sql.ref(name)));
}

import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database } from "../../db/index.ts";

type Calls = Selectable<Database["calls"]>;
type Refusals = Selectable<Database["refusals"]>;

const common = [
  ...["id", "account_id", "key_id", "opened_at", "model", "capability", "protocol", "session", "tag"],
  ...["client_request_id", "status", "error_code", "duration_ms"],
] as const;
const listed = [
  ...["state", "premium", "route", "first_byte_ms", "usage_source", "input_tokens", "cache_read_tokens"],
  ...["cache_write_tokens", "cache_write_1h_tokens", "output_tokens", "audio_input_tokens", "audio_output_tokens"],
  ...["image_output_tokens", "cost_nanodollars", "charged_nanodollars", "quota_tokens"],
] as const;
const detailed = [
  ...["settled_at", "hold_nanodollars", "hold_tokens", "images", "audio_ms", "characters", "call_units"],
  ...["price_version", "node_id", "detail"],
] as const;
const ofRefusals = ["endpoint", "requests"] as const;
const detailOfRefusals = ["message"] as const;

type Columns<Table, Name> = { [Column in Name & keyof Table]: Table[Column] | null };

/** A row of the log. A column that its table does not have is null: a refused request has no `state`. */
export type LoggedRequest = Pick<Calls, "id" | "account_id" | "key_id" | "opened_at"> &
  Columns<Calls, (typeof common)[number] | (typeof listed)[number]> &
  Columns<Refusals, (typeof ofRefusals)[number]>;

/** All that is known of a request. */
export type RequestDetail = LoggedRequest &
  Columns<Calls, (typeof detailed)[number]> &
  Columns<Refusals, (typeof detailOfRefusals)[number]>;

export function listColumns(table: "calls" | "refusals"): RawBuilder<unknown> {
  return select(table, { calls: listed, refusals: ofRefusals });
}

export function detailColumns(table: "calls" | "refusals"): RawBuilder<unknown> {
  return select(table, { calls: [...listed, ...detailed], refusals: [...ofRefusals, ...detailOfRefusals] });
}

function select(
  table: "calls" | "refusals",
  columns: { readonly calls: readonly string[]; readonly refusals: readonly string[] },
): RawBuilder<unknown> {
  const other = columns[table === "calls" ? "refusals" : "calls"];
  return sql.join([
    ...[...common, ...columns[table]].map((name) => sql.ref(name)),
    ...other.map((name) => sql`null as ${sql.ref(name)}`),
  ]);
}

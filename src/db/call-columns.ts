import { type RawBuilder, sql } from "kysely";
import { meterNames, meterTable } from "../contract/index.ts";
import type { EndedCall, OpenCall } from "./ledger-records.ts";
import type { NameNumbers } from "./names.ts";
import { toPayerNumber } from "./payers.ts";

/**
 * Ids of calls are stored as bytes. An id made by the gateway (`req_` and 32 hexadecimal digits, the first 12 of them
 * its time) becomes 16 bytes, followed by any suffix, such as `-2` in the row of a fallback. Any other text is stored
 * as its characters. The first byte of a time is never a printable character, so the two forms cannot be confused, and
 * both sort as their texts do.
 */
const madeId = /^req_([01][0-9a-f]{31})/;
const madeLength = "req_".length + 32;

/** The bytes of an id. */
export function toCallKey(id: string): Buffer {
  if (!madeId.test(id)) return Buffer.from(id);
  const bytes = Buffer.from(id.slice("req_".length, madeLength), "hex");
  return id.length === madeLength ? bytes : Buffer.concat([bytes, Buffer.from(id.slice(madeLength))]);
}

/** The id of these bytes. */
export function fromCallKey(key: Uint8Array): string {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  if ((bytes[0] as number) >= 0x20) return bytes.toString();
  return `req_${bytes.toString("hex", 0, 16)}${bytes.toString("utf8", 16)}`;
}

/** The first bytes of ids made in this millisecond; ids made earlier sort before them. */
export function callKeyOfTime(ms: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1), 0, 6);
  return bytes;
}

/** The id as text in SQL of each engine, of the column that has its bytes. */
export const callIdText = {
  sqlite: (column: string) =>
    `case when ${column} < x'20' then 'req_' || lower(hex(substr(${column}, 1, 16))) || cast(substr(${column}, 17) as text)
    else cast(${column} as text) end`,
  postgres: (column: string) =>
    `case when ${column} < '\\x20' then 'req_' || encode(substr(${column}, 1, 16), 'hex') ||
    convert_from(substr(${column}, 17), 'UTF8') else convert_from(${column}, 'UTF8') end`,
} as const;

type Value = string | number | null;

/**
 * A column of `open_call_rows` or `call_rows`, with the function that reads its value from a record. A `payer` is
 * stored as the number of its row in `payers`, a `name` as the number of its row in `names`; the views `open_calls` and
 * `calls` show ids and names.
 */
export interface CallColumn<Of> {
  readonly type: "payer" | "name" | "text" | "integer" | "bigint";
  readonly isRequired?: true;
  readonly read: (record: Of) => Value;
}

type Columns<Of> = Readonly<Record<string, CallColumn<Of>>>;

/**
 * Columns written with a hold, in addition to its id. Both engines write calls by these maps, and the functions of
 * PostgreSQL are generated from them.
 */
export const openColumns: Columns<OpenCall> = {
  account_id: { type: "payer", isRequired: true, read: (open) => open.accountId },
  key_id: { type: "payer", isRequired: true, read: (open) => open.keyId },
  model: { type: "name", isRequired: true, read: (open) => open.model },
  capability: { type: "name", isRequired: true, read: (open) => open.capability },
  premium: { type: "integer", isRequired: true, read: (open) => (open.premium ? 1 : 0) },
  opened_at: { type: "bigint", isRequired: true, read: (open) => open.openedAt },
  price_version: { type: "name", read: (open) => open.priceVersion ?? null },
  markup_basis_points: { type: "integer", read: (open) => open.markupBasisPoints ?? null },
  session: { type: "text", read: (open) => open.session ?? null },
  tag: { type: "text", read: (open) => open.tag ?? null },
  end_user: { type: "text", read: (open) => open.endUser ?? null },
  agent: { type: "text", read: (open) => open.agent ?? null },
  parent_agent: { type: "text", read: (open) => open.parentAgent ?? null },
  quota_day: { type: "integer", read: (open) => open.quotaDay },
  hold_nanodollars: { type: "bigint", isRequired: true, read: (open) => open.holdNanodollars },
  hold_tokens: { type: "bigint", isRequired: true, read: (open) => open.holdTokens },
};

/** The columns that an extension of a hold changes. */
export const extensionColumns = ["quota_day", "hold_nanodollars", "hold_tokens"] as const;

/** Columns written with the end of a call, in addition to its id. */
export const callColumns: Columns<EndedCall> = {
  ...Object.fromEntries(
    Object.entries(openColumns).map(([name, column]) => [
      name,
      { ...column, read: ({ open }: EndedCall) => column.read(open) },
    ]),
  ),
  state: { type: "name", isRequired: true, read: (end) => end.outcome },
  settled_at: { type: "bigint", isRequired: true, read: (end) => end.settledAt },
  ...Object.fromEntries(
    meterNames.map((name) => [
      meterTable[name].column,
      { type: "bigint", read: ({ meters }: EndedCall) => meters[name] ?? null },
    ]),
  ),
  usage_source: { type: "name", read: (end) => end.usageSource },
  cost_nanodollars: { type: "bigint", read: (end) => end.costNanodollars ?? null },
  provider_cost_nanodollars: {
    type: "bigint",
    read: (end) => end.providerCostNanodollars ?? end.costNanodollars ?? null,
  },
  provider_price_version: { type: "name", read: (end) => end.providerPriceVersion ?? null },
  charged_nanodollars: { type: "bigint", read: (end) => end.chargedNanodollars },
  quota_tokens: { type: "bigint", read: (end) => end.quotaTokens },
  cache_miss: { type: "name", read: (end) => end.cache?.miss?.kind ?? null },
  cache_miss_place: { type: "text", read: (end) => end.cache?.miss?.place ?? null },
  cache_missed_tokens: { type: "bigint", read: (end) => end.cache?.miss?.tokens ?? null },
  cache_lost_nanodollars: { type: "bigint", read: (end) => end.cache?.lostNanodollars ?? null },
  cache_saved_nanodollars: { type: "bigint", read: (end) => end.cache?.savedNanodollars ?? null },
  plugin: { type: "name", read: (end) => end.plugin ?? null },
  status: { type: "integer", read: (end) => end.status },
  error_code: { type: "name", read: (end) => end.errorCode ?? null },
  first_byte_ms: {
    type: "bigint",
    read: ({ firstByteMs }) => (firstByteMs === undefined ? null : Math.round(firstByteMs)),
  },
  duration_ms: { type: "bigint", read: (end) => Math.round(end.durationMs) },
  protocol: { type: "name", read: (end) => end.protocol ?? null },
  client_request_id: { type: "text", read: (end) => end.clientRequestId ?? null },
  detail: { type: "text", read: (end) => end.detail ?? null },
};

/** A text as its column stores it: names and payers are numbers. */
export function toStored(type: CallColumn<never>["type"], text: string, names: NameNumbers): Value {
  if (type === "name") return names.of(text);
  return type === "payer" ? toPayerNumber(text) : text;
}

/** Runs through the names of a record. */
export function* namesIn<Of>(columns: Columns<Of>, record: Of): Generator<string> {
  for (const name in columns) {
    const { type, read } = columns[name] as CallColumn<Of>;
    if (type !== "name") continue;
    const value = read(record);
    if (value !== null) yield value as string;
  }
}

/** The columns that `open_call_rows` and `call_rows` share. */
const shared = sql.raw(["id", "node_id", ...Object.keys(openColumns)].join(", "));

/** Inserts calls that were open until now as abandoned; `source` has rows of `open_call_rows`. */
export function insertAbandoned(source: RawBuilder<unknown>, at: number): RawBuilder<unknown> {
  // `where true` keeps SQLite from reading the conflict clause as a join's.
  return sql`insert into call_rows (${shared}, state, settled_at)
    select ${shared}, (select id from names where name = 'abandoned'), ${sql.lit(at)} from ${source} where true
    on conflict (id) do nothing`;
}

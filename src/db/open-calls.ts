import { type RawBuilder, sql } from "kysely";
import { openColumns } from "./call-columns.ts";

/** The columns that `open_call_rows` and `call_rows` share. */
const shared = sql.raw(["id", "node_id", ...Object.keys(openColumns)].join(", "));

/** Inserts calls that were open until now as abandoned; `source` has rows of `open_call_rows`. */
export function insertAbandoned(source: RawBuilder<unknown>, at: number): RawBuilder<unknown> {
  // `where true` keeps SQLite from reading the conflict clause as a join's.
  return sql`insert into call_rows (${shared}, state, settled_at)
    select ${shared}, (select id from names where name = 'abandoned'), ${sql.lit(at)} from ${source} where true
    on conflict (id) do nothing`;
}

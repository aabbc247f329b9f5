import { type RawBuilder, sql } from "kysely";
import type { Database } from "./schema.ts";

/** The columns that `open_calls` and `calls` share. */
const shared = sql.raw(
  (
    [
      ...["id", "account_id", "key_id", "model", "capability", "premium", "opened_at", "quota_day", "budget_month"],
      ...["hold_nanodollars", "hold_tokens", "price_version", "session", "node_id"],
    ] as (keyof Database["open_calls"])[]
  ).join(", "),
);

/** Inserts calls that were open until now as abandoned; `source` has rows of `open_calls`. */
export function insertAbandoned(source: RawBuilder<unknown>, at: number): RawBuilder<unknown> {
  // `where true` keeps SQLite from reading the conflict clause as a join's.
  return sql`insert into calls (${shared}, state, settled_at)
    select ${shared}, 'abandoned', ${sql.lit(at)} from ${source} where true on conflict (id) do nothing`;
}

import { type RawBuilder, type SqlBool, sql } from "kysely";
import { GatewayError } from "../contract/index.ts";

/** One page of a list that is sorted by time and then by id, oldest first. */
export interface PageQuery {
  readonly limit: number;
  /** The id of the last entry of the previous page. */
  readonly after?: string | undefined;
}

/** Returns the entry after which a page begins. @throws {GatewayError} `invalid_request` for an id that is not in the list. */
export function toPageStart<Row>(row: Row | undefined, after: string): Row {
  if (row !== undefined) return row;
  const message = `after is ${JSON.stringify(after.slice(0, 100))}, expected the id of an entry of this list`;
  throw new GatewayError("invalid_request", message, { param: "after" });
}

/** Whether a row comes after the last entry of a page, by the columns of its time and its id. */
export function isBehind(createdAt: string, id: string, last: { created_at: number; id: string }): RawBuilder<SqlBool> {
  return sql`(${sql.ref(createdAt)}, ${sql.ref(id)}) > (${last.created_at}, ${last.id})`;
}

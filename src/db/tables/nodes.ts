import { type SqlBool, sql } from "kysely";

/** The database's clock, by which nodes agree about who lives. */
const clockMs = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)`;

/** A node polls twice a second. */
const silentMs = 10_000;

/** Whether a node has been seen lately, for what is shown: who is dead is decided elsewhere. Only where the store is shared. */
export const isSeen = sql<SqlBool>`seen_at >= ${clockMs} - ${sql.lit(silentMs)}`;

/** Processes that write calls to a shared database, while they live. */
export interface NodesTable {
  id: string;
  /** The database's own clock, milliseconds since 1970. */
  seen_at: number;
}

import { type Kysely, type SqlBool, sql } from "kysely";
import type { Database } from "./schema.ts";

/** Figures of a process that serves, which its heartbeat carries. */
export interface NodeReport {
  /** Host of the process, and which worker it is. */
  readonly name: string;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Whether the process shuts down. */
  readonly draining: boolean;
  /** Running calls. */
  readonly calls: number;
  /** Ended calls whose charges the database has not taken yet. */
  readonly waitingCharges: number;
  /** Number of {@link waitingCharges} that are on the disk of the process. */
  readonly spooledCharges: number;
  /** When the ledger was last written, milliseconds since 1970; absent: not since the start. */
  readonly lastWriteAt?: number | undefined;
  /** How long ended calls have waited to be added to the sums of usage, in milliseconds. */
  readonly rollupLagMs: number;
}

/** A process that serves from this database. */
export interface ServingNode extends NodeReport {
  /** `embedded` is the only one of an embedded store. */
  readonly id: string;
  /** `silent`: it may be gone. */
  readonly state: "serving" | "draining" | "silent";
  /** Milliseconds since its last heartbeat, by the clock of the database. */
  readonly silentMs: number;
}

/** The row of the only process that serves from an embedded store. */
export const embeddedNodeId = "embedded";

/** A node that was silent for longer may be gone. Nodes write a heartbeat twice a second, or every 5 seconds in the embedded store. */
const silentMsMax = 10_000;

/** Milliseconds since 1970 by the clock of PostgreSQL. */
export const postgresNow = "floor(extract(epoch from clock_timestamp()) * 1000)";

/** Whether a node of a shared store was seen lately, for display. */
export const isSeen = sql.raw<SqlBool>(`seen_at >= ${postgresNow} - ${silentMsMax}`);

/**
 * Lists the processes that serve, the longest running first. A process that has vanished is listed until the others
 * take its lease, or until the next process starts from an embedded store. Commands are not listed.
 */
export async function listNodes(
  { db, shared }: { db: Kysely<Database>; shared: boolean },
  now: number,
): Promise<ServingNode[]> {
  const rows = await db
    .selectFrom("nodes")
    .select(["id", "report"])
    .select(sql<number>`${shared ? sql.raw(postgresNow) : now} - seen_at`.as("silent_ms"))
    .where("report", "is not", null)
    .execute();
  return rows
    .map(({ id, report, silent_ms: elapsedMs }): ServingNode => {
      const figures = JSON.parse(report as string) as NodeReport;
      const silentMs = Math.max(0, Number(elapsedMs));
      const state = silentMs > silentMsMax ? "silent" : figures.draining ? "draining" : "serving";
      return { ...figures, id, state, silentMs };
    })
    .sort((one, other) => one.startedAt - other.startedAt);
}

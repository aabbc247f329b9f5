import { type RawBuilder, sql } from "kysely";
import { type NodeReport, postgresNow } from "../nodes.ts";

/** Serializes the end of leases with the writes that need a lease: the exclusive side of the lock of `record_calls`. */
export const leaseLock = "select pg_advisory_xact_lock(hashtextextended('leases of nodes', 0))";

/**
 * The right of this process to hold money. It has a lease as long as it writes its heartbeat; after a silence the other
 * processes end the lease and release the holds of its calls. A process that was only silent gets a new lease with its
 * next heartbeat. Its calls continue: they are charged for their usage, and take new holds for further usage.
 */
export class Lease {
  readonly #nodeId: string;
  readonly #onLost: () => void;
  /** Number of this process's current lease, counted from 1; 0 before the first lease. */
  #number = 0;
  /** Makes the figures that each heartbeat carries; absent of a command. */
  report: (() => NodeReport) | undefined;

  /** `onLost` is called when it turns out that a lease had run out. */
  constructor(nodeId: string, onLost: () => void) {
    this.#nodeId = nodeId;
    this.#onLost = onLost;
  }

  get number(): number {
    return this.#number;
  }

  /** Writes a heartbeat and returns `lease`, for {@link Lease.note}. */
  get heartbeat(): { readonly text: string; readonly values: readonly [string, number, string | null] } {
    const report = this.report === undefined ? null : JSON.stringify(this.report());
    return { text: heartbeatText, values: [this.#nodeId, this.#number + 1, report] };
  }

  /** The statement of {@link Lease.heartbeat} as a part of another. */
  get heartbeatSql(): RawBuilder<unknown> {
    const [nodeId, next, report] = this.heartbeat.values;
    return sql`insert into nodes (id, seen_at, lease, report) values (${nodeId}, ${sql.raw(postgresNow)}, ${next}, ${report})
      on conflict (id) do update set seen_at = excluded.seen_at, report = excluded.report returning lease`;
  }

  note(lease: number): void {
    if (lease === this.#number) return;
    const isLater = this.#number > 0;
    this.#number = lease;
    if (isLater) this.#onLost();
  }
}

const heartbeatText = `insert into nodes (id, seen_at, lease, report) values ($1, ${postgresNow}, $2, $3)
  on conflict (id) do update set seen_at = excluded.seen_at, report = excluded.report returning lease`;

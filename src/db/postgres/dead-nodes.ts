import { type Kysely, type RawBuilder, sql } from "kysely";
import { fromCallKey, insertAbandoned, toCallKey } from "../call-columns.ts";
import type { Database } from "../schema.ts";
import type { AbandonedCall } from "../store.ts";
import { type Lease, leaseLock } from "./lease.ts";

interface DeadNodesOptions {
  nodeId: string;
  lease: Lease;
  deadAfterMs: number;
}

interface NodeRow {
  id: string;
  seen_at: number;
}

/** The last heartbeat of another node, and since when this node has seen no newer one, by its own monotonic clock. */
interface Silence {
  seenAt: number;
  sinceMs: number;
}

/**
 * How long ending a lease may wait for running transactions that need a lease. New ones queue behind it during that
 * time.
 */
const lockWaitMs = 1000;

/**
 * Ends the leases of dead nodes and abandons their calls. A node is dead if this node has observed its silence without
 * a gap, writing its own heartbeat each time it checked: time counts only while the database answered and took writes.
 * So nodes that lost the database together do not declare each other dead, and neither does a node whose clock jumps.
 */
export class DeadNodes {
  readonly #db: Kysely<Database>;
  readonly #options: DeadNodesOptions;
  readonly #silences = new Map<string, Silence>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Open calls of this node that it did not know when it last looked. */
  #strays: ReadonlySet<string> = new Set();

  constructor(db: Kysely<Database>, options: DeadNodesOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** If such a node is alive after all, its settlements still charge its calls, once. */
  async abandonCalls(at: number, isRunning: (callId: string) => boolean): Promise<AbandonedCall[]> {
    const dead = await this.#findDead();
    const strays = await this.#findStrays(isRunning);
    const isToEnd = sql<boolean>`(${isOrphan} or id = any(${strays.map(toCallKey)}))`;
    const { rows: some } = await sql`select from open_call_rows where ${isToEnd} limit 1`.execute(this.#db);
    if (dead.length === 0 && some.length === 0) return [];
    return await this.#db.transaction().execute(async (db) => {
      await sql.raw(`set local lock_timeout = ${lockWaitMs}`).execute(db);
      // The locks of record_calls, in its order.
      await sql`select pg_advisory_xact_lock_shared(hashtextextended('ends of calls', 0))`.execute(db);
      await sql.raw(leaseLock).execute(db);
      for (const { id, seen_at: seenAt } of dead) {
        // A node that has just sent a heartbeat keeps its lease.
        await db.deleteFrom("nodes").where("id", "=", id).where("seen_at", "=", seenAt).execute();
      }
      const { rows } = await sql<Omit<AbandonedCall, "id"> & { id: Uint8Array }>`
        with gone as (delete from open_call_rows where ${isToEnd} returning *),
          abandoned as (${insertAbandoned(sql`gone`, at)})
        select id, hold_nanodollars, hold_tokens from gone`.execute(db);
      return rows.map((call) => ({ ...call, id: fromCallKey(call.id) }));
    });
  }

  async #findDead(): Promise<NodeRow[]> {
    const { nodeId, lease, deadAfterMs } = this.#options;
    let nodes: (NodeRow & { lease: number })[];
    try {
      ({ rows: nodes } = await sql<NodeRow & { lease: number }>`with heartbeat as (${lease.heartbeatSql})
        select heartbeat.lease, nodes.id, nodes.seen_at from heartbeat left join nodes on nodes.id <> ${nodeId}`.execute(
        this.#db,
      ));
    } catch (error) {
      this.#silences.clear();
      throw error;
    }
    lease.note((nodes[0] as { lease: number }).lease);
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs > deadAfterMs / 2) this.#silences.clear();
    this.#lookedAtMs = nowMs;
    const living = new Set(nodes.map(({ id }) => id));
    for (const id of this.#silences.keys()) if (!living.has(id)) this.#silences.delete(id);
    return nodes.filter(({ id, seen_at: seenAt }) => {
      if (id === null) return false;
      const silence = this.#silences.get(id);
      if (silence?.seenAt === seenAt) return nowMs - silence.sinceMs >= deadAfterMs;
      this.#silences.set(id, { seenAt, sinceMs: nowMs });
      return false;
    });
  }

  /**
   * Finds open calls of this node that it does not run. Only a call that is unknown at two looks in a row is one: a
   * call may begin or end between reading the rows and checking them.
   */
  async #findStrays(isRunning: (callId: string) => boolean): Promise<string[]> {
    const { rows } = await sql<{ id: Uint8Array }>`select id from open_call_rows
      where node_id = (select id from names where name = ${this.#options.nodeId})`.execute(this.#db);
    const unknown = rows.map(({ id }) => fromCallKey(id)).filter((callId) => !isRunning(callId));
    const strays = unknown.filter((callId) => this.#strays.has(callId));
    this.#strays = new Set(unknown);
    return strays;
  }
}

/** Whether an open call is of a node that has no lease. */
const isOrphan: RawBuilder<boolean> = sql`(node_id is null or not exists (
  select from names join nodes on nodes.id = names.name where names.id = open_call_rows.node_id))`;

import { type Kysely, sql } from "kysely";
import { fromCallKey, insertAbandoned } from "../call-columns.ts";
import type { Database } from "../schema.ts";
import type { AbandonedCall } from "../store.ts";

/**
 * A node that is still connected may be busy, or behind a network that drops packets. It counts as dead only after a
 * silence this many times as long, which is longer than nearly every call.
 */
const connectedFactor = 20;

interface DeadNodesOptions {
  nodeId: string;
  deadAfterMs: number;
}

interface NodeRow {
  id: string;
  seen_at: number;
  connected: boolean;
}

/** The last heartbeat of another node, and since when this node has seen no newer one, by its own monotonic clock. */
interface Silence {
  seenAt: number;
  sinceMs: number;
}

/**
 * Finds dead nodes and abandons their calls. A node is dead after a silence that this node has observed without a gap:
 * after an outage of the database the silence of every node is measured from the beginning. So nodes that lost the
 * database together do not declare each other dead, and neither does a node whose clock jumps.
 */
export class DeadNodes {
  readonly #db: Kysely<Database>;
  readonly #options: DeadNodesOptions;
  readonly #silences = new Map<string, Silence>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(db: Kysely<Database>, options: DeadNodesOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** If such a node is alive after all, its settlements still charge its calls, once. */
  async abandonCalls(at: number): Promise<AbandonedCall[]> {
    await this.#remove(await this.#findDead());
    const { rows } = await sql<Omit<AbandonedCall, "id"> & { id: Uint8Array }>`
      with gone as (
        delete from open_call_rows where node_id is null
          or not exists (
            select from names join nodes on nodes.id = names.name where names.id = open_call_rows.node_id) returning *
      ), abandoned as (${insertAbandoned(sql`gone`, at)})
      select id, hold_nanodollars, hold_tokens from gone`.execute(this.#db);
    return rows.map((call) => ({ ...call, id: fromCallKey(call.id) }));
  }

  async #findDead(): Promise<NodeRow[]> {
    const { nodeId, deadAfterMs } = this.#options;
    let nodes: NodeRow[];
    try {
      ({ rows: nodes } = await sql<NodeRow>`select id, seen_at, exists (
          select from pg_stat_activity where application_name like 'modelgate % ' || nodes.id) as connected
        from nodes where id <> ${nodeId}`.execute(this.#db));
    } catch (error) {
      this.#silences.clear();
      throw error;
    }
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs > deadAfterMs / 2) this.#silences.clear();
    this.#lookedAtMs = nowMs;
    const living = new Set(nodes.map(({ id }) => id));
    for (const id of this.#silences.keys()) if (!living.has(id)) this.#silences.delete(id);
    return nodes.filter(({ id, seen_at: seenAt, connected }) => {
      const silence = this.#silences.get(id);
      if (silence?.seenAt === seenAt) return nowMs - silence.sinceMs >= deadAfterMs * (connected ? connectedFactor : 1);
      this.#silences.set(id, { seenAt, sinceMs: nowMs });
      return false;
    });
  }

  /** Keeps the row of a node that has just sent a heartbeat. */
  async #remove(dead: readonly NodeRow[]): Promise<void> {
    for (const { id, seen_at: seenAt } of dead) {
      await this.#db.deleteFrom("nodes").where("id", "=", id).where("seen_at", "=", seenAt).execute();
    }
  }
}

import { type Kysely, sql } from "kysely";
import type { Database } from "../schema.ts";
import { isOpen } from "../schema.ts";
import type { AbandonedCall } from "../store.ts";

/**
 * A node whose connection still stands may be busy, or cut off by a network that drops what it sends. It is dead only
 * after a silence so many times as long, which outlasts nearly every call.
 */
const connectedFactor = 20;

interface DeadNodesOptions {
  nodeId: string;
  deadAfterMs: number;
  /** What the name of a node's connection begins with, before its id. */
  connectionOf: string;
}

interface NodeRow {
  id: string;
  seen_at: number;
  connected: boolean;
}

/** When another node last said that it lives, and since when this one has watched it say no more, by its own clock. */
interface Silence {
  seenAt: number;
  sinceMs: number;
}

/**
 * Tells the nodes that are dead from those that are only cut off, and ends the calls of the dead. Silence counts only
 * while this node looks on: after a gap in its own view, as when the database was away for all, it is counted anew. So
 * nodes that lost the database together do not take one another for dead, and no clock that jumps makes one so.
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

  /** Should a node live after all, its settle still charges its calls, once. */
  async abandonCalls(at: number): Promise<AbandonedCall[]> {
    await this.#forget(await this.#look());
    return this.#db
      .updateTable("calls")
      .set({ state: "abandoned", settled_at: at })
      .where(isOpen)
      .where((where) =>
        where.or([
          where("node_id", "is", null),
          where.not(where.exists(where.selectFrom("nodes").select("id").whereRef("nodes.id", "=", "calls.node_id"))),
        ]),
      )
      .returning(["id", "hold_nanodollars", "hold_tokens"])
      .execute();
  }

  /** The nodes that are dead by now. */
  async #look(): Promise<NodeRow[]> {
    const { nodeId, connectionOf, deadAfterMs } = this.#options;
    let nodes: NodeRow[];
    try {
      ({ rows: nodes } = await sql<NodeRow>`select id, seen_at, exists (
          select from pg_stat_activity where application_name = ${connectionOf} || nodes.id) as connected
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

  /** One that says in this moment that it lives is known again. */
  async #forget(dead: readonly NodeRow[]): Promise<void> {
    for (const { id, seen_at: seenAt } of dead) {
      await this.#db.deleteFrom("nodes").where("id", "=", id).where("seen_at", "=", seenAt).execute();
    }
  }
}

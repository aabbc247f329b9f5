import { type Kysely, sql, type Transaction } from "kysely";
import type pg from "pg";
import type { Database } from "../schema.ts";
import type { Lease } from "./lease.ts";
import type { OrderedConnection } from "./ordered-connection.ts";
import type { ObservedRow, Primary } from "./primary.ts";

interface HeartbeatRow extends ObservedRow {
  revision: number;
  lease: number;
}

/** Begins the notification that a call is to be ended, where the others have the id of a node. */
const endNotice = "end";

/**
 * Publishes changes to the other nodes and receives theirs: by a notification at once, or, if that was lost, by the row
 * `revisions`, which each poll reads. The poll is also the heartbeat of this node.
 */
export class ChangeFeed {
  readonly #nodeId: string;
  readonly #lease: Lease;
  readonly #keyListeners: ((keyId: string) => void)[] = [];
  readonly #endListeners: ((callId: string) => void)[] = [];
  /** Whether another node changed something since {@link takeExternalChange}. */
  #changed = false;
  /** The last known count of the row `revisions`; absent before the first poll. */
  #seen: number | undefined;
  /** The value of `#seen` at a poll that found a newer count. */
  #behindAt: number | undefined;
  #polling = false;
  /** Why the last heartbeat was not written; undefined when it was. */
  failure: unknown;
  /** When the last heartbeat was written, by the monotonic clock; absent before the first. */
  beatAtMs: number | undefined;
  /** Counts the changes of all nodes that invalidate every cached row. */
  revision = 0;

  constructor(nodeId: string, lease: Lease) {
    this.#nodeId = nodeId;
    this.#lease = lease;
  }

  onKeyChange(listener: (keyId: string) => void): void {
    this.#keyListeners.push(listener);
  }

  onEndCall(listener: (callId: string) => void): void {
    this.#endListeners.push(listener);
  }

  /** Tells all nodes to end this call; a notification that is lost is not repeated. */
  async endCall(db: Kysely<Database>, callId: string): Promise<void> {
    await sql`select pg_notify('modelgate_' || current_schema(), ${`${endNotice} ${callId}`})`.execute(db);
  }

  async listen(client: pg.Client): Promise<void> {
    client.on("notification", ({ payload }) => {
      const words = (payload ?? "").split(" ");
      if (words[0] === endNotice) {
        const [, callId = ""] = words;
        for (const listener of this.#endListeners) listener(callId);
        return;
      }
      const [nodeId, revision, keyId] = words;
      this.#count(Number(revision));
      if (nodeId === this.#nodeId) return;
      if (keyId === undefined) this.#noteChange();
      else this.#noteKeyChange(keyId);
    });
    const { rows } = await client.query<{ channel: string }>("select 'modelgate_' || current_schema() as channel");
    await client.query(`listen ${client.escapeIdentifier(rows[0]?.channel as string)}`);
  }

  /**
   * Called when there is a new connection, or the database is a different one: all data read so far may have changed.
   */
  invalidate(): void {
    this.#noteChange();
  }

  async change<T>(
    db: Kysely<Database>,
    work: (db: Transaction<Database>) => Promise<T>,
    keyId: string | undefined,
  ): Promise<T> {
    const { result, counted } = await db.transaction().execute(async (transaction) => {
      const result = await work(transaction);
      const { revision: counted } = await transaction
        .updateTable("revisions")
        .set((set) => ({ revision: set("revision", "+", 1) }))
        .where("name", "=", "copies")
        .returning("revision")
        .executeTakeFirstOrThrow();
      const notice = [this.#nodeId, counted, ...(keyId === undefined ? [] : [keyId])].join(" ");
      await sql`select pg_notify('modelgate_' || current_schema(), ${notice})`.execute(transaction);
      return { result, counted };
    });
    this.#count(counted);
    if (keyId === undefined) this.revision += 1;
    else this.#noteKeyChange(keyId);
    return result;
  }

  /** Whether another node changed more than single keys since the last call. */
  takeExternalChange(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /** Writes the heartbeat and looks for changes whose notification was lost, and for a database that was put in place of this one. */
  async poll(connection: OrderedConnection, primary: Primary, timeoutMs?: number): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const { text, values } = this.#lease.heartbeat;
      const statement = {
        name: `poll ${primary.observed.length}`,
        text: `with heartbeat as (${text})
          select revision, (select lease from heartbeat) as lease, ${primary.observed} from revisions where name = 'copies'`,
        values: [...values],
      };
      const compare = primary.observe();
      const { rows } = await connection.query<HeartbeatRow>(statement, { timeoutMs });
      const [row] = rows;
      if (row === undefined) throw new Error("Cannot read the revision of the database: its row is gone");
      compare(row);
      this.#lease.note(row.lease);
      this.#compare(row.revision);
      this.failure = undefined;
      this.beatAtMs = performance.now();
    } catch (error) {
      this.failure = error;
      throw error;
    } finally {
      this.#polling = false;
    }
  }

  /** After a gap the count does not move on: the next poll then finds the missing change. */
  #count(revision: number): void {
    if (this.#seen === revision - 1) this.#seen = revision;
  }

  /** A notification may arrive just after the poll that sees its change, so only the second such poll acts. */
  #compare(revision: number): void {
    const isBehind = this.#seen !== undefined && this.#seen !== revision;
    const wasMissed = isBehind && this.#behindAt === this.#seen;
    this.#behindAt = isBehind && !wasMissed ? this.#seen : undefined;
    if (wasMissed) this.#noteChange();
    if (wasMissed || this.#seen === undefined) this.#seen = revision;
  }

  #noteKeyChange(keyId: string): void {
    for (const listener of this.#keyListeners) listener(keyId);
  }

  #noteChange(): void {
    this.#changed = true;
    this.revision += 1;
  }
}

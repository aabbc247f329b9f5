import { type Kysely, sql, type Transaction } from "kysely";
import type pg from "pg";
import type { Database } from "../schema.ts";
import type { OrderedConnection } from "./ordered-connection.ts";

/**
 * Tells the other nodes of changes and hears of theirs: by a notice at once, and by the row `revisions`, asked for at
 * each poll, when a notice was lost. The poll also says that this node lives.
 */
export class ChangeFeed {
  readonly #nodeId: string;
  /** Unread changes of other nodes. */
  #changed = false;
  /** Of the row `revisions`; absent before the first poll. */
  #seen: number | undefined;
  #polling = false;
  /** Counts what copies in memory depend on, here and elsewhere. */
  revision = 0;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** What was changed while there was no connection is not known, so it is taken for changed. */
  async listen(client: pg.Client): Promise<void> {
    client.on("notification", ({ payload }) => {
      const [nodeId, counted] = (payload ?? "").split(" ");
      if (nodeId === this.#nodeId) return;
      this.#count(Number(counted));
      this.#noteChange();
    });
    const { rows } = await client.query<{ channel: string }>("select 'modelgate_' || current_schema() as channel");
    await client.query(`listen ${client.escapeIdentifier(rows[0]?.channel as string)}`);
    if (this.#seen !== undefined) this.#noteChange();
  }

  async change<T>(db: Kysely<Database>, work: (db: Transaction<Database>) => Promise<T>): Promise<T> {
    const { result, counted } = await db.transaction().execute(async (transaction) => {
      const result = await work(transaction);
      const { revision: counted } = await transaction
        .updateTable("revisions")
        .set((set) => ({ revision: set("revision", "+", 1) }))
        .where("name", "=", "copies")
        .returning("revision")
        .executeTakeFirstOrThrow();
      await sql`select pg_notify('modelgate_' || current_schema(), ${`${this.#nodeId} ${counted}`})`.execute(
        transaction,
      );
      return { result, counted };
    });
    this.#count(counted);
    this.revision += 1;
    return result;
  }

  /** Whether another node's change was heard of since the last question. */
  takeExternalChange(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  async poll(connection: OrderedConnection, timeoutMs?: number): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const statement = {
        name: "poll",
        text: `with heartbeat as (insert into nodes (id, seen_at)
          values ($1, floor(extract(epoch from clock_timestamp()) * 1000))
          on conflict (id) do update set seen_at = excluded.seen_at)
          select revision from revisions where name = 'copies'`,
        values: [this.#nodeId],
      };
      const { rows } = await connection.query<{ revision: number }>(statement, timeoutMs);
      const revision = rows[0]?.revision as number;
      if (this.#seen !== undefined && revision !== this.#seen) this.#noteChange();
      this.#seen = revision;
    } finally {
      this.#polling = false;
    }
  }

  /** A gap is a change that was not heard of yet: the next poll finds it. */
  #count(revision: number): void {
    if (this.#seen === revision - 1) this.#seen = revision;
  }

  #noteChange(): void {
    this.#changed = true;
    this.revision += 1;
  }
}

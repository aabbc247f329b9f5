import { sql } from "kysely";
import { deleteInBatches } from "./delete-in-batches.ts";
import { lockName } from "./locks.ts";
import type { Store } from "./store.ts";

/** The content of one call, encrypted. */
export interface NewContent {
  readonly id: string;
  readonly accountId: string;
  /** When the call began, milliseconds since 1970. */
  readonly at: number;
  readonly body: Uint8Array;
  readonly secretsId: string;
}

/** Prompts and answers of calls; all bodies are opaque here. */
export interface Contents {
  /** Writes rows of one account, and deletes its oldest ones beyond the bound. */
  put(accountId: string, rows: readonly NewContent[], accountBytesMax: number): Promise<void>;
  /** `accountId` absent: of any account. */
  get(id: string, accountId?: string): Promise<NewContent | undefined>;
  has(id: string, accountId?: string): Promise<boolean>;
  /** Deletes one row; returns `false` if the account has no row with this id. */
  delete(accountId: string, id: string): Promise<boolean>;
  /** Deletes all rows of an account and returns their number. */
  deleteAll(accountId: string): Promise<number>;
  /** How many rows an account has, and their bytes. */
  measure(accountId: string): Promise<{ records: number; bytes: number }>;
  /** Deletes the rows of calls that began before, and returns their number. */
  prune(before: number): Promise<number>;
}

/** Approximate size of a row without its body, in bytes. */
const rowBytes = 512;

export function createContents({ db, shared }: Pick<Store, "db" | "shared">): Contents {
  const find = (id: string, accountId?: string) =>
    db
      .selectFrom("contents")
      .where("id", "=", id)
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string));
  return {
    async put(accountId, rows, accountBytesMax) {
      const end = await db.transaction().execute(async (transaction) => {
        await lockName(transaction, `contents ${accountId}`, shared);
        const last = await transaction
          .selectFrom("contents")
          .select(["position", "bytes"])
          .where("account_id", "=", accountId)
          .orderBy("position", "desc")
          .limit(1)
          .executeTakeFirst();
        let end = last === undefined ? 0 : last.position + last.bytes;
        const values = rows.map(({ id, at, body, secretsId }) => {
          const [bytes, position] = [body.byteLength + rowBytes, end];
          end += bytes;
          return { id, account_id: accountId, at, body, secrets_id: secretsId, bytes, position };
        });
        await transaction
          .insertInto("contents")
          .values(values)
          .onConflict((conflict) => conflict.column("id").doNothing())
          .execute();
        return end;
      });
      const below = end - accountBytesMax;
      await deleteInBatches(db, "contents", sql`account_id = ${accountId} and position < ${below}`);
    },
    async get(id, accountId) {
      const row = await find(id, accountId).selectAll().executeTakeFirst();
      return row && { id, accountId: row.account_id, at: row.at, body: row.body, secretsId: row.secrets_id };
    },
    has: async (id, accountId) => (await find(id, accountId).select("id").executeTakeFirst()) !== undefined,
    async delete(accountId, id) {
      const query = db.deleteFrom("contents").where("id", "=", id).where("account_id", "=", accountId);
      return (await query.executeTakeFirstOrThrow()).numDeletedRows > 0;
    },
    deleteAll: (accountId) => deleteInBatches(db, "contents", sql`account_id = ${accountId}`),
    async measure(accountId) {
      const row = await db
        .selectFrom("contents")
        .select(({ fn }) => [fn.countAll<number>().as("records"), fn.sum<number | null>("bytes").as("bytes")])
        .where("account_id", "=", accountId)
        .executeTakeFirstOrThrow();
      return { records: Number(row.records), bytes: Number(row.bytes) };
    },
    prune: (before) => deleteInBatches(db, "contents", sql`at < ${before}`),
  };
}

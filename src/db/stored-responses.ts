import { sql } from "kysely";
import { deleteInBatches } from "./delete-in-batches.ts";
import type { Store } from "./store.ts";

/** A response, or an item of its output, to be stored. */
export interface NewStoredRow {
  id: string;
  responseId: string;
  body: Uint8Array;
}

/** Options of {@link StoredResponses.put}. */
export interface PutOptions {
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** The rows that the response builds on: they live as long as it. */
  usedIds: readonly string[];
  /** Bytes that the account may store; beyond that the rows that expire first are deleted. */
  accountBytesMax: number;
}

/** Answers that the gateway keeps for a while, by account. All bodies are opaque here. */
export interface StoredResponses {
  /** Stores the rows of one response, all or none. */
  put(accountId: string, rows: readonly NewStoredRow[], options: PutOptions): Promise<void>;
  /** Sizes of these rows; expired and unknown ones are left out. */
  sizes(accountId: string, ids: readonly string[]): Promise<{ id: string; bytes: number }[]>;
  /** The responses or items with these ids that exist and have not expired, in no particular order. */
  get(accountId: string, ids: readonly string[]): Promise<{ id: string; body: Uint8Array }[]>;
  /** Deletes a response with its items; returns `false` if it does not exist or has expired. */
  delete(accountId: string, responseId: string): Promise<boolean>;
  /** Deletes expired rows and returns their number. */
  prune(now: number): Promise<number>;
}

/** Size of a row without its body, rounded up: otherwise an account could have countless small rows. */
const rowBytes = 2048;
/** Rows written by one statement. */
const rowsAtOnceMax = 100;

export function createStoredResponses(
  { db, shared }: Pick<Store, "db" | "shared">,
  now: () => number,
): StoredResponses {
  const live = (accountId: string, ids: readonly string[]) =>
    db
      .selectFrom("stored_responses")
      .where("account_id", "=", accountId)
      .where("id", "in", ids)
      .where("expires_at", ">", now());
  return {
    put: (accountId, rows, { expiresAt, usedIds, accountBytesMax }) =>
      db.transaction().execute(async (transaction) => {
        for (let from = 0; from < rows.length; from += rowsAtOnceMax) {
          const values = rows.slice(from, from + rowsAtOnceMax).map(({ id, responseId, body }) => ({
            account_id: accountId,
            id,
            response_id: responseId,
            body,
            bytes: body.length + rowBytes,
            expires_at: expiresAt,
          }));
          await transaction
            .insertInto("stored_responses")
            .values(values)
            .onConflict((conflict) =>
              conflict.columns(["account_id", "id"]).doUpdateSet(({ ref }) => ({
                response_id: ref("excluded.response_id"),
                body: ref("excluded.body"),
                bytes: ref("excluded.bytes"),
                expires_at: ref("excluded.expires_at"),
              })),
            )
            .execute();
        }
        if (usedIds.length > 0) {
          const used = transaction
            .selectFrom("stored_responses")
            .select("id")
            .where("account_id", "=", accountId)
            .where("id", "in", usedIds)
            .where("expires_at", "<", expiresAt - 1);
          // If another node has locked a row, it is extending or deleting it. A used row expires earlier than the row
          // that uses it.
          await transaction
            .updateTable("stored_responses")
            .set({ expires_at: expiresAt - 1 })
            .where("account_id", "=", accountId)
            .where("id", "in", shared ? used.forUpdate().skipLocked() : used)
            .execute();
        }
        await sql`delete from stored_responses where account_id = ${accountId} and id in (
          select id from (
            select id, sum(bytes) over (order by expires_at desc, id desc) as total
            from stored_responses where account_id = ${accountId}
          ) as newest where total > ${accountBytesMax})`.execute(transaction);
      }),
    sizes: async (accountId, ids) =>
      ids.length === 0 ? [] : await live(accountId, ids).select(["id", "bytes"]).execute(),
    get: async (accountId, ids) =>
      ids.length === 0 ? [] : await live(accountId, ids).select(["id", "body"]).execute(),
    async delete(accountId, responseId) {
      if ((await live(accountId, [responseId]).select("id").execute()).length === 0) return false;
      const { numDeletedRows } = await db
        .deleteFrom("stored_responses")
        .where("account_id", "=", accountId)
        .where("response_id", "=", responseId)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0;
    },
    prune: (time) => deleteInBatches(db, "stored_responses", sql`expires_at <= ${time}`),
  };
}

import { type Kysely, sql } from "kysely";
import { LRUCache } from "lru-cache";
import { deleteInBatches } from "./delete-in-batches.ts";
import type { Database } from "./schema.ts";
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
/** Accounts whose bytes are remembered. */
const accountsMax = 1000;
/**
 * An account of a shared store is measured again before so many processes, each writing as much as this one, could have filled
 * it.
 */
const writersMax = 16;

/** The bytes of an account, as far as this process knows. */
interface StoredBytes {
  /** The most that it had when it was measured; absent until it is measured. */
  measured: number | undefined;
  /** Written since. */
  added: number;
  /** Being written now. */
  pending: number;
}

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
  // Made for the first of them: it takes its full size at once.
  let bytesOf: LRUCache<string, StoredBytes> | undefined;
  const write = (
    accountId: string,
    rows: readonly NewStoredRow[],
    { expiresAt, usedIds, accountBytesMax, stored }: PutOptions & { stored: StoredBytes },
  ) =>
    db.transaction().execute(async (transaction) => {
      await insertRows(transaction, accountId, rows, expiresAt);
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
      const { measured = accountBytesMax, added, pending } = stored;
      if (measured + (added + pending) * (shared ? writersMax : 1) <= accountBytesMax) return;
      const isFull = stored.measured === accountBytesMax;
      stored.measured = await keepWithin(transaction, accountId, { accountBytesMax, isFull });
      // These rows are measured, and are added when they are written.
      stored.added = -sumBytes(rows);
    });
  return {
    async put(accountId, rows, options) {
      bytesOf ??= new LRUCache({ max: accountsMax });
      const stored = bytesOf.get(accountId) ?? { measured: undefined, added: 0, pending: 0 };
      bytesOf.set(accountId, stored);
      const bytes = sumBytes(rows);
      stored.pending += bytes;
      try {
        await write(accountId, rows, { ...options, stored });
        stored.added += bytes;
      } finally {
        stored.pending -= bytes;
      }
    },
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

const bytesOfRow = ({ body }: NewStoredRow) => body.length + rowBytes;
const sumBytes = (rows: readonly NewStoredRow[]) => rows.reduce((sum, row) => sum + bytesOfRow(row), 0);

async function insertRows(
  db: Kysely<Database>,
  accountId: string,
  rows: readonly NewStoredRow[],
  expiresAt: number,
): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsAtOnceMax) {
    const values = rows.slice(from, from + rowsAtOnceMax).map((row) => ({
      account_id: accountId,
      id: row.id,
      response_id: row.responseId,
      body: row.body,
      bytes: bytesOfRow(row),
      expires_at: expiresAt,
    }));
    await db
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
}

/**
 * Deletes the rows of an account that expire first while it has more bytes than allowed. It reads all rows of the account, so it
 * runs only where they may be too many.
 *
 * @param isFull Whether the account had reached its maximum.
 * @returns The most bytes that it has now.
 */
async function keepWithin(
  db: Kysely<Database>,
  accountId: string,
  { accountBytesMax, isFull }: { accountBytesMax: number; isFull: boolean },
): Promise<number> {
  const deleteFirst = async () => {
    const { numAffectedRows = 0n } = await sql`delete from stored_responses where account_id = ${accountId} and id in (
        select id from (
          select id, sum(bytes) over (order by expires_at desc, id desc) as total
          from stored_responses where account_id = ${accountId}
        ) as newest where total > ${accountBytesMax})`.execute(db);
    return numAffectedRows;
  };
  if (isFull && (await deleteFirst()) > 0n) return accountBytesMax;
  const { total } = await db
    .selectFrom("stored_responses")
    .select(({ fn }) => fn.sum("bytes").as("total"))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (Number(total) <= accountBytesMax) return Number(total);
  await deleteFirst();
  return accountBytesMax;
}

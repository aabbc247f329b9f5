import { createHash } from "node:crypto";
import { type CompiledQuery, type Kysely, sql } from "kysely";
import { deleteInBatches } from "./delete-in-batches.ts";
import type { Database } from "./schema.ts";

/** A file that is served until it expires. */
export interface StoredBlob {
  mediaType: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Generated files, kept for a while. */
export interface Blobs {
  /** Keeps a file of an account and returns its id, which cannot be guessed. */
  put(accountId: string, blob: StoredBlob): Promise<string>;
  /** Total size of the files of an account that have not been deleted yet, in bytes. */
  storedBytes(accountId: string): Promise<number>;
  /** The length of a file, without reading it; `undefined` as of {@link get}. */
  size(id: string): Promise<number | undefined>;
  /** `undefined` when there is no such file, or it has expired. */
  get(id: string): Promise<StoredBlob | undefined>;
  /** Deletes expired files and returns their number. */
  prune(now: number): Promise<number>;
}

/** @param run Runs the queries that a caller waits for; default on `db`. */
export function createBlobs(
  db: Kysely<Database>,
  now: () => number,
  run = async <Row>(query: CompiledQuery<Row>): Promise<Row[]> => (await db.executeQuery(query)).rows,
): Blobs {
  return {
    async put(accountId, blob) {
      const id = prefixOf(accountId) + randomId();
      const row = { id, media_type: blob.mediaType, bytes: blob.bytes, expires_at: blob.expiresAt };
      await run(db.insertInto("blobs").values(row).compile());
      return id;
    },
    async storedBytes(accountId) {
      const prefix = prefixOf(accountId);
      const sum = sql<number | string | null>`sum(length(bytes))`.as("bytes");
      const ofAccount = db.selectFrom("blobs").select(sum).where("id", ">=", prefix).where("id", "<", `${prefix}g`);
      const [row] = await run(ofAccount.compile());
      return Number(row?.bytes ?? 0);
    },
    async size(id) {
      const length = sql<number | string>`length(bytes)`.as("length");
      const [row] = await run(db.selectFrom("blobs").select(["expires_at", length]).where("id", "=", id).compile());
      return row === undefined || row.expires_at <= now() ? undefined : Number(row.length);
    },
    async get(id) {
      const [row] = await run(db.selectFrom("blobs").selectAll().where("id", "=", id).compile());
      if (row === undefined || row.expires_at <= now()) return undefined;
      return { mediaType: row.media_type, bytes: toArrayView(row.bytes), expiresAt: row.expires_at };
    },
    prune: (time) => deleteInBatches(db, "blobs", sql`expires_at <= ${time}`),
  };
}

/** PostgreSQL's driver returns a Buffer, which prints and compares differently. */
function toArrayView({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** Prefix shared by all blob ids of an account: finds its files by id, without revealing the account. */
function prefixOf(accountId: string): string {
  return createHash("sha256").update(`files of ${accountId}`).digest("hex").slice(0, 24);
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(20)).toHex();
}

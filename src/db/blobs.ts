import type { CompiledQuery, Kysely } from "kysely";
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
  /** Keeps a file and returns its id, which cannot be guessed. */
  put(blob: StoredBlob): Promise<string>;
  /** `undefined` when there is no such file, or it has expired. */
  get(id: string): Promise<StoredBlob | undefined>;
  /** Deletes expired files and returns their number. */
  prune(now: number): Promise<number>;
}

/** Deletes in small batches, so that none holds the write lock for long. */
const prunedAtOnceMax = 100;

/** @param run Runs the queries that a caller waits for; default on `db`. */
export function createBlobs(
  db: Kysely<Database>,
  now: () => number,
  run = async <Row>(query: CompiledQuery<Row>): Promise<Row[]> => (await db.executeQuery(query)).rows,
): Blobs {
  return {
    async put(blob) {
      const id = randomId();
      const row = { id, media_type: blob.mediaType, bytes: blob.bytes, expires_at: blob.expiresAt };
      await run(db.insertInto("blobs").values(row).compile());
      return id;
    },
    async get(id) {
      const [row] = await run(db.selectFrom("blobs").selectAll().where("id", "=", id).compile());
      if (row === undefined || row.expires_at <= now()) return undefined;
      return { mediaType: row.media_type, bytes: toArrayView(row.bytes), expiresAt: row.expires_at };
    },
    async prune(time) {
      let pruned = 0;
      while (true) {
        const expired = db.selectFrom("blobs").select("id").where("expires_at", "<=", time).limit(prunedAtOnceMax);
        const { numDeletedRows } = await db.deleteFrom("blobs").where("id", "in", expired).executeTakeFirstOrThrow();
        pruned += Number(numDeletedRows);
        if (numDeletedRows < prunedAtOnceMax) return pruned;
      }
    },
  };
}

/** PostgreSQL's driver returns a Buffer, which prints and compares differently. */
function toArrayView({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(20)).toHex();
}

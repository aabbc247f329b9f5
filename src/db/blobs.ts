import type { Kysely } from "kysely";
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
  /** Absent when it never was, or its time is over. */
  get(id: string): Promise<StoredBlob | undefined>;
  /** Deletes what has expired and returns how many there were. */
  prune(now: number): Promise<number>;
}

/** Deletes are cut so that no one of them holds the write lock for long. */
const prunedAtOnceMax = 100;

export function createBlobs(db: Kysely<Database>, now: () => number): Blobs {
  return {
    async put(blob) {
      const id = randomId();
      await db
        .insertInto("blobs")
        .values({ id, media_type: blob.mediaType, bytes: blob.bytes, expires_at: blob.expiresAt })
        .execute();
      return id;
    },
    async get(id) {
      const row = await db.selectFrom("blobs").selectAll().where("id", "=", id).executeTakeFirst();
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

/** PostgreSQL's driver answers with a Buffer, which prints and compares as something of its own. */
function toArrayView({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(20)).toHex();
}

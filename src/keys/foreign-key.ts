import { createHash, createHmac } from "node:crypto";
import type { Store } from "../db/index.ts";

/**
 * Keys of another gateway, which go on working for their clients after an import. They have no id of ours, so they are found by
 * a hash of all of their text. Other gateways store that text, or its SHA-256 without a salt, which an import takes over; the first
 * use replaces it by a keyed hash, so that a copy of the other gateway's database tells nothing about this one.
 */

/** Form of keys of other gateways: `sk-…` most often, and what an operator chose. */
const form = /^[\x21-\x7e]{8,500}$/;

/** Whether a text may be a key of another gateway. */
export function isForeignKey(token: string): boolean {
  return form.test(token);
}

/**
 * The hashes by which a key of another gateway may be stored.
 *
 * @param idSecret The store's own secret.
 * @returns The keyed one, then the one of an import.
 */
export function hashForeignKey(token: string, idSecret: string): readonly [present: string, imported: string] {
  const keyed = createHmac("sha256", idSecret).update("foreign ").update(token).digest("hex");
  return [`hmac:${keyed}`, toImportedHash(createHash("sha256").update(token).digest("hex"))];
}

/** The hash of an import. @param sha256 Of all of the key's text, hex. */
export function toImportedHash(sha256: string): string {
  return `sha256:${sha256.toLowerCase()}`;
}

/** The id of an imported key: the same at each import, and of no use to guess the key. */
export function toForeignKeyId(sha256: string, idSecret: string): string {
  return `imp${createHmac("sha256", idSecret).update(`import ${sha256.toLowerCase()}`).digest("hex").slice(0, 24)}`;
}

/** Replaces the hash of an import, at the key's first use. Cached keys do not have it, so none becomes stale. */
export async function upgradeForeignKey(
  { db }: Pick<Store, "db">,
  id: string,
  [present, imported]: ReturnType<typeof hashForeignKey>,
): Promise<void> {
  await db
    .updateTable("keys")
    .set({ foreign_hash: present })
    .where("id", "=", id)
    .where("foreign_hash", "=", imported)
    .execute();
}

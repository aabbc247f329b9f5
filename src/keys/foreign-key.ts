import { createHash, createHmac } from "node:crypto";
import type { Store } from "../db/index.ts";

/**
 * Keys of another gateway, which keep working for their clients after an import. They have no id made here, so they are
 * found by a hash of their whole text. Other gateways store that text, or its SHA-256 without a salt, which an import
 * takes over. The first use replaces it with a keyed hash: a copy of the other gateway's database then reveals nothing
 * about this one.
 */

/** Form of keys of other gateways: usually `sk-…`, or a text chosen by an operator. */
const form = /^[\x21-\x7e]{8,500}$/;

/** Whether a text may be a key of another gateway. */
export function isForeignKey(token: string): boolean {
  return form.test(token);
}

/**
 * The possible stored hashes of a key of another gateway.
 *
 * @param idSecret The store's own secret.
 * @returns The keyed hash, then the hash stored by an import.
 */
export function hashForeignKey(token: string, idSecret: string): readonly [present: string, imported: string] {
  const keyed = createHmac("sha256", idSecret).update("foreign ").update(token).digest("hex");
  return [`hmac:${keyed}`, toImportedHash(createHash("sha256").update(token).digest("hex"))];
}

/** The hash stored by an import. @param sha256 SHA-256 of the whole text of the key, hex. */
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

import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { KeyParts } from "../contract/index.ts";
import type { Store } from "../db/index.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^12 ids make a collision practically impossible. */
const randomLength = 12;
/** 62^6 checksums: at 1 000 guesses a second one is right in two years. */
const checksumLength = 6;
/** 24 bytes are 192 bits, 48 hex digits. */
const secretBytes = 24;

/** @param idSecret From {@link readIdSecret}. */
export function makeApiKey(idSecret: string): KeyParts {
  let random = "";
  while (random.length < randomLength) random += alphabet[randomInt(alphabet.length)];
  return { id: random + checksumOf(random, idSecret), secret: randomBytes(secretBytes).toString("hex") };
}

/** Reads the secret of this store for the checksums of key ids. */
export function readIdSecret(store: Store): Promise<string> {
  return store.setting("key_id_secret", () => randomBytes(32).toString("hex"));
}

/**
 * Whether an id was made here. Imported keys and made-up ids both have no checksum of this store, and only a look-up
 * distinguishes them.
 */
export function hasChecksum(id: string, idSecret: string): boolean {
  if (id.length !== randomLength + checksumLength) return false;
  const checksum = checksumOf(id.slice(0, randomLength), idSecret);
  return equalHashes(Buffer.from(checksum), Buffer.from(id.slice(randomLength)));
}

function checksumOf(random: string, idSecret: string): string {
  const digest = createHmac("sha256", idSecret).update(random).digest();
  return Array.from(digest.subarray(0, checksumLength), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** SHA-256 is enough: the secret is random, so a slow hash would not add security. */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Compares in constant time. */
export function equalHashes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

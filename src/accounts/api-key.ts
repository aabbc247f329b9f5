import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { KeyParts } from "../contract/index.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^12 ids make a collision practically impossible. */
const idLength = 12;
/** 24 bytes are 192 bits, 48 hex digits. */
const secretBytes = 24;

export function makeApiKey(): KeyParts {
  let id = "";
  while (id.length < idLength) id += alphabet[randomInt(alphabet.length)];
  return { id, secret: randomBytes(secretBytes).toString("hex") };
}

/** SHA-256 is enough: the secret is random, so a slow hash would not add security. */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Compares in constant time. */
export function equalHashes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

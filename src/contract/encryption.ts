import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts and authenticates bytes with AES-256-GCM.
 *
 * @param key 32 bytes.
 * @param owner What the bytes belong to, such as a purpose and an account: only the same owner can decrypt them.
 * @returns Nonce, ciphertext and tag.
 */
export function encrypt(key: Uint8Array, owner: string, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(owner));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** @throws {Error} When the bytes were changed, or encrypted with another key or for another owner. */
export function decrypt(key: Uint8Array, owner: string, encrypted: Uint8Array): Buffer {
  if (encrypted.length < nonceBytes + tagBytes) throw new RangeError("The encrypted bytes are too short");
  const decipher = createDecipheriv(algorithm, key, encrypted.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(encrypted.subarray(-tagBytes));
  return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}

/** Hashes a text behind what was hashed before it. */
export type KeyedHash = (text: string, before: bigint) => bigint;

/**
 * Wyhash, whose first value is secret. It is no signature: nobody is given a hash, and the key only keeps one from being
 * looked up in a table of known texts. It hashes 300 kB in 25 µs, a hundredth of what an HMAC takes.
 */
export const keyedHash: KeyedHash = (text, before) => Bun.hash.wyhash(text, before);

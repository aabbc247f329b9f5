import type { Caller } from "../../contract/index.ts";

/** Whose prompt a provider may have cached: a session of an account. */
export function ownerOf({ session, caller }: { session?: string | undefined; caller: Caller }): string | undefined {
  return session === undefined ? undefined : `${caller.accountId} ${session}`;
}

/** The parts of 1 that a hash can be. */
const parts = 2 ** 32;

/**
 * A number above 0 and below 1 for an owner and the name of a candidate, always the same for both. The candidate with the
 * largest number is the owner's: all processes agree on it without a word between them, and when a candidate goes or
 * comes, no owner moves between the others (rendezvous hashing).
 */
export function affinity(owner: string, candidate: string): number {
  return (hash(`${owner} ${candidate}`) + 0.5) / parts;
}

/** The keys in the order in which an owner uses them. */
export function sortFor<Key extends { readonly key: string }>(owner: string, keys: readonly Key[]): readonly Key[] {
  if (keys.length === 1) return keys;
  const ranked = keys.map((key) => ({ key, rank: affinity(owner, key.key) }));
  return ranked.sort((a, b) => b.rank - a.rank).map(({ key }) => key);
}

/** FNV-1a with the last mixing of MurmurHash3, without which names that differ in the last letter have similar hashes. */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) bits = Math.imul(bits ^ text.charCodeAt(at), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

/** The two parts of an API key: `sk-mg-<id>-<secret>`. */
export interface ApiKey {
  /** Public: shown and logged. */
  id: string;
  secret: string;
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^12 ids: no two meet. */
const idLength = 12;
/** 24 bytes are 192 bits, 48 hex digits. */
const secretBytes = 24;

/** A given key may come from elsewhere, so its parts are held to the same alphabet and to 160 bits of hex or more. */
const pattern = /^sk-mg-([0-9A-Za-z]{8,32})-([0-9A-Za-z]{40,128})$/;

/** What a well-formed key looks like, for error messages. */
export const apiKeyForm = "sk-mg-<id of 8 to 32 letters and digits>-<secret of 40 to 128 letters and digits>";

export function makeApiKey(): ApiKey {
  let id = "";
  while (id.length < idLength) id += alphabet[randomInt(alphabet.length)];
  return { id, secret: randomBytes(secretBytes).toString("hex") };
}

export function formatApiKey({ id, secret }: ApiKey): string {
  return `sk-mg-${id}-${secret}`;
}

/** Returns `undefined` for a text that is no key. */
export function parseApiKey(token: string): ApiKey | undefined {
  const match = pattern.exec(token);
  if (match === null) return undefined;
  const [, id = "", secret = ""] = match;
  return { id, secret };
}

/** SHA-256: the secret is random, so a slow hash would add cost and nothing else. */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Compares in constant time. */
export function sameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

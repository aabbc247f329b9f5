import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

/** The two parts of an API key: `sk-mg-<id>-<secret>`. */
export interface KeyParts {
  /** Public: shown and logged. */
  id: string;
  secret: string;
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^12 ids: no two meet. */
const idLength = 12;
/** 24 bytes are 192 bits, 48 hex digits. */
const secretBytes = 24;

/** Wider than what is made here: a key given for scripts comes from elsewhere. */
const pattern = /^sk-mg-([0-9A-Za-z]{4,64})-([0-9A-Za-z_-]{16,200})$/;

/** What a well-formed key looks like, for error messages. */
export const apiKeyForm =
  "sk-mg-<id>-<secret>, the id 4 to 64 letters or digits and the secret 16 to 200 letters, digits, - or _";

export function makeApiKey(): KeyParts {
  let id = "";
  while (id.length < idLength) id += alphabet[randomInt(alphabet.length)];
  return { id, secret: randomBytes(secretBytes).toString("hex") };
}

export function formatApiKey({ id, secret }: KeyParts): string {
  return `sk-mg-${id}-${secret}`;
}

/** Returns `undefined` for a text that is no key. */
export function parseApiKey(token: string): KeyParts | undefined {
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

import { createHash, randomBytes, randomInt } from "node:crypto";

/** SHA-256 is enough for random secrets, and for codes that live ten minutes with bounded guesses. */
export function hashText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** 256 bits, 43 characters. */
export function makeCode(): string {
  return randomBytes(32).toString("base64url");
}

/** No vowels, which would make words, and no letters that look alike: 20^8 codes (RFC 8628, section 6.1). */
const alphabet = "BCDFGHJKLMNPQRSTVWXZ";
const userCodeLength = 8;

/** A code for a person to type: `SFSP-ZZMX`. */
export function makeUserCode(): string {
  const letters = Array.from({ length: userCodeLength }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${letters.slice(0, userCodeLength / 2)}-${letters.slice(userCodeLength / 2)}`;
}

/** The code as it is hashed: people type it in small letters, and with other separators. */
export function toUserCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
}

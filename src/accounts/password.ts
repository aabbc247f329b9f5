import { randomBytes, randomInt, scrypt, timingSafeEqual } from "node:crypto";

/** Limits of a password's length, in characters. */
export const passwordLengthMin = 10;
export const passwordLengthMax = 200;

/** 32 MB and about 60 ms of one core: what OWASP recommends for scrypt and better-auth uses. */
const cost = { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 };
const hashBytes = 64;
/** Excludes letters and digits that look alike. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";
const groups = 4;
const groupLength = 5;

/** Hashes a password with a salt, off the event loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString("hex");
  return `${salt}:${(await derive(password, salt)).toString("hex")}`;
}

/** Compares a password with a hash in constant time. */
export async function verifyPassword({ hash, password }: { hash: string; password: string }): Promise<boolean> {
  const [salt = "", key = ""] = hash.split(":");
  const [expected, found] = [Buffer.from(key, "hex"), await derive(password, salt)];
  return expected.length === found.length && timingSafeEqual(expected, found);
}

/** Makes a password with 99 bits that is easy to read and type. */
export function makePassword(): string {
  const letters = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join("");
  return Array.from({ length: groups }, letters).join("-");
}

function derive(password: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, hashBytes, cost, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

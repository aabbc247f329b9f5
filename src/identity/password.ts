import { randomBytes, randomInt, scrypt, timingSafeEqual } from "node:crypto";

/** Limits of a password's length, in characters. */
export const passwordLengthMin = 10;
export const passwordLengthMax = 200;

/** Cost of a hash, in the terms of scrypt: memory is 128 × `N` × `r` bytes. */
interface HashCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** 32 MB and about 60 ms of one core: recommended by OWASP for scrypt, and used by better-auth. */
const standardCost: HashCost = { N: 16_384, r: 16, p: 1 };
const memoryMax = 64 * 1024 * 1024;
const hashBytes = 64;
/** Excludes letters and digits that look alike. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";
const groups = 4;
const groupLength = 5;

/**
 * Hashes a password with a salt, off the event loop. The hash contains its cost,
 * `$scrypt$n=16384,r=16,p=1$<salt>$<key>`: a later version can use a different cost.
 */
export async function hashPassword(password: string, cost = standardCost): Promise<string> {
  const salt = randomBytes(16).toString("hex");
  const key = await derive(password, salt, cost);
  return `$scrypt$n=${cost.N},r=${cost.r},p=${cost.p}$${salt}$${key.toString("hex")}`;
}

/** Compares a password with a hash in constant time. */
export async function verifyPassword({ hash, password }: { hash: string; password: string }): Promise<boolean> {
  const parts = /^\$scrypt\$n=(\d+),r=(\d+),p=(\d+)\$([0-9a-f]+)\$([0-9a-f]+)$/.exec(hash);
  if (parts === null) throw new Error("The hash of a password cannot be read");
  const [, N, r, p, salt, key] = parts as unknown as string[];
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const [expected, derived] = [Buffer.from(key as string, "hex"), await derive(password, salt as string, cost)];
  return expected.length === derived.length && timingSafeEqual(expected, derived);
}

/** Makes a password with 99 bits that is easy to read and type. */
export function makePassword(): string {
  const letters = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join("");
  return Array.from({ length: groups }, letters).join("-");
}

function derive(password: string, salt: string, cost: HashCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, hashBytes, { ...cost, maxmem: memoryMax }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

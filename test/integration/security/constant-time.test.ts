import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sameHash } from "../../../src/accounts/api-key.ts";

const source = join(import.meta.dir, "../../../src");
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

/** Files that make a hash and compare none, and what it is for. */
const compareNone: Readonly<Record<string, string>> = {
  "accounts/people.ts": "an invitation is found by its token's hash, in an index",
  "accounts/sign-in-address.ts": "an address is made of it",
  "accounts/vouchers.ts": "a code is found by its hash, in an index: what is compared is no secret",
  "http/static-assets.ts": "a file's version",
  "billing/latest-calls.ts": "a list's version",
  "plugin-loader/content-version.ts": "a file's version",
};

test("whatever compares what a secret makes does it in constant time", () => {
  const hashing = files.filter((name) =>
    /import \{[^}]*\b(createHmac|createHash|scrypt)\b[^}]*\} from "node:crypto"/.test(
      readFileSync(join(source, name), "utf8"),
    ),
  );
  expect(hashing.length).toBeGreaterThan(4);
  const careless = hashing.filter((name) => !readFileSync(join(source, name), "utf8").includes("timingSafeEqual("));
  expect(careless.filter((name) => compareNone[name] === undefined)).toEqual([]);
});

test("no hash, signature or token is compared letter by letter", () => {
  const compared = files.flatMap((name) => {
    const found = readFileSync(join(source, name), "utf8").match(
      /\b(\w*(?:[sS]ignature|[hH]mac|secretHash|digest))\s*[!=]==\s*(?!undefined|null)\S+/g,
    );
    return (found ?? []).map((text) => `${name}: ${text}`);
  });
  // What is kept of an imported key is compared with itself, by its hash and by nobody's question.
  expect(compared).toEqual([]);
});

test("a hash is equal to itself alone, whatever its length", () => {
  const hash = new Uint8Array(32).fill(7);
  expect(sameHash(hash, new Uint8Array(32).fill(7))).toBe(true);
  for (const other of [new Uint8Array(32), new Uint8Array(31).fill(7), new Uint8Array(0)])
    expect(sameHash(hash, other)).toBe(false);
});

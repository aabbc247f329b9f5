import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { decrypt, encrypt } from "../../../src/contract/encryption.ts";

const [key, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const text = Buffer.from("a prompt");

test("What is encrypted for an owner is decrypted for the same owner only", () => {
  const encrypted = encrypt(key, "responses acct_1", text);
  expect(decrypt(key, "responses acct_1", encrypted).toString()).toBe("a prompt");
  expect(() => decrypt(key, "responses acct_2", encrypted)).toThrow();
  expect(() => decrypt(otherKey, "responses acct_1", encrypted)).toThrow();
});

test("The same bytes never encrypt to the same", () => {
  expect(encrypt(key, "x", text).equals(encrypt(key, "x", text))).toBe(false);
});

test("Each changed byte and every truncation is refused", () => {
  const encrypted = encrypt(key, "x", text);
  for (let at = 0; at < encrypted.length; at++) {
    const changed = Buffer.from(encrypted);
    changed[at] = (changed[at] as number) ^ 1;
    expect(() => decrypt(key, "x", changed)).toThrow();
    expect(() => decrypt(key, "x", encrypted.subarray(0, at))).toThrow();
  }
});

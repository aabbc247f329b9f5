import { expect, test } from "bun:test";
import { temporaryStore } from "./temporary-store.ts";

test("blobs.get returns what was put, until it expires", async () => {
  let now = 1000;
  const { blobs } = await temporaryStore(undefined, () => now);
  const bytes = new Uint8Array([0, 1, 255]);
  const id = await blobs.put("account", { mediaType: "image/png", bytes, expiresAt: 2000 });
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  now = 1999;
  expect(await blobs.get(id)).toEqual({ mediaType: "image/png", bytes, expiresAt: 2000 });
  now = 2000;
  expect(await blobs.get(id)).toBeUndefined();
  expect(await blobs.get("another")).toBeUndefined();
});

test("blobs.prune deletes all that expired, also more than one cut, and nothing else", async () => {
  const store = await temporaryStore(undefined, () => 0);
  const bytes = new Uint8Array(1);
  for (let i = 0; i < 205; i++) await store.blobs.put("account", { mediaType: "image/png", bytes, expiresAt: 10 });
  const kept = await store.blobs.put("account", { mediaType: "image/png", bytes, expiresAt: 11 });
  expect(await store.blobs.prune(10)).toBe(205);
  expect(await store.blobs.prune(10)).toBe(0);
  expect(await store.blobs.get(kept)).toBeDefined();
});

test("blobs tell what an account stores, and how long one is", async () => {
  let now = 0;
  const { blobs } = await temporaryStore(undefined, () => now);
  const put = (account: string, length: number) =>
    blobs.put(account, { mediaType: "image/png", bytes: new Uint8Array(length), expiresAt: 10 });
  expect(await blobs.storedBytes("a")).toBe(0);
  const [first] = await Promise.all([put("a", 300_000), put("a", 5), put("b", 7)]);
  expect([await blobs.storedBytes("a"), await blobs.storedBytes("b")]).toEqual([300_005, 7]);
  expect([await blobs.size(first), await blobs.size("another")]).toEqual([300_000, undefined]);
  now = 10;
  expect(await blobs.size(first)).toBeUndefined();
  await blobs.prune(10);
  expect(await blobs.storedBytes("a")).toBe(0);
});

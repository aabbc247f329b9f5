import { expect, test } from "bun:test";
import { temporaryStore } from "./temporary-store.ts";

test("blobs.get returns what was put, until it expires", async () => {
  let now = 1000;
  const { blobs } = await temporaryStore(undefined, () => now);
  const bytes = new Uint8Array([0, 1, 255]);
  const id = await blobs.put({ mediaType: "image/png", bytes, expiresAt: 2000 });
  expect(id).toMatch(/^[0-9a-f]{40}$/);
  now = 1999;
  expect(await blobs.get(id)).toEqual({ mediaType: "image/png", bytes, expiresAt: 2000 });
  now = 2000;
  expect(await blobs.get(id)).toBeUndefined();
  expect(await blobs.get("another")).toBeUndefined();
});

test("blobs.prune deletes all that expired, also more than one cut, and nothing else", async () => {
  const store = await temporaryStore(undefined, () => 0);
  const bytes = new Uint8Array(1);
  for (let i = 0; i < 205; i++) await store.blobs.put({ mediaType: "image/png", bytes, expiresAt: 10 });
  const kept = await store.blobs.put({ mediaType: "image/png", bytes, expiresAt: 11 });
  expect(await store.blobs.prune(10)).toBe(205);
  expect(await store.blobs.prune(10)).toBe(0);
  expect(await store.blobs.get(kept)).toBeDefined();
});

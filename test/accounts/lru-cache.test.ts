import { expect, test } from "bun:test";
import { LruCache } from "../../src/accounts/lru-cache.ts";

test("a full cache forgets what was used longest ago, and never grows beyond its bound", () => {
  const cache = new LruCache<number>(3);
  for (const [index, key] of ["a", "b", "c"].entries()) cache.set(key, index);
  cache.get("a");
  cache.set("d", 3);
  expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual([0, undefined, 2, 3]);
  for (let i = 0; i < 100; i++) cache.set(`k${i}`, i);
  expect(cache.size).toBe(3);
  cache.set("k99", -1);
  expect([cache.size, cache.get("k99"), cache.get("k98")]).toEqual([3, -1, 98]);
  cache.clear();
  expect([cache.size, cache.get("k99")]).toEqual([0, undefined]);
});

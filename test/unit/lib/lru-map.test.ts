import { expect, test } from "bun:test";
import { LruMap } from "../../../src/lib/lru-map.ts";

test("RecentMap forgets the entry that was not used for longest", () => {
  const map = new LruMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
});

test("RecentMap keeps one value a key and never more than its bound", () => {
  const map = new LruMap<number>(3);
  for (let turn = 0; turn < 1000; turn++) map.set(String(turn % 7), turn);
  const kept = Array.from({ length: 7 }, (_, key) => map.get(String(key))).filter((value) => value !== undefined);
  expect(kept.sort()).toEqual([997, 998, 999]);
});

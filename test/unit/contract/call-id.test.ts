import { expect, test } from "bun:test";
import { makeCallId, randomText } from "../../../src/contract/index.ts";
import { startMs } from "../kernel/support.ts";

test("ids are unique, also within a millisecond", () => {
  const ids = new Set(Array.from({ length: 20_000 }, () => makeCallId(startMs)));
  expect(ids.size).toBe(20_000);
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
});

test("ids of later milliseconds sort later", () => {
  const moments = [0, 1, 31, 32, 1023, 1024, startMs - 1, startMs, startMs + 1, 2 ** 45];
  const ids = moments.map((nowMs) => makeCallId(nowMs));
  expect(ids.toSorted()).toEqual(ids);
});

test("random text has every character of the alphabet about as often", () => {
  const counts = new Map<string, number>();
  for (const character of Array.from({ length: 100 }, () => randomText(320)).join("")) {
    counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  expect(counts.size).toBe(32);
  // 1,000 each on average; 6 standard deviations are 190.
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(190);
});

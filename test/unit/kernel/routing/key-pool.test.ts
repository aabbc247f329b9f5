import { describe, expect, test } from "bun:test";
import { KeyPool } from "../../../../src/kernel/routing/health.ts";

const none = new Set<number>();

/** The keys taken in as many calls, each of which tries one. */
const taken = (ring: KeyPool, calls: number, nowMs = 0) =>
  Array.from({ length: calls }, () => ring.take(nowMs, none)?.key).join("");

/** Takes the keys in turn, each of which the provider then wants to rest. */
const pause = (ring: KeyPool, until: number[]) => {
  for (const untilMs of until) ring.take(0, none)?.circuitBreaker.openUntil(untilMs);
};

describe("a key ring", () => {
  test("hands out its keys in turn", () => expect(taken(new KeyPool(["a", "b", "c"]), 7)).toBe("abcabca"));

  test("hands out none that was tried", () => {
    const ring = new KeyPool(["a", "b"]);
    expect(ring.take(0, new Set([0]))).toMatchObject({ index: 1, key: "b" });
    expect(ring.take(0, new Set([0, 1]))).toBeUndefined();
    expect(new KeyPool([]).take(0, none)).toBeUndefined();
  });

  test("passes over a resting key until its time is over", () => {
    const ring = new KeyPool(["a", "b", "c"]);
    pause(ring, [0, 100, 0]);
    expect(taken(ring, 4, 99)).toBe("acac");
    expect(taken(ring, 3, 100)).toBe("abc");
  });

  test("hands out the one that rests the least when all rest", () => {
    const ring = new KeyPool(["a", "b", "c"]);
    pause(ring, [300, 100, 200]);
    expect(ring.take(0, none)?.key).toBe("b");
    expect(ring.take(0, new Set([1]))?.key).toBe("c");
  });
});

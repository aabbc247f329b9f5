import { describe, expect, test } from "bun:test";
import { KeyPool } from "../../../../src/kernel/routing/circuits.ts";

const none = new Set<number>();

/** The keys taken in as many calls, each of which tries one. */
const taken = (ring: KeyPool, calls: number, nowMs = 0) =>
  Array.from({ length: calls }, () => ring.take(nowMs, none)?.key).join("");

/** Takes the keys in turn, each of which the provider then wants to rest. */
const pause = (ring: KeyPool, until: number[]) => {
  for (const untilMs of until) ring.take(0, none)?.circuitBreaker.pauseFor(untilMs, 0);
};

describe("a key ring", () => {
  test("hands out its keys in turn", () => expect(taken(new KeyPool(["a", "b", "c"]), 7)).toBe("abcabca"));

  describe("for an owner", () => {
    const pool = () => new KeyPool(["key-a", "key-b", "key-c", "key-d"]);
    const keyFor = (keys: KeyPool, owner: string, tried = none) =>
      keys.take(0, tried, owner) as { index: number; key: string };
    const owners = Array.from({ length: 400 }, (_, index) => `session-${index}`);

    test("hands out one key, also on another node, whatever others take", () => {
      const [here, there] = [pool(), pool()];
      for (const owner of owners) {
        const { key } = keyFor(here, owner);
        taken(here, 1);
        expect([keyFor(here, owner).key, keyFor(there, owner).key]).toEqual([key, key]);
      }
    });

    test("spreads the owners, and moves only those of a key that is removed", () => {
      const smaller = new KeyPool(["key-a", "key-c", "key-d"]);
      const keys = owners.map((owner) => keyFor(pool(), owner).key);
      const moved = owners.filter((owner, index) => keyFor(smaller, owner).key !== keys[index]);
      expect(moved).toEqual(owners.filter((_, index) => keys[index] === "key-b"));
      for (const name of ["key-a", "key-b", "key-c", "key-d"])
        expect(keys.filter((key) => key === name).length).toBeGreaterThan(60);
    });

    test("hands out the same second key while the first is tried or rests", () => {
      const [tried, resting] = [pool(), pool()];
      for (const owner of owners.slice(0, 20)) {
        const { index } = keyFor(tried, owner);
        const second = keyFor(tried, owner, new Set([index])).key;
        const keys = pool();
        keys.take(0, none, owner)?.circuitBreaker.pauseFor(100, 0);
        expect([keyFor(keys, owner).key, keys.take(100, none, owner)?.index]).toEqual([second, index]);
      }
      expect(taken(resting, 4)).toBe("key-akey-bkey-ckey-d");
    });
  });

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

import { describe, expect, test } from "bun:test";
import { withYielding } from "../../../../src/kernel/capabilities/paced.ts";

async function* endless() {
  for (let piece = 0; ; piece++) yield piece;
}

describe("pieces of a handler that never waits", () => {
  test("let timers run", async () => {
    const pieces = withYielding(endless());
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, 5);
    let count = 0;
    while (!isOver && count < 10_000_000) {
      await pieces.next();
      count++;
    }
    expect(isOver).toBe(true);
  });

  test("come in order, and have a bound", async () => {
    const pieces = withYielding(endless(), 1024);
    for (let piece = 0; piece < 1023; piece++) expect((await pieces.next()).value).toBe(piece);
    expect(() => pieces.next()).toThrow("has more than 1024 pieces");
  });

  test("are let go of through it", async () => {
    const source = endless();
    await withYielding(source).return?.();
    expect((await source.next()).done).toBe(true);
    expect(withYielding({ next: () => source.next() }).return).toBeUndefined();
  });
});

import { describe, expect, test } from "bun:test";
import { withYielding } from "../../../../src/kernel/streaming.ts";

async function* endless() {
  for (let chunk = 0; ; chunk++) yield chunk;
}

describe("chunks of a handler that never waits", () => {
  test("let timers run", async () => {
    const chunks = withYielding(endless());
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, 5);
    let count = 0;
    while (!isOver && count < 10_000_000) {
      await chunks.next();
      count++;
    }
    expect(isOver).toBe(true);
  });

  test("come in order, up to a limit", async () => {
    const chunks = withYielding(endless(), 1024);
    for (let chunk = 0; chunk < 1023; chunk++) expect((await chunks.next()).value).toBe(chunk);
    expect(() => chunks.next()).toThrow("has more than 1024 chunks");
  });

  test("are closed through it", async () => {
    const source = endless();
    await withYielding(source).return?.();
    expect((await source.next()).done).toBe(true);
    expect(withYielding({ next: () => source.next() }).return).toBeUndefined();
  });
});

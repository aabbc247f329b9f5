import { describe, expect, test } from "bun:test";
import { StreamOutlet } from "../../src/http/stream-outlet.ts";
import { settled } from "../kernel/fake-fetch.ts";
import { newProgress } from "../kernel/support.ts";

const kilobytes = (count: number) => new Uint8Array(count * 1024);

function outletOf() {
  const progress = newProgress();
  return { progress, outlet: new StreamOutlet<Uint8Array>(progress, (bytes) => bytes) };
}

/** Whether a promise is still open after all that can run has run. */
async function isPending(promise: Promise<unknown> | undefined): Promise<boolean> {
  let pending = promise !== undefined;
  promise?.then(() => {
    pending = false;
  });
  await settled();
  return pending;
}

describe("an outlet", () => {
  test("is opened once the head may be sent", async () => {
    const { outlet } = outletOf();
    expect(await isPending(outlet.opened)).toBe(true);
    outlet.open();
    await outlet.opened;
  });

  test("hands on what is written, in order, and ends", async () => {
    const { outlet } = outletOf();
    for (const text of ["a", "b", "c"]) outlet.write(new TextEncoder().encode(text));
    outlet.end();
    expect(await new Response(outlet.body).text()).toBe("abc");
  });

  test("sends the first text at once, what else comes in the turn together, and bytes after the text before them", async () => {
    const progress = newProgress();
    const outlet = new StreamOutlet<string | Uint8Array>(progress, (piece) => piece);
    const reader = outlet.body.getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    for (const text of ["a", "b", "c"]) outlet.write(text);
    expect([await next(), await next()]).toEqual(["a", "bc"]);
    outlet.write("d");
    outlet.write(new TextEncoder().encode("e"));
    outlet.write("f");
    expect([await next(), await next(), await next()]).toEqual(["d", "e", "f"]);
    outlet.write("g");
    outlet.end();
    expect([await next(), (await reader.read()).done]).toEqual(["g", true]);
  });

  test.each([
    [16 * 1024 - 1, false],
    [16 * 1024, true],
  ])("gathers text below 16 384 characters: %p leave at once: %p", async (length, leaves) => {
    const outlet = new StreamOutlet<string>(newProgress(), (text) => text);
    const reader = outlet.body.getReader();
    outlet.write("first");
    await reader.read();
    outlet.write("x".repeat(length));
    let hasLeft = false;
    const read = reader.read().then(() => {
      hasLeft = true;
    });
    // Promises alone: the turn of the event loop does not end.
    for (let step = 0; step < 20; step++) await undefined;
    expect(hasLeft).toBe(leaves);
    await read;
  });

  test("takes 64 kB without waiting, then waits for the reader", async () => {
    const { outlet } = outletOf();
    expect(outlet.write(kilobytes(63))).toBeUndefined();
    const behind = outlet.write(kilobytes(1));
    expect(await isPending(behind)).toBe(true);
    await outlet.body.getReader().read();
    await behind;
    expect(outlet.write(kilobytes(1))).toBeUndefined();
  });

  test("wakes everyone who waits", async () => {
    const { outlet } = outletOf();
    const waiting = [outlet.write(kilobytes(64)), outlet.send(kilobytes(64))];
    const reader = outlet.body.getReader();
    await reader.read();
    await reader.read();
    await Promise.all(waiting);
  });

  test.each([
    ["ends", (outlet: StreamOutlet<Uint8Array>) => outlet.end()],
    ["breaks off", (outlet: StreamOutlet<Uint8Array>) => outlet.abort(new Error("broken"))],
    ["is cancelled", (outlet: StreamOutlet<Uint8Array>) => void outlet.body.cancel()],
  ])("that %s leaves no writer waiting, and takes no more", async (_, close) => {
    const { outlet } = outletOf();
    const behind = outlet.write(kilobytes(64));
    close(outlet);
    await behind;
    expect(outlet.write(kilobytes(64))).toBeUndefined();
    outlet.end();
    outlet.abort(new Error("again"));
  });

  test("whose reader leaves cuts the call", async () => {
    const { outlet, progress } = outletOf();
    await outlet.body.cancel();
    expect([progress.cutReason, progress.signal.aborted]).toEqual(["left", true]);
  });

  test("that breaks off breaks the reader's stream", async () => {
    const { outlet } = outletOf();
    outlet.abort(new Error("broken"));
    await expect(new Response(outlet.body).text()).rejects.toThrow("broken");
  });
});

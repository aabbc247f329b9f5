import { describe, expect, test } from "bun:test";
import { ByteStream } from "../../../../src/http/middleware/byte-stream.ts";
import { errorOf } from "../../../support/error-of.ts";
import { settled } from "../../kernel/fake-fetch.ts";
import { newProgress } from "../../kernel/support.ts";

const kilobytes = (count: number) => new Uint8Array(count * 1024);

function outletOf() {
  const progress = newProgress();
  return { progress, outlet: new ByteStream(progress) };
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

describe("an outlet of bytes", () => {
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
    const waiting = [outlet.write(kilobytes(64)), outlet.write(kilobytes(64))];
    const reader = outlet.body.getReader();
    await reader.read();
    await reader.read();
    await Promise.all(waiting);
  });

  test.each([
    ["ends", (outlet: ByteStream) => outlet.end()],
    ["breaks off", (outlet: ByteStream) => outlet.abort(new Error("broken"))],
    ["is cancelled", (outlet: ByteStream) => void outlet.body.cancel()],
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
    expect((await errorOf(new Response(outlet.body).text())).message).toContain("broken");
  });
});

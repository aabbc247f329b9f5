import { describe, expect, test } from "bun:test";
import { ByteStream } from "../../../../src/http/lifecycle/byte-stream.ts";
import { errorOf } from "../../../support/error-of.ts";
import { settled } from "../../kernel/fake-fetch.ts";

/** Who is told that the client has left. */
const clientOf = () => ({
  hasLeft: false,
  cancel() {
    this.hasLeft = true;
  },
});

const kilobytes = (count: number) => new Uint8Array(count * 1024);

function outletOf() {
  const call = clientOf();
  return { call, sink: new ByteStream(call) };
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
    const { sink } = outletOf();
    expect(await isPending(sink.opened)).toBe(true);
    sink.open();
    await sink.opened;
  });

  test("hands on what is written, in order, and ends", async () => {
    const { sink } = outletOf();
    for (const text of ["a", "b", "c"]) sink.write(new TextEncoder().encode(text));
    sink.end();
    expect(await new Response(sink.body).text()).toBe("abc");
  });

  test("takes 64 kB without waiting, then waits for the reader", async () => {
    const { sink } = outletOf();
    expect(sink.write(kilobytes(63))).toBeUndefined();
    const behind = sink.write(kilobytes(1));
    expect(await isPending(behind)).toBe(true);
    await sink.body.getReader().read();
    await behind;
    expect(sink.write(kilobytes(1))).toBeUndefined();
  });

  test("wakes everyone who waits", async () => {
    const { sink } = outletOf();
    const waiting = [sink.write(kilobytes(64)), sink.write(kilobytes(64))];
    const reader = sink.body.getReader();
    await reader.read();
    await reader.read();
    await Promise.all(waiting);
  });

  test.each([
    ["ends", (sink: ByteStream) => sink.end()],
    ["breaks off", (sink: ByteStream) => sink.abort(new Error("broken"))],
    ["is cancelled", (sink: ByteStream) => void sink.body.cancel()],
  ])("that %s leaves no writer waiting, and takes no more", async (_, close) => {
    const { sink } = outletOf();
    const behind = sink.write(kilobytes(64));
    close(sink);
    await behind;
    expect(sink.write(kilobytes(64))).toBeUndefined();
    sink.end();
    sink.abort(new Error("again"));
  });

  test("whose reader leaves cuts the call", async () => {
    const { sink, call } = outletOf();
    await sink.body.cancel();
    expect(call.hasLeft).toBe(true);
  });

  test("that breaks off breaks the reader's stream", async () => {
    const { sink } = outletOf();
    sink.abort(new Error("broken"));
    expect((await errorOf(new Response(sink.body).text())).message).toContain("broken");
  });
});

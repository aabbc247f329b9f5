import { describe, expect, test } from "bun:test";
import { BodyMemoryLimiter } from "../../../../src/http/middleware/read-body.ts";
import { expectError } from "../../../support/expect-error.ts";
import { httpOf, messages } from "../support.ts";

const mebibyte = 2 ** 20;
const full = "no room for";

describe("the memory for request bodies", () => {
  test("bounds what all large bodies have together", () => {
    const limiter = new BodyMemoryLimiter(10 * mebibyte);
    const first = limiter.reserve(6 * mebibyte);
    expect(() => limiter.reserve(5 * mebibyte)).toThrow(full);
    limiter.reserve(4 * mebibyte);
    expect(() => limiter.reserve(mebibyte)).toThrow(full);
    first?.release();
    first?.release();
    limiter.reserve(6 * mebibyte);
    expect(() => limiter.reserve(mebibyte)).toThrow(full);
  });

  test("always has room for one body alone", () => {
    const limiter = new BodyMemoryLimiter(mebibyte);
    const only = limiter.reserve(30 * mebibyte);
    expect(() => limiter.reserve(mebibyte)).toThrow(full);
    only?.release();
    limiter.reserve(2 * mebibyte);
  });

  test("does not count short bodies", () => {
    const limiter = new BodyMemoryLimiter(mebibyte);
    limiter.reserve(30 * mebibyte);
    expect(limiter.reserve(200_000)).toBeUndefined();
    limiter.reserve(undefined)?.grow(200_000);
  });

  test("counts a body without a declared length as it grows, all of it once it is large", () => {
    const limiter = new BodyMemoryLimiter(2 * mebibyte);
    const other = limiter.reserve(mebibyte);
    const growing = limiter.reserve(undefined);
    growing?.grow(200_000);
    growing?.grow(mebibyte - 200_000);
    expect(() => growing?.grow(1)).toThrow(full);
    other?.release();
    growing?.grow(30 * mebibyte);
    growing?.release();
    limiter.reserve(2 * mebibyte);
  });
});

/** A body of JSON that is sent in chunks, until somebody says stop. */
function chunkedBody(chunks: number) {
  const filler = new TextEncoder().encode(" ".repeat(mebibyte));
  const state = { sent: 0 };
  const text = JSON.stringify({ model: "chat-1", messages });
  const body = new ReadableStream({
    pull(controller) {
      if (state.sent++ < chunks) return controller.enqueue(filler);
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
  return { state, body };
}

test("a chunked body is read no further than there is room", async () => {
  const bodies = new BodyMemoryLimiter(4 * mebibyte);
  const other = bodies.reserve(2 * mebibyte);
  const { ask } = httpOf(undefined, { bodies });
  const { body, state } = chunkedBody(30);
  await expectError(await ask("chat/completions", { method: "POST", body }), { status: 503, says: full });
  expect(state.sent).toBeLessThan(6);
  other?.release();
  expect((await ask("chat/completions", { method: "POST", body: chunkedBody(30).body })).status).toBe(200);
});

test("the memory of a body is free after its answer, whatever that was", async () => {
  const bodies = new BodyMemoryLimiter(4 * mebibyte);
  const { ask } = httpOf(undefined, { bodies });
  const pad = " ".repeat(3 * mebibyte);
  for (const [text, status] of [
    [JSON.stringify({ model: "chat-1", messages }), 200],
    [JSON.stringify({ model: "chat-1", messages, stream: true }), 200],
    [JSON.stringify({ model: "nobody", messages }), 400],
    ["{}", 400],
    ["{", 400],
  ] as const) {
    const headers = { "content-length": String(text.length + pad.length) };
    expect((await ask("chat/completions", { method: "POST", headers, body: pad + text })).status).toBe(status);
    const room = bodies.reserve(4 * mebibyte);
    expect(() => bodies.reserve(mebibyte)).toThrow(full);
    room?.release();
  }
});

import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../../src/contract/index.ts";
import {
  CallMemory,
  MemoryAccountant,
  type MemoryReservation,
  ownerOfNetwork,
} from "../../../../src/http/memory/call-memory.ts";
import { fetchImages } from "../../../../src/protocols/multimodal.ts";
import { expectError } from "../../../support/expect-error.ts";
import { randomBelow } from "../../../support/random.ts";
import { fetchOf } from "../../kernel/fake-fetch.ts";
import { completionOf } from "../../kernel/streams.ts";
import { caller, createBench, createPlugin } from "../../kernel/support.ts";
import { httpOf, messages } from "../support.ts";

const mebibyte = 2 ** 20;
const full = "of other requests and answers and has no room for";

describe("the memory for request bodies", () => {
  test("bounds what all large bodies have together", () => {
    const limiter = new MemoryAccountant(10 * mebibyte);
    const first = limiter.reserve("a", 5 * mebibyte);
    limiter.reserve("b", 4 * mebibyte);
    expect(() => limiter.reserve("c", 2 * mebibyte)).toThrow(full);
    first.release();
    first.release();
    limiter.reserve("c", 5 * mebibyte);
    expect(() => limiter.reserve("d", 2 * mebibyte)).toThrow(full);
  });

  test("is collected when large bodies are done, and not at once again", async () => {
    let collected = 0;
    const limiter = new MemoryAccountant(100 * mebibyte, { collectGarbage: () => collected++ });
    const free = (...sizes: number[]) => sizes.map((size) => limiter.reserve("a", size * mebibyte).release());
    free(9, 0.1, 6);
    await Bun.sleep(1);
    expect(collected).toBe(0);
    free(2, 20, 20);
    await Bun.sleep(1);
    expect(collected).toBe(1);
    while (collected === 1) await Bun.sleep(20);
    expect(collected).toBe(2);
  });

  test("is collected once more for what was still in use", async () => {
    let collected = 0;
    new MemoryAccountant(100 * mebibyte, { collectGarbage: () => collected++ }).reserve("a", 20 * mebibyte).release();
    await Bun.sleep(1);
    expect(collected).toBe(1);
    while (collected === 1) await Bun.sleep(20);
  });

  test("gives an account half of it at most, and the other half to the others", () => {
    const limiter = new MemoryAccountant(10 * mebibyte);
    const first = limiter.reserve("a", 3 * mebibyte);
    expect(() => limiter.reserve("a", 3 * mebibyte)).toThrow(`hold ${3 * mebibyte} bytes`);
    limiter.reserve("a", 2 * mebibyte);
    limiter.reserve("b", 5 * mebibyte);
    first.release();
    limiter.reserve("a", 3 * mebibyte);
  });

  test("always has room for one body alone, but not for all that it may have fetched", () => {
    const limiter = new MemoryAccountant(mebibyte);
    const only = limiter.reserve("a", 30 * mebibyte);
    expect(() => limiter.reserve("b", mebibyte)).toThrow(full);
    only.grow(66 * mebibyte);
    expect(() => only.grow(1)).toThrow("no room for");
    only.release();
    limiter.reserve("b", 2 * mebibyte);
  });

  test("is not taken by a call that has ended", () => {
    const limiter = new MemoryAccountant(2 * mebibyte);
    const ended = limiter.reserve("a", mebibyte);
    ended.release();
    expect(() => ended.grow(mebibyte)).toThrow("The call has ended");
    limiter.reserve("b", mebibyte).grow(mebibyte);
  });

  test("is free in part once a body was read", () => {
    const limiter = new MemoryAccountant(12 * mebibyte);
    const read = limiter.reserve("a", 6 * mebibyte);
    expect(() => limiter.reserve("b", 7 * mebibyte)).toThrow(full);
    read.shrink(2 * mebibyte);
    const other = limiter.reserve("b", 7 * mebibyte);
    other.release();
    other.shrink(mebibyte);
    expect(() => limiter.reserve("b", 9 * mebibyte)).toThrow(full);
    read.release();
    limiter.reserve("b", 12 * mebibyte);
  });

  test("does not count short bodies", () => {
    const limiter = new MemoryAccountant(mebibyte);
    limiter.reserve("a", 30 * mebibyte);
    limiter.reserve("b", 200_000).release();
    limiter.reserve("b").grow(200_000);
  });

  test("counts a body without a declared length as it grows, all of it once it is large", () => {
    const limiter = new MemoryAccountant(2 * mebibyte);
    const other = limiter.reserve("a", mebibyte);
    const growing = limiter.reserve("b");
    growing.grow(200_000);
    growing.grow(mebibyte - 200_000);
    expect(() => growing.grow(1)).toThrow(full);
    other.release();
    growing.grow(30 * mebibyte);
    growing.release();
    limiter.reserve("a", 2 * mebibyte);
  });
});

/** A body of JSON that is sent in chunks, until somebody says stop. */
function chunkedBody(chunks: number) {
  const filler = new TextEncoder().encode(" ".repeat(mebibyte));
  const state = { sent: 0 };
  const text = JSON.stringify({ pad: "", model: "chat-1", messages });
  const begun = text.indexOf('","model');
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text.slice(0, begun))),
    pull(controller) {
      if (state.sent++ < chunks) return controller.enqueue(filler);
      controller.enqueue(new TextEncoder().encode(text.slice(begun)));
      controller.close();
    },
  });
  return { state, body };
}

test("a chunked body is read no further than there is room", async () => {
  const memory = new MemoryAccountant(4 * mebibyte);
  const other = memory.reserve("other", 2 * mebibyte);
  const { ask } = httpOf(undefined, { memory });
  const { body, state } = chunkedBody(30);
  await expectError(await ask("chat/completions", { method: "POST", body }), { status: 503, says: full });
  expect(state.sent).toBeLessThan(6);
  other.release();
  expect((await ask("chat/completions", { method: "POST", body: chunkedBody(30).body })).status).toBe(200);
});

test("the memory of a body is free after its answer, whatever that was", async () => {
  const memory = new MemoryAccountant(4 * mebibyte);
  const { ask } = httpOf(undefined, { memory });
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
    const room = memory.reserve("other", 4 * mebibyte);
    expect(() => memory.reserve("third", mebibyte)).toThrow(full);
    room.release();
  }
});

test("a body counts three times while it is read, and twice while its call waits", async () => {
  const began = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  const chat = async () => {
    began.resolve();
    await ends.promise;
    return completionOf("Fine");
  };
  const memory = new MemoryAccountant(20 * mebibyte);
  const plugin = createPlugin({ chat });
  const { ask } = httpOf([plugin], { memory, kernel: createBench([plugin]).kernel });
  const text = JSON.stringify({ model: "chat-1", messages, pad: "x".repeat(3 * mebibyte) });
  const post = () =>
    ask("chat/completions", { method: "POST", headers: { "content-length": String(text.length) }, body: text });
  const other = memory.reserve(caller.accountId, 1.5 * mebibyte);
  await expectError(await post(), { status: 429, says: "other requests hold" });
  other.release();
  const first = post();
  await began.promise;
  expect(() => memory.reserve(caller.accountId, 4.5 * mebibyte)).toThrow("other requests hold");
  memory.reserve(caller.accountId, 3.5 * mebibyte).release();
  ends.resolve();
  expect((await first).status).toBe(200);
});

test("a chunked body counts twice, as it arrives and put together, towards the account's half", async () => {
  const memory = new MemoryAccountant(256 * mebibyte);
  const { ask } = httpOf(undefined, { memory });
  const other = memory.reserve(caller.accountId, 70 * mebibyte);
  const response = await ask("chat/completions", { method: "POST", body: chunkedBody(31).body });
  await expectError(response, { status: 429, code: "rate_limit_exceeded", says: "other requests hold" });
  other.release();
  expect((await ask("chat/completions", { method: "POST", body: chunkedBody(31).body })).status).toBe(200);
});

test.each([
  ["chat/completions", "application/json"],
  ["audio/transcriptions", "multipart/form-data; boundary=x"],
])("a body for %s in chunks of one byte is refused", async (path, type) => {
  const { ask } = httpOf();
  const byte = new TextEncoder().encode(" ");
  const state = { sent: 0 };
  const body = new ReadableStream({
    pull(controller) {
      state.sent++;
      controller.enqueue(byte);
    },
  });
  const response = await ask(path, { method: "POST", headers: { "content-type": type }, body });
  await expectError(response, { status: 400, says: "chunks of a few bytes" });
  expect(state.sent).toBeLessThan(10_000);
});

test("files that are fetched for a call count as its body does, until it ends", async () => {
  const plugin = createPlugin({
    chat: async ({ request, upstream }) => {
      await fetchImages(request.messages, upstream);
      return completionOf("Fine");
    },
  });
  const memory = new MemoryAccountant(8 * mebibyte);
  const file = new Response(new Uint8Array(mebibyte), { headers: { "content-type": "image/png" } });
  const { kernel } = createBench([plugin], { fetch: fetchOf(file) });
  const { post } = httpOf([plugin], { memory, kernel });
  const images = (count: number) => {
    const url = (index: number) => ({ url: `https://93.184.216.34/${index}.png` });
    const content = Array.from({ length: count }, (_, index) => ({ type: "image_url", image_url: url(index) }));
    return post("chat/completions", { model: "chat-1", messages: [{ role: "user", content }] });
  };
  const other = memory.reserve("other", 4 * mebibyte);
  await expectError(await images(5), { status: 503, says: full });
  expect((await images(3)).status).toBe(200);
  other.release();
  memory.reserve("third", 8 * mebibyte).release();
});

test("an account without an admitted call gets a quarter, and half while it has one", () => {
  const paying = new Set(["b"]);
  const memory = new MemoryAccountant(400 * mebibyte, { hasRunningCall: (owner) => paying.has(owner) });
  memory.reserve("a", 60 * mebibyte);
  expect(() => memory.reserve("a", 60 * mebibyte)).toThrow("other requests hold");
  memory.reserve("b", 60 * mebibyte);
  memory.reserve("b", 60 * mebibyte);
  paying.add("a");
  memory.reserve("a", 60 * mebibyte);
  expect(() => memory.reserve("a", 90 * mebibyte)).toThrow("other requests hold");
});

test("networks count by their /24 and their /64, apart from accounts", () => {
  const memory = new MemoryAccountant(40 * mebibyte, { hasRunningCall: () => false });
  const [near, far] = ["203.0.113.7", "203.0.114.7"].map(ownerOfNetwork) as [string, string];
  expect(ownerOfNetwork("2001:db8:0:1::/64")).not.toBe(ownerOfNetwork("2001:db8:0:2::/64"));
  memory.reserve(ownerOfNetwork("203.0.113.200"), 8 * mebibyte);
  expect(() => memory.reserve(near, 8 * mebibyte)).toThrow("The network's other requests hold");
  memory.reserve(far, 8 * mebibyte);
});

test("the same thing is sent to so many at once, and to the next when one has it", () => {
  const memory = new MemoryAccountant(mebibyte);
  const senders = Array.from({ length: 16 }, () => memory.reserve("a", 0, { thing: "answer 1" }));
  expect(() => memory.reserve("a", 0, { thing: "answer 1" })).toThrow("sent to 16 other requests");
  memory.reserve("a", 0, { thing: "answer 2" });
  senders[0]?.release();
  senders[0]?.release();
  memory.reserve("a", 0, { thing: "answer 1" });
  expect(() => memory.reserve("a", 0, { thing: "answer 1" })).toThrow("sent to 16 other requests");
});

test("whatever reservations do in whatever order, the sum is theirs, and 0 at the end", () => {
  const count = randomBelow(7);
  const memory = new MemoryAccountant(64 * mebibyte);
  const open: MemoryReservation[] = [];
  for (let step = 0; step < 20_000; step++) {
    const [kind, one] = [count(4), open[count(open.length + 1)]];
    try {
      if (kind === 0) open.push(memory.reserve(`account ${count(5)}`, count(4 * mebibyte), { thing: `${count(3)}` }));
      else if (kind === 1) one?.grow(count(mebibyte));
      else if (kind === 2 && one !== undefined) one.shrink(count(one.bytes + 1));
      else if (one !== undefined) open.splice(open.indexOf(one), 1)[0]?.release();
    } catch (error) {
      expect((error as GatewayError).code).toMatch(/^(unavailable|rate_limit_exceeded)$/);
    }
    expect(memory.bytes).toBeGreaterThanOrEqual(0);
  }
  const most = open.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(memory.bytes).toBeLessThanOrEqual(most);
  expect(memory.bytes).toBeGreaterThan(most - open.length * 256 * 1024);
  for (const one of open) one.release();
  expect(memory.bytes).toBe(0);
});

test("a body of 256 kB is worked on in turns of its own, as the conversations of agents are, and a shorter one at once", () => {
  const isLarge = (bytes: number) => {
    const call = new CallMemory(new MemoryAccountant(64 * 2 ** 20), "account");
    call.reserve(bytes);
    return call.isLarge;
  };
  expect([isLarge(300_000), isLarge(200_000)]).toEqual([true, false]);
});

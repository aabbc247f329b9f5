import { describe, expect, test } from "bun:test";
import type { Route } from "../../../../src/kernel/routing/registry.ts";
import { FairTurns, sliceBytes } from "../../../../src/kernel/upstream/turns.ts";
import { BoundUpstream } from "../../../../src/kernel/upstream/upstream.ts";
import { fetchOf } from "../fake-fetch.ts";
import { attemptOf, createBench, createPlugin } from "../support.ts";

describe("turns of the event loop", () => {
  test("go by accounts in rotation, however many of one wait", async () => {
    const turns = new FairTurns();
    const order: string[] = [];
    const take = (owner: string) => turns.take(owner).then(() => void order.push(owner));
    const noisy = Array.from({ length: 300 }, () => take("noisy"));
    await Promise.all([take("quiet"), take("another")]);
    expect(order.slice(0, 3)).toEqual(["noisy", "quiet", "another"]);
    await Promise.all(noisy);
    expect(order).toHaveLength(302);
  });

  test("are a few at a time, so that others come in between", async () => {
    const turns = new FairTurns();
    let granted = 0;
    const all = Promise.all(Array.from({ length: 100 }, () => turns.take("noisy").then(() => void granted++)));
    const seen: number[] = [];
    while (granted < 100) {
      await Bun.sleep(0);
      seen.push(granted);
    }
    await all;
    expect(Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))).toBeLessThan(20);
  });
});

describe("a long piece of a stream", () => {
  const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) });
  const route = createBench([plugin]).kernel.registry.byName("chat-1")?.routes[0] as Route;
  const event = `data: ${"x".repeat(994)}\n\n`;

  /** Events of a stream that comes in pieces of so many events, with what is counted in memory as each is taken. */
  async function open(...pieces: number[]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const count of pieces) controller.enqueue(new TextEncoder().encode(event.repeat(count)));
        controller.close();
      },
    });
    const headers = { "content-type": "text/event-stream" };
    const { network } = createBench([plugin], { fetch: fetchOf(new Response(body, { headers })) });
    const attempt = attemptOf(route);
    const counted = { bytes: 0 };
    attempt.reserveAnswer = (bytes) => {
      counted.bytes += bytes;
    };
    const owners: string[] = [];
    const { take } = network.turns;
    network.turns.take = (owner) => {
      owners.push(owner);
      return take.call(network.turns, owner);
    };
    const events = await new BoundUpstream(network, attempt).events("/chat", {});
    return { events, counted, owners, account: attempt.run.call.request.caller.accountId };
  }

  test("is worked on in slices, each at a turn of its account", async () => {
    const { events, owners, account } = await open(200);
    let count = 0;
    for await (const { data } of events) count += data.length === 994 ? 1 : 0;
    expect(count).toBe(200);
    expect(owners).toEqual(Array(Math.ceil((200 * event.length) / sliceBytes)).fill(account));
  });

  test("is counted in memory while its client has not taken it, and then free", async () => {
    const { events, counted } = await open(200);
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    expect(counted.bytes).toBe(4 * 200 * event.length);
    while (!(await iterator.next()).done);
    expect(counted.bytes).toBe(0);
  });

  test("is free when its reader leaves", async () => {
    const { events, counted } = await open(200);
    for await (const _ of events) break;
    expect(counted.bytes).toBe(0);
  });

  test("that is short is worked on at once, without a turn and uncounted", async () => {
    const { events, counted, owners } = await open(10, 20, 30);
    let count = 0;
    for await (const _ of events) count++;
    expect([count, owners, counted.bytes]).toEqual([60, [], 0]);
  });
});

import { describe, expect, test } from "bun:test";
import { SseHeartbeat, SseStream } from "../../../../src/http/sse/sse-stream.bun.ts";

const comment = ": keep-alive\n\n";

/** A stream under a keeper whose timer never comes: the test ticks. */
function keptOutlet() {
  const keeper = new SseHeartbeat(1_000_000_000);
  const sink = new SseStream<string>({ cancel: () => undefined }, (text) => text);
  keeper.add(sink);
  const end = async () => {
    keeper.delete(sink);
    keeper.tick();
    sink.end();
    return await new Response(sink.body).text();
  };
  return { keeper, sink, end };
}

describe("a silent stream", () => {
  test("that has begun gets a comment at the second tick, and again after as long", async () => {
    const { keeper, sink, end } = keptOutlet();
    sink.open();
    sink.write("a");
    keeper.tick();
    sink.write("b");
    for (let ticks = 0; ticks < 4; ticks++) keeper.tick();
    expect(await end()).toBe(`ab${comment}${comment}`);
  });

  test("that has not begun is opened at the third", async () => {
    const { keeper, sink, end } = keptOutlet();
    keeper.tick();
    keeper.tick();
    expect(sink.isOpen).toBe(false);
    keeper.tick();
    await sink.opened;
    expect(await end()).toBe(comment);
  });

  test("gets what its format has in place of a comment", async () => {
    const keeper = new SseHeartbeat(1_000_000_000);
    const beats = ["data: 1\n\n", undefined];
    const sink = new SseStream<string>({ cancel: () => undefined }, (text) => text, { heartbeat: () => beats.shift() });
    keeper.add(sink);
    for (let ticks = 0; ticks < 5; ticks++) keeper.tick();
    sink.end();
    expect(await new Response(sink.body).text()).toBe(`data: 1\n\n${comment}`);
  });

  test("is silent also while chunks come that say nothing", async () => {
    const { keeper, sink, end } = keptOutlet();
    sink.open();
    for (let ticks = 0; ticks < 2; ticks++) {
      sink.write("");
      keeper.tick();
    }
    expect(await end()).toBe(comment);
  });

  test("whose reader is behind gets none: there is enough to read", async () => {
    const { keeper, sink, end } = keptOutlet();
    const large = "x".repeat(70_000);
    sink.open();
    sink.write(large);
    for (let ticks = 0; ticks < 6; ticks++) keeper.tick();
    expect(await end()).toBe(large);
  });

  test("that has ended is left alone", async () => {
    const { keeper, sink } = keptOutlet();
    sink.open();
    sink.end();
    for (let ticks = 0; ticks < 4; ticks++) keeper.tick();
    expect(await new Response(sink.body).text()).toBe("");
    keeper.delete(sink);
    keeper.tick();
  });
});

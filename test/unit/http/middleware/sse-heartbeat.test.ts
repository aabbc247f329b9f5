import { describe, expect, test } from "bun:test";
import { SseHeartbeat } from "../../../../src/http/middleware/sse-heartbeat.ts";
import { SseStream } from "../../../../src/http/middleware/sse-stream.bun.ts";
import { newProgress } from "../../kernel/support.ts";

const comment = ": keep-alive\n\n";

/** A stream under a keeper whose timer never comes: the test ticks. */
function keptOutlet() {
  const keeper = new SseHeartbeat(1_000_000_000);
  const outlet = new SseStream<string>(newProgress(), (text) => text);
  keeper.add(outlet);
  const end = async () => {
    keeper.delete(outlet);
    keeper.tick();
    outlet.end();
    return await new Response(outlet.body).text();
  };
  return { keeper, outlet, end };
}

describe("a silent stream", () => {
  test("that has begun gets a comment at the second tick, and again after as long", async () => {
    const { keeper, outlet, end } = keptOutlet();
    outlet.open();
    outlet.write("a");
    keeper.tick();
    outlet.write("b");
    for (let ticks = 0; ticks < 4; ticks++) keeper.tick();
    expect(await end()).toBe(`ab${comment}${comment}`);
  });

  test("that has not begun is opened at the third", async () => {
    const { keeper, outlet, end } = keptOutlet();
    keeper.tick();
    keeper.tick();
    expect(outlet.isOpen).toBe(false);
    keeper.tick();
    await outlet.opened;
    expect(await end()).toBe(comment);
  });

  test("whose reader is behind gets none: there is enough to read", async () => {
    const { keeper, outlet, end } = keptOutlet();
    const large = "x".repeat(70_000);
    outlet.open();
    outlet.write(large);
    for (let ticks = 0; ticks < 6; ticks++) keeper.tick();
    expect(await end()).toBe(large);
  });

  test("that has ended is left alone", async () => {
    const { keeper, outlet } = keptOutlet();
    outlet.open();
    outlet.end();
    for (let ticks = 0; ticks < 4; ticks++) keeper.tick();
    expect(await new Response(outlet.body).text()).toBe("");
    keeper.delete(outlet);
    keeper.tick();
  });
});

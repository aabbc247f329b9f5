import { afterEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { type Call, LoadShedder, monotonicNow } from "../../../src/kernel/index.ts";
import { newCall } from "./support.ts";

const shedders: LoadShedder[] = [];
afterEach(() => {
  for (const shedder of shedders.splice(0)) shedder.lag.stop();
});

/** A load shedder whose clock the test moves; `late` lets its timer fire that much too late, once a tick. */
function shedderOf(bounds: { maxConcurrentCalls: number; lagMsMax: number }) {
  const clock = { nowMs: 1_000_000 };
  const events: [string, Record<string, unknown>][] = [];
  const shedder = new LoadShedder(
    bounds,
    () => clock.nowMs,
    (event, fields) => events.push([event, fields]),
  );
  shedder.lag.start();
  shedders.push(shedder);
  const late = (ms: number, ticks: number) => {
    for (let count = 0; count < ticks; count++) {
      clock.nowMs += 20 + ms;
      shedder.lag.tick();
    }
  };
  const enter = (count: number) => {
    const calls = Array.from({ length: count }, () => newCall());
    for (const call of calls) shedder.startCall(call);
    return calls;
  };
  return { shedder, clock, events, late, enter, refuses: () => shedder.refusal(clock.nowMs) !== undefined };
}

describe("load shedding", () => {
  test("accepts calls up to its limit, and one more when one has ended", () => {
    const { shedder, enter, refuses } = shedderOf({ maxConcurrentCalls: 3, lagMsMax: 0 });
    const [first] = enter(2);
    expect(refuses()).toBe(false);
    enter(1);
    const refusal = shedder.refusal(0);
    expect(refusal).toMatchObject({ code: "unavailable", status: 503, retryAfterMs: 1000 });
    expect(refusal?.message).toContain("3 running calls");
    expect(() => shedder.startCall(newCall())).toThrow(GatewayError);
    shedder.endCall(first as Call);
    expect(refuses()).toBe(false);
    enter(1);
    expect([shedder.size, shedder.refusedCount]).toEqual([3, 2]);
  });

  test("that has closed accepts no calls, and cancels the running ones", () => {
    const { shedder, enter, refuses } = shedderOf({ maxConcurrentCalls: 3, lagMsMax: 0 });
    const [call] = enter(1);
    shedder.announceShutdown();
    expect([shedder.isDraining, refuses()]).toEqual([true, false]);
    shedder.close();
    expect(refuses()).toBe(true);
    expect(() => shedder.startCall(newCall())).toThrow("shutting down");
    shedder.cancelAll();
    expect(call?.cancelReason).toBe("draining");
  });
});

describe("load shedding while the event loop is late", () => {
  const bounds = { maxConcurrentCalls: 1000, lagMsMax: 50 };

  test("refuses once that has lasted, and lets in again when it is over", () => {
    const { enter, late, refuses, events } = shedderOf(bounds);
    enter(200);
    late(60, 5);
    expect(refuses()).toBe(false);
    late(60, 10);
    expect(refuses()).toBe(true);
    late(0, 1);
    expect(refuses()).toBe(false);
    // It came a moment ago, so the next lateness counts at once.
    late(60, 1);
    expect(refuses()).toBe(true);
    late(0, 200);
    late(60, 1);
    expect(refuses()).toBe(false);
    expect(events.map(([event]) => event)).toEqual(["overloaded", "overload_over"]);
    expect(events[1]?.[1]).toEqual({ calls: 200, refused: 2 });
  });

  test("refuses the rest of a turn that has taken too long already", () => {
    const { enter, late, refuses, clock } = shedderOf(bounds);
    enter(200);
    late(60, 15);
    late(0, 1);
    expect(refuses()).toBe(false);
    clock.nowMs += 71;
    expect(refuses()).toBe(true);
  });

  test.each([
    ["for a moment only", [[390, 1]]],
    ["by no more than it may be", [[50, 100]]],
    [
      "again and again, but never for long",
      [
        [60, 3],
        [0, 1],
        [60, 3],
        [0, 1],
        [60, 3],
      ],
    ],
  ])("%s, refuses nobody", (_, turns) => {
    const { enter, late, refuses } = shedderOf(bounds);
    enter(200);
    for (const [ms, ticks] of turns as [number, number][]) late(ms, ticks);
    expect(refuses()).toBe(false);
  });

  test("refuses nobody while few calls are at work: they are not why", () => {
    const { shedder, enter, late, refuses } = shedderOf(bounds);
    const calls = enter(200);
    late(60, 20);
    expect(refuses()).toBe(true);
    shedder.endCall(calls[0] as Call);
    expect(refuses()).toBe(false);
  });

  test("counts requests on their way as well", () => {
    const { shedder, late, refuses } = shedderOf(bounds);
    for (let count = 0; count < 200; count++) shedder.startRequest();
    late(60, 15);
    expect(refuses()).toBe(true);
    shedder.endRequest();
    expect(refuses()).toBe(false);
    for (let count = 0; count < 199; count++) shedder.endRequest();
  });

  test("is found late by its own timer, and in time again soon after", async () => {
    const shedder = new LoadShedder(bounds);
    shedders.push(shedder);
    for (let count = 0; count < 200; count++) shedder.startRequest();
    expect(shedder.refusal(monotonicNow())).toBeUndefined();
    for (let turn = 0; turn < 8; turn++) {
      const until = Date.now() + 120;
      while (Date.now() < until);
      await Bun.sleep(1);
    }
    expect(shedder.refusal(monotonicNow())?.code).toBe("unavailable");
    for (let count = 0; count < 200; count++) shedder.endRequest();
    expect(shedder.refusal(monotonicNow())).toBeUndefined();
  });

  test("refuses nobody with a bound of 0", () => {
    const { enter, late, refuses } = shedderOf({ maxConcurrentCalls: 1000, lagMsMax: 0 });
    enter(200);
    late(1000, 20);
    expect(refuses()).toBe(false);
  });
});

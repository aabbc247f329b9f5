import { afterEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/contract/index.ts";
import { Gate, type RunningCall } from "../../src/kernel/index.ts";
import { caller, newProgress } from "./support.ts";

const newCall = (): RunningCall => ({ capability: "chat", caller, progress: newProgress() });

const gates: Gate[] = [];
afterEach(() => {
  for (const gate of gates.splice(0)) gate.strain.stop();
});

/** A gate whose clock the test moves; `late` lets its timer fire that much too late, once a tick. */
function gateOf(bounds: { callsMax: number; lagMsMax: number }) {
  const clock = { nowMs: 1_000_000 };
  const events: [string, Record<string, unknown>][] = [];
  const gate = new Gate(
    bounds,
    () => clock.nowMs,
    (event, fields) => events.push([event, fields]),
  );
  gate.strain.start();
  gates.push(gate);
  const late = (ms: number, ticks: number) => {
    for (let count = 0; count < ticks; count++) {
      clock.nowMs += 20 + ms;
      gate.strain.tick();
    }
  };
  const enter = (count: number) => {
    const calls = Array.from({ length: count }, newCall);
    for (const call of calls) gate.enter(call);
    return calls;
  };
  return { gate, clock, events, late, enter, refuses: () => gate.refusal(clock.nowMs) !== undefined };
}

describe("a gate", () => {
  test("lets in as many calls as it may, and one more when one has ended", () => {
    const { gate, enter, refuses } = gateOf({ callsMax: 3, lagMsMax: 0 });
    const [first] = enter(2);
    expect(refuses()).toBe(false);
    enter(1);
    const refusal = gate.refusal(0);
    expect(refusal).toMatchObject({ code: "unavailable", status: 503, retryAfterMs: 1000 });
    expect(refusal?.message).toContain("3 calls at work");
    expect(() => gate.enter(newCall())).toThrow(GatewayError);
    gate.leave(first as RunningCall);
    expect(refuses()).toBe(false);
    enter(1);
    expect([gate.size, gate.refusedCount]).toEqual([3, 2]);
  });

  test("that has closed lets nobody in, and cuts whoever is still there", () => {
    const { gate, enter, refuses } = gateOf({ callsMax: 3, lagMsMax: 0 });
    const [call] = enter(1);
    gate.giveNotice();
    expect([gate.isLeaving, refuses()]).toEqual([true, false]);
    gate.close();
    expect(refuses()).toBe(true);
    expect(() => gate.enter(newCall())).toThrow("shutting down");
    gate.cutAll();
    expect(call?.progress.cutReason).toBe("draining");
  });
});

describe("a gate whose event loop is late", () => {
  const bounds = { callsMax: 1000, lagMsMax: 50 };

  test("refuses once that has lasted, and lets in again when it is over", () => {
    const { enter, late, refuses, events } = gateOf(bounds);
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
    const { enter, late, refuses, clock } = gateOf(bounds);
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
    const { enter, late, refuses } = gateOf(bounds);
    enter(200);
    for (const [ms, ticks] of turns as [number, number][]) late(ms, ticks);
    expect(refuses()).toBe(false);
  });

  test("refuses nobody while few calls are at work: they are not why", () => {
    const { gate, enter, late, refuses } = gateOf(bounds);
    const calls = enter(200);
    late(60, 20);
    expect(refuses()).toBe(true);
    gate.leave(calls[0] as RunningCall);
    expect(refuses()).toBe(false);
  });

  test("counts requests on their way as well", () => {
    const { gate, late, refuses } = gateOf(bounds);
    for (let count = 0; count < 200; count++) gate.arrive();
    late(60, 15);
    expect(refuses()).toBe(true);
    gate.depart();
    expect(refuses()).toBe(false);
    for (let count = 0; count < 199; count++) gate.depart();
  });

  test("tells by a byte that is long in coming back, too", () => {
    const { gate, clock, enter, refuses } = gateOf(bounds);
    enter(200);
    for (let count = 0; count < 30; count++) {
      gate.strain.sent();
      clock.nowMs += 20;
      gate.strain.tick();
      clock.nowMs += 20;
      gate.strain.tick();
      clock.nowMs += 20;
      gate.strain.tick();
      clock.nowMs += 15;
      gate.strain.echoed();
      clock.nowMs += 5;
      gate.strain.tick();
    }
    expect(refuses()).toBe(true);
  });

  test("refuses nobody with a bound of 0", () => {
    const { enter, late, refuses } = gateOf({ callsMax: 1000, lagMsMax: 0 });
    enter(200);
    late(1000, 20);
    expect(refuses()).toBe(false);
  });
});

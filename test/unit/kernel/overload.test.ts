import { afterEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { LoadShedder, type Slot } from "../../../src/kernel/index.ts";
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
  /** Calls of an owner, whose requests have been read. */
  const enter = (count: number, owner = "acct") =>
    Array.from({ length: count }, () => {
      const [slot, call] = [shedder.takeSlot(owner), newCall()];
      shedder.startCall(slot, call);
      const end = () => {
        shedder.endCall(slot, call);
        shedder.endRequest(slot);
      };
      return { call, end };
    });
  const refusal = (owner?: string) => refusalOf(shedder, owner);
  return { shedder, clock, events, late, enter, refusal, refuses: (owner?: string) => refusal(owner) !== undefined };
}

/** Why the next request of an owner is refused; absent: it is not. */
function refusalOf(shedder: LoadShedder, owner = "acct"): GatewayError | undefined {
  try {
    shedder.endRequest(shedder.takeSlot(owner));
    return undefined;
  } catch (error) {
    return error as GatewayError;
  }
}

const take = (shedder: LoadShedder, count: number, owner = "acct"): Slot[] =>
  Array.from({ length: count }, () => shedder.takeSlot(owner));

describe("load shedding", () => {
  test("accepts calls up to its limit, and one more when one has ended", () => {
    const { shedder, enter, refuses, refusal } = shedderOf({ maxConcurrentCalls: 3, lagMsMax: 0 });
    const [first] = enter(2);
    expect(refuses()).toBe(false);
    enter(1);
    expect(refusal()).toMatchObject({ code: "unavailable", status: 503, retryAfterMs: 1000 });
    expect(refusal()?.message).toContain("3 running calls");
    expect(() => enter(1)).toThrow(GatewayError);
    first?.end();
    expect(refuses()).toBe(false);
    enter(1);
    expect([shedder.size, shedder.refusedCount]).toEqual([3, 3]);
  });

  test("that has closed accepts no calls, and cancels the running ones", () => {
    const { shedder, enter, refuses } = shedderOf({ maxConcurrentCalls: 3, lagMsMax: 0 });
    const [first] = enter(1);
    const slot = shedder.takeSlot("acct");
    shedder.announceShutdown();
    expect([shedder.isDraining, refuses()]).toEqual([true, false]);
    shedder.close();
    expect(refuses()).toBe(true);
    expect(() => shedder.startCall(slot, newCall())).toThrow("shutting down");
    shedder.cancelAll();
    expect(first?.call.cancelReason).toBe("draining");
    expect(shedder.cutCounts).toEqual({ streams: 0, others: 1 });
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
    const { enter, late, refuses } = shedderOf(bounds);
    const [first] = enter(200);
    late(60, 20);
    expect(refuses()).toBe(true);
    first?.end();
    expect(refuses()).toBe(false);
  });

  test("counts requests on their way as well", () => {
    const { shedder, late, refuses } = shedderOf(bounds);
    const [first, ...others] = take(shedder, 200);
    late(60, 15);
    expect(refuses()).toBe(true);
    shedder.endRequest(first as Slot);
    expect(refuses()).toBe(false);
    for (const slot of others) shedder.endRequest(slot);
  });

  test("is found late by its own timer, and in time again soon after", async () => {
    const shedder = new LoadShedder(bounds);
    shedders.push(shedder);
    const slots = take(shedder, 200);
    expect(refusalOf(shedder)).toBeUndefined();
    for (let turn = 0; turn < 8; turn++) {
      const until = Date.now() + 120;
      while (Date.now() < until);
      await Bun.sleep(1);
    }
    expect(refusalOf(shedder)?.code).toBe("unavailable");
    for (const slot of slots) shedder.endRequest(slot);
    expect(refusalOf(shedder)).toBeUndefined();
  });

  test("refuses nobody with a bound of 0", () => {
    const { enter, late, refuses } = shedderOf({ maxConcurrentCalls: 1000, lagMsMax: 0 });
    enter(200);
    late(1000, 20);
    expect(refuses()).toBe(false);
  });
});

describe("a share of the slots", () => {
  const bounds = { maxConcurrentCalls: 200, lagMsMax: 50 };

  test("is half for requests whose bodies have not come, and leaves the rest to others", () => {
    const { shedder, refusal, refuses } = shedderOf(bounds);
    take(shedder, 100, "noisy");
    expect(refusal("noisy")).toMatchObject({ code: "rate_limit_exceeded", status: 429, retryAfterMs: 1000 });
    for (let count = 0; count < 20; count++) take(shedder, 2, `quiet ${count}`);
    expect(refuses("another")).toBe(false);
  });

  test("is seven eighths for calls of one that is alone, and smaller the more others have", () => {
    const { enter, refuses } = shedderOf(bounds);
    enter(175, "noisy");
    expect(refuses("noisy")).toBe(true);
    enter(8, "quiet");
    expect(refuses("quiet")).toBe(false);
    expect(refuses("another")).toBe(false);
  });

  test("is counted until both the handler and the call of a request have ended, in whatever order and however often", () => {
    const { shedder } = shedderOf({ maxConcurrentCalls: 1, lagMsMax: 0 });
    for (const isCallFirst of [true, false]) {
      const [slot, call] = [shedder.takeSlot("acct"), newCall()];
      shedder.startCall(slot, call);
      const ends = [() => shedder.endCall(slot, call), () => shedder.endRequest(slot)];
      if (!isCallFirst) ends.reverse();
      ends[0]?.();
      ends[0]?.();
      expect(refusalOf(shedder)?.code).toBe("unavailable");
      ends[1]?.();
      expect(refusalOf(shedder)).toBeUndefined();
    }
    expect([shedder.size, shedder.openRequests]).toEqual([0, 0]);
  });

  test("under overload is refused to those that have more than the average, and kept for the others", () => {
    const { enter, late, refuses } = shedderOf({ ...bounds, maxConcurrentCalls: 1000 });
    enter(300, "noisy");
    const quiet = Array.from({ length: 20 }, (_, index) => `quiet ${index}`);
    for (const owner of quiet) enter(1, owner);
    late(60, 15);
    expect(refuses("noisy")).toBe(true);
    // Each that is let in ends again, so that there is room for the next.
    for (let round = 0; round < 10; round++) expect(quiet.filter((owner) => refuses(owner))).toEqual([]);
    expect(refuses("newcomer")).toBe(false);
  });

  test("under overload is left to a call of each of twenty, beside four hundred of another", () => {
    const { enter, late } = shedderOf({ ...bounds, maxConcurrentCalls: 1000 });
    enter(400, "noisy");
    late(60, 15);
    const letIn = Array.from({ length: 20 }, (_, index) => enter(1, `quiet ${index}`)).length;
    expect(letIn).toBe(20);
  });

  test("under overload is given to no more newcomers than an eighth of those at work, and as slots become free", () => {
    const { shedder, enter, late } = shedderOf({ ...bounds, maxConcurrentCalls: 1000 });
    const [first] = enter(300, "noisy");
    late(60, 15);
    let [letIn, refused] = [0, 0];
    for (let count = 0; count < 200; count++) {
      try {
        shedder.takeSlot(`owner ${count}`);
        letIn++;
      } catch {
        refused++;
      }
    }
    expect([letIn, refused]).toEqual([37, 163]);
    first?.end();
    expect(refusalOf(shedder, "one more")).toBeUndefined();
  });
});

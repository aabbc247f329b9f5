import { describe, expect, test } from "bun:test";
import { openStore } from "../../../src/db/index.ts";
import { type Health, HealthLog, keyHealth, type LastOutcomes, providerHealth } from "../../../src/providers/health.ts";

const now = Date.parse("2027-01-10T12:00:00Z");
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const auth = { kind: "auth", status: 401, message: "no", model: "m" } as const;
const down = { kind: "overloaded", status: 503, message: "no", model: "m" } as const;
const ok = { isOk: true, ms: 1 };
const failed = { isOk: false, ms: 1, kind: "timeout" } as const;

const provider = (facts: {
  last?: LastOutcomes;
  attempts?: number;
  errors?: number;
  hasRecovered?: boolean;
  isOver?: boolean;
  keys?: readonly Health[];
  routes?: number;
  pausedRoutes?: number;
  waitingRoutes?: number;
}) =>
  providerHealth({
    last: facts.last ?? {},
    keys: facts.keys ?? [],
    now,
    recent: {
      attempts: facts.attempts ?? 0,
      errors: facts.errors ?? 0,
      hasRecovered: facts.hasRecovered ?? false,
      isOver: facts.isOver ?? false,
      failingSince: undefined,
    },
    circuits: {
      routes: facts.routes ?? 3,
      pausedRoutes: facts.pausedRoutes ?? 0,
      waitingRoutes: facts.waitingRoutes ?? 0,
    },
  }).state;
const key = (last: LastOutcomes, isPaused = false) => keyHealth(last, isPaused, now);
const good = key({ success: { at: now, run: 1 } });
const bad = key({ error: { at: now, ...auth } });

describe("a key is", () => {
  test.each([
    ["unknown where nothing happened", {}, "unknown"],
    ["unknown where it happened more than a day ago", { error: { at: now - day - 1, ...auth } }, "unknown"],
    ["working after a success", { success: { at: now - hour, run: 1 } }, "working"],
    ["refused after a refusal", { success: { at: now - hour, run: 1 }, error: { at: now, ...auth } }, "refused"],
    ["working where a success followed", { success: { at: now, run: 1 }, error: { at: now - 1, ...auth } }, "working"],
    [
      "refused after a test that was refused",
      { success: { at: now - 1, run: 1 }, test: { at: now, ...failed, kind: "auth" } },
      "refused",
    ],
    ["working after a test that succeeded", { error: { at: now - 1, ...auth }, test: { at: now, ...ok } }, "working"],
    [
      "working where the provider was down",
      { success: { at: now - 1, run: 1 }, error: { at: now, ...down } },
      "working",
    ],
  ] as [string, LastOutcomes, string][])("%s", (_, last, state) => {
    expect(key(last).state).toBe(state as Health["state"]);
  });

  test("degraded while it is paused", () => {
    expect(key({ success: { at: now, run: 1 } }, true).state).toBe("degraded");
  });
});

describe("a provider is", () => {
  test.each([
    ["unknown where nothing happened", {}, "unknown"],
    ["working", { attempts: 100, errors: 4 }, "working"],
    ["working with a single error among some", { attempts: 10, errors: 1 }, "working"],
    ["degraded from a twentieth of errors on", { attempts: 100, errors: 5 }, "degraded"],
    ["failing from a half on", { attempts: 36, errors: 18 }, "failing"],
    ["failing where its only attempt failed", { attempts: 1, errors: 1 }, "failing"],
    ["degraded once many attempts in a row succeeded", { attempts: 30, errors: 15, hasRecovered: true }, "degraded"],
    ["failing while all routes are paused", { attempts: 100, errors: 1, pausedRoutes: 3 }, "failing"],
    [
      "working once it has recovered and nothing fails any more",
      { attempts: 30, errors: 15, hasRecovered: true, isOver: true },
      "working",
    ],
    ["failing while the next call tries all routes again", { attempts: 100, errors: 1, waitingRoutes: 3 }, "failing"],
    ["failing while routes are paused or tried again", { attempts: 9, pausedRoutes: 1, waitingRoutes: 2 }, "failing"],
    ["degraded while the next call tries a route again", { attempts: 100, errors: 1, waitingRoutes: 1 }, "degraded"],
    ["degraded while a route is paused", { attempts: 100, errors: 1, pausedRoutes: 1 }, "degraded"],
    ["refused where its key is", { attempts: 9, errors: 1, keys: [bad] }, "refused"],
    ["degraded where one of its keys is refused", { attempts: 9, errors: 1, keys: [bad, good] }, "degraded"],
    [
      "failing after a test that failed",
      { last: { success: { at: now - 1, run: 1 }, test: { at: now, ...failed } }, attempts: 9 },
      "failing",
    ],
    [
      "working after a test that succeeded",
      { last: { error: { at: now - 1, ...down }, test: { at: now, ...ok } }, attempts: 9, errors: 9 },
      "working",
    ],
    [
      "failing where a call failed after the test",
      { last: { error: { at: now, ...down }, test: { at: now - 1, ...ok } }, attempts: 9, errors: 9 },
      "failing",
    ],
    [
      "working after a test that succeeded and calls since then",
      {
        last: { error: { at: now - 2, ...down }, test: { at: now - 1, ...ok }, success: { at: now, run: 1 } },
        attempts: 9,
        errors: 8,
      },
      "working",
    ],
  ] as [string, Parameters<typeof provider>[0], string][])("%s", (_, facts, state) => {
    expect(provider(facts)).toBe(state as Health["state"]);
  });
});

describe("a state is since", () => {
  /** A log whose clock the steps set, in minutes. */
  async function logOf() {
    const clock = { at: 0 };
    const store = await openStore({ file: ":memory:" });
    const open = () => new HealthLog(store, () => now + clock.at * minute);
    const log = open();
    const stateOf = (one: HealthLog = log) => {
      const { state, since } = keyHealth(one.last("acme", "key"), false, now + clock.at * minute);
      return [state, since === undefined ? undefined : (since - now) / minute];
    };
    const at = (minutes: number) => {
      clock.at = minutes;
      return log;
    };
    return { log, store, open, at, stateOf, close: () => store.close() };
  }

  test("the first refusal of a key that no success followed, whatever failed in between, and after a restart", async () => {
    const { at, stateOf, log, open, close } = await logOf();
    at(0).record("acme", "key", auth);
    at(1).record("acme", "key", undefined);
    expect(stateOf()).toEqual(["working", undefined]);
    at(2).record("acme", "key", down);
    at(3).record("acme", "key", auth);
    at(4).record("acme", "key", down);
    at(5).recordTest("acme", "key", { ...failed, kind: "auth" });
    at(20).record("acme", "key", auth);
    expect(stateOf()).toEqual(["refused", 3]);
    await log.sync();
    const restarted = open();
    await restarted.read();
    expect(stateOf(restarted)).toEqual(["refused", 3]);
    at(21).recordTest("acme", "key", ok);
    expect(stateOf()).toEqual(["working", undefined]);
    at(22).record("acme", "key", auth);
    expect(stateOf()).toEqual(["refused", 22]);
    await close();
  });

  test("the first failure of the five minutes in which attempts failed, although the latest ones are well, and after a restart", async () => {
    const { at, log, open, close } = await logOf();
    for (const [minutes, failure] of [
      [-20, undefined],
      [-9, undefined],
      [-8, down],
      [-7.5, undefined],
      [-7, down],
      [-4, undefined],
      [-3, undefined],
      [-2, undefined],
      [-1, undefined],
    ] as const) {
      at(minutes).record("acme", undefined, failure);
    }
    const stateOf = (one: HealthLog) => {
      const circuits = { routes: 3, pausedRoutes: 1, waitingRoutes: 0 };
      const facts = { last: one.last("acme"), recent: one.recent("acme"), keys: [], circuits, now };
      const { state, since } = providerHealth(facts);
      return [state, ((since ?? 0) - now) / minute];
    };
    expect(stateOf(log)).toEqual(["degraded", -8]);
    await log.sync();
    at(-6).record("acme", undefined, down);
    await log.sync();
    const restarted = open();
    await restarted.read();
    at(0);
    expect(stateOf(restarted)).toEqual(["degraded", -8]);
    await close();
  });

  test("over after the probe of a paused route, after many successes, or after a few and a quiet minute", async () => {
    const { at, log, open, close } = await logOf();
    const stateOf = (one: HealthLog, minutes: number) => {
      at(minutes);
      const facts = { keys: [], now: now + minutes * minute };
      const circuits = { routes: 1, pausedRoutes: 0, waitingRoutes: 0 };
      return providerHealth({ last: one.last("acme"), recent: one.recent("acme"), circuits, ...facts }).state;
    };
    const fail = (count = 30) => {
      for (let attempt = 0; attempt < count; attempt++) log.record("acme", undefined, down);
    };
    const succeed = (count: number, isProbe = false) => {
      for (let attempt = 0; attempt < count; attempt++) log.record("acme", undefined, undefined, isProbe);
    };
    at(0);
    fail();
    succeed(1);
    expect(stateOf(log, 0.1)).toBe("failing");
    succeed(1, true);
    expect(stateOf(log, 0.2)).toBe("degraded");
    expect(stateOf(log, 1.2)).toBe("working");
    await log.sync();
    const other = open();
    await other.read();
    expect(stateOf(other, 1.2)).toBe("working");

    fail(1);
    expect(stateOf(log, 1.3)).toBe("failing");
    await log.sync();
    await other.read();
    expect(stateOf(other, 1.3)).toBe("failing");
    succeed(19);
    expect(stateOf(log, 1.4)).toBe("failing");
    succeed(1);
    expect([stateOf(log, 1.4), stateOf(log, 2.4)]).toEqual(["degraded", "working"]);

    fail(60);
    succeed(4);
    expect(stateOf(log, 3.5)).toBe("failing");
    succeed(1);
    expect(stateOf(log, 3.5)).toBe("degraded");
    log.recordLate("acme", undefined, down);
    expect(stateOf(log, 3.6)).toBe("failing");
    await close();
  });

  test("known for every state that is wrong", () => {
    const error = { at: now - minute, since: now - hour, ...down };
    const facts = { keys: [], now, circuits: { routes: 3, pausedRoutes: 0, waitingRoutes: 0 } };
    const recent = { attempts: 9, errors: 9, hasRecovered: false, isOver: false, failingSince: undefined };
    const paused = { ...facts, last: { error }, recent: { ...recent, attempts: 0, errors: 0 } };
    const one = key({ error: { at: now - 2 * hour, ...auth } });
    const all = [
      providerHealth({ ...facts, last: { error }, recent }),
      providerHealth({ ...paused, circuits: { routes: 3, pausedRoutes: 1, waitingRoutes: 0 } }),
      providerHealth({ ...paused, circuits: { routes: 3, pausedRoutes: 3, waitingRoutes: 0 } }),
      providerHealth({ ...facts, last: { test: { at: now, since: now - hour, ...failed } }, recent }),
      providerHealth({ ...facts, last: {}, recent: { ...recent, errors: 1 }, keys: [bad, one, good] }),
    ];
    expect(all.map(({ state, since }) => [state, since])).toEqual([
      ["failing", now - hour],
      ["degraded", now - hour],
      ["failing", now - hour],
      ["failing", now - hour],
      ["degraded", now - 2 * hour],
    ]);
  });
});

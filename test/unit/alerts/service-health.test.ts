import { describe, expect, test } from "bun:test";
import type { ClientCall } from "../../../src/kernel/index.ts";
import { checkService } from "../../../src/modules/alerts/rules.ts";
import { ServiceHealth } from "../../../src/modules/alerts/service-health.ts";
import { type OpenChannel, StorelessAlerts } from "../../../src/modules/alerts/storeless.ts";
import { toEpisodeId } from "../../../src/modules/alerts/subject.ts";

const minute = 60_000;
const start = Date.parse("2027-01-01T00:00:00Z");
const thresholds = { store_failing: 0, calls_failing: 5 };

/** A process with a clock, whose calls end as a test wants. */
function process() {
  const state = { now: start, trouble: undefined as string | undefined, isDraining: false };
  const health = new ServiceHealth({
    gateway: "gate-1",
    trouble: () => state.trouble,
    isDraining: () => state.isDraining,
    now: () => state.now,
  });
  const { observer } = health;
  const request = new Request("http://gate/");
  const end = (status: number, times = 1) => {
    for (let time = 0; time < times; time++) observer.ended({ status } as ClientCall, request);
  };
  const check = () => checkService(health.read(), thresholds, state.now);
  return { state, health, observer, end, check };
}

describe("the share of failed calls", () => {
  test("is an alert where it is beyond the threshold in ten minutes and in the last two", () => {
    const { end, check } = process();
    end(200, 80);
    end(503, 10);
    end(500, 10);
    expect(check()).toEqual([
      {
        rule: "calls_failing",
        subject: "gate-1",
        about: { type: "node", id: "gate-1", name: "gate-1" },
        level: 1,
        severity: "critical",
        text: "20 % of the calls of the gateway gate-1 ended with 500 or 503 in 10 minutes, 20 % in the last 2",
      },
    ]);
  });

  test.each([
    ["the threshold itself", 95, 5],
    ["fewer than five failed calls", 4, 4],
    ["refusals that are the caller's own", 100, 0],
  ])("is none for %s", (_, ok, failed) => {
    const { end, check } = process();
    end(200, ok);
    end(403, 50);
    end(429, 50);
    end(503, failed);
    expect(check()).toEqual([]);
  });

  test("is none for a failure that is over, nor for one that has just begun in a long calm", () => {
    const { state, end, check } = process();
    end(503, 100);
    expect(check()).toHaveLength(1);
    state.now += 2 * minute;
    end(200, 100);
    expect(check()).toEqual([]);
    state.now += 8 * minute;
    end(200, 10_000);
    expect(check()).toEqual([]);
    end(503, 400);
    expect(check()).toEqual([]);
    end(503, 200);
    expect(check()).toHaveLength(1);
  });

  test("forgets calls after ten minutes, also after a long silence, and by a clock that goes back none", () => {
    const { state, health, end } = process();
    end(503, 3);
    state.now += 9 * minute;
    end(200, 4);
    expect(health.read().long).toEqual({ calls: 7, failed: 3 });
    expect(health.read().short).toEqual({ calls: 4, failed: 0 });
    state.now += minute;
    expect(health.read().long).toEqual({ calls: 4, failed: 0 });
    state.now -= 5 * minute;
    end(200);
    expect(health.read().long).toEqual({ calls: 5, failed: 0 });
    state.now += 500 * minute;
    expect(health.read().long).toEqual({ calls: 0, failed: 0 });
  });

  test("counts calls that ended before they ran, and none that a process refuses because it shuts down", () => {
    const { state, health, observer, end } = process();
    observer.refused("unavailable", { capability: "chat", status: 503 });
    observer.refused("invalid_api_key", { capability: "chat", status: 401 });
    observer.refused("not_found");
    expect(health.read().short).toEqual({ calls: 1, failed: 1 });
    state.isDraining = true;
    observer.refused("unavailable", { capability: "chat", status: 503 });
    end(503);
    end(200);
    expect(health.read().short).toEqual({ calls: 2, failed: 1 });
  });
});

test("a store that takes no writes is an alert after half a minute without a break", () => {
  const { state, check } = process();
  state.trouble = "PostgreSQL is read-only, so no call can be recorded";
  expect(check()).toEqual([]);
  state.now += 29_999;
  expect(check()).toEqual([]);
  state.trouble = undefined;
  expect(check()).toEqual([]);
  state.trouble = "PostgreSQL is read-only, so no call can be recorded";
  expect(check()).toEqual([]);
  state.now += 30_000;
  expect(check()).toEqual([
    {
      rule: "store_failing",
      subject: "gate-1",
      about: { type: "node", id: "gate-1", name: "gate-1" },
      level: 1,
      severity: "critical",
      text: "The gateway gate-1 refuses calls. PostgreSQL is read-only, so no call can be recorded",
    },
  ]);
});

describe("alerts that are sent without the database", () => {
  const about = { type: "node", id: "gate-1", name: "gate-1" } as const;
  const severity = "critical";
  const finding = { rule: "store_failing", subject: "gate-1", about, level: 1, severity, text: "It is down" } as const;
  const channelOf = (id: string, rules?: string[]) =>
    ({ channel: { id, severity: "info", rules }, target: {} }) as OpenChannel;

  function sender() {
    const sent: string[] = [];
    const ids: string[] = [];
    const failing = new Set<string>();
    const alerts = new StorelessAlerts({
      send: async ({ channel }, message) => {
        if (failing.has(channel.id)) throw new Error("It does not answer");
        sent.push(`${channel.id}: ${message.text}`);
        ids.push(...message.alerts.map(({ id }) => id));
      },
      keyOf: ({ rule, subject }) => `${rule} ${subject}`,
      publicUrl: undefined,
    });
    const remembered = { smtp: undefined, thresholds, muted: new Set<string>(), startedAt: new Map<string, number>() };
    alerts.remember({ ...remembered, channels: [channelOf("a"), channelOf("b")] });
    const takeSent = () => sent.splice(0);
    return { alerts, remembered, failing, takeSent, ids };
  }

  test("are sent once, and once more when they are over", async () => {
    const { alerts, takeSent } = sender();
    await alerts.tell([finding], start, true);
    await alerts.tell([finding], start + minute, true);
    expect(takeSent()).toEqual(["a: modelgate: It is down", "b: modelgate: It is down"]);
    await alerts.tell([], start + 2 * minute, false);
    await alerts.tell([], start + 3 * minute, false);
    expect(takeSent()).toEqual(["a: modelgate: Resolved: It is down", "b: modelgate: Resolved: It is down"]);
  });

  test("are left to the database where that works, and while they are muted", async () => {
    const { alerts, remembered, takeSent } = sender();
    await alerts.tell([finding], start, false);
    alerts.remember({ ...remembered, channels: [channelOf("a")], muted: new Set(["store_failing gate-1"]) });
    await alerts.tell([finding], start, true);
    expect(takeSent()).toEqual([]);
  });

  test("are tried again by a channel that failed, after half a minute, and not by the others", async () => {
    const { alerts, failing, takeSent } = sender();
    failing.add("a");
    await alerts.tell([finding], start, true);
    await alerts.tell([finding], start + 29_999, true);
    expect(takeSent()).toEqual(["b: modelgate: It is down"]);
    failing.clear();
    await alerts.tell([finding], start + 30_000, true);
    expect(takeSent()).toEqual(["a: modelgate: It is down"]);
  });

  test("are over in silence for a channel that never got them", async () => {
    const { alerts, failing, takeSent } = sender();
    failing.add("a");
    await alerts.tell([finding], start, true);
    failing.clear();
    await alerts.tell([], start + minute, true);
    expect(takeSent()).toEqual(["b: modelgate: It is down", "b: modelgate: Resolved: It is down"]);
  });

  test("are the database's once it has them, and not sent again", async () => {
    const { alerts, takeSent } = sender();
    await alerts.tell([finding], start, true);
    const told = alerts.listTold([finding]);
    expect(told).toEqual(new Map([["store_failing gate-1", { at: start, level: 1 }]]));
    alerts.handOver(told);
    takeSent();
    await alerts.tell([finding], start + minute, true);
    await alerts.tell([], start + 2 * minute, false);
    expect(takeSent()).toEqual([]);
  });

  test("have the id that the database gave them where it sent them already, from the start to the end", async () => {
    const { alerts, remembered, ids } = sender();
    const startedAt = new Map([["store_failing gate-1", start - minute]]);
    alerts.remember({ ...remembered, startedAt, channels: [channelOf("a")] });
    await alerts.tell([finding], start, true);
    await alerts.tell([], start + minute, true);
    expect(ids).toEqual(Array(2).fill(toEpisodeId("store_failing gate-1", start - minute)));
  });

  test("are sent to the channels that take their rule", async () => {
    const { alerts, remembered, takeSent } = sender();
    const channels = [channelOf("a", ["wallet_low"]), channelOf("b", ["store_failing"])];
    alerts.remember({ ...remembered, channels });
    await alerts.tell([finding], start, true);
    expect(takeSent()).toEqual(["b: modelgate: It is down"]);
  });
});

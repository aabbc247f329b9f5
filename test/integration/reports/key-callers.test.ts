import { describe, expect, test } from "bun:test";
import { KeyCallers, readKeyCallers } from "../../../src/reports/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;
const start = Date.UTC(2026, 10, 1);

async function fixture() {
  const store = await temporaryStore();
  const clock = { time: start };
  const node = () => new KeyCallers({ store, retentionDays: 90, now: () => clock.time });
  const rows = () => store.db.selectFrom("key_callers").selectAll().orderBy("network").orderBy("day").execute();
  const read = (keyId: string, days = 30) => readKeyCallers(store, { keyId, days, now: clock.time });
  return { store, clock, node, rows, read };
}

describe("from where a key is used", () => {
  test("is counted by day, network and program, and the counts of nodes add up", async () => {
    const { clock, node, rows, read } = await fixture();
    const [one, other] = [node(), node()];
    const [home, office] = [
      { network: "203.0.113.0/24", program: "curl" },
      { network: "2001:db8:1::/48", program: "OpenAI/Python" },
    ];
    one.note("a", home, start + 5);
    one.note("a", home, start + 1);
    one.note("b", home, start + 9);
    await one.flush();
    other.note("a", home, start + 3);
    other.note("a", home, start + 8);
    other.note("a", office, start + dayMs + 2);
    await Promise.all([other.flush(), one.flush()]);
    clock.time = start + dayMs + 20;
    const counted = (await rows()).map((row) => [
      row.key_id,
      Number(row.day) - start / dayMs,
      row.network,
      Number(row.requests),
    ]);
    expect(counted.sort()).toEqual([
      ["a", 0, home.network, 4],
      ["a", 1, office.network, 1],
      ["b", 0, home.network, 1],
    ]);
    expect(await read("a")).toEqual([
      { ...office, requests: 1, firstAt: start + dayMs + 2, lastAt: start + dayMs + 2, isNew: true },
      { ...home, requests: 4, firstAt: start + 1, lastAt: start + 8, isNew: false },
    ]);
    expect(await read("a", 1)).toMatchObject([{ network: office.network }]);
    expect(await read("unknown")).toEqual([]);
  });

  test("has at most fifty origins for a key and day, whatever number of addresses it is used from, and loses no request", async () => {
    const { clock, node, rows, read } = await fixture();
    const nodes = [node(), node()];
    for (let caller = 0; caller < 10_000; caller++) {
      const network = `10.${caller >> 8}.${caller & 255}.0/24`;
      nodes[caller % 2]?.note("a", { network, program: `agent-${caller % 7}` }, start + caller);
      if (caller % 2500 === 2499) for (const each of nodes) await each.flush();
    }
    clock.time = start + 20_000;
    const stored = await rows();
    expect(stored.length).toBeLessThanOrEqual(51);
    expect(stored.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(10_000);
    const last = (await read("a")).at(-1);
    expect(last).toMatchObject({ network: "*", program: "*", isNew: false });
    expect(last?.requests).toBeGreaterThan(9_000);
  });

  test("is new when a network is first seen after more than a day of use, for a week", async () => {
    const { clock, node, read } = await fixture();
    const callers = node();
    const at = async (days: number, network: string, program = "curl") => {
      callers.note("a", { network, program }, start + days * dayMs);
      await callers.flush();
    };
    const isNew = async (days: number) => {
      clock.time = start + days * dayMs;
      return (await read("a", 90)).filter((caller) => caller.isNew).map(({ network }) => network);
    };
    await at(0, "1.1.1.0/24");
    await at(0.5, "2.2.2.0/24");
    expect(await isNew(0.6)).toEqual([]);
    await at(20, "3.3.3.0/24");
    await at(20, "1.1.1.0/24", "another-program");
    expect(await isNew(21)).toEqual(["3.3.3.0/24"]);
    expect(await isNew(28)).toEqual([]);
  });

  test("is kept as long as calls are", async () => {
    const { clock, node, rows } = await fixture();
    const callers = node();
    for (const days of [0, 1, 90])
      callers.note("a", { network: `1.1.${days}.0/24`, program: "" }, start + days * dayMs);
    await callers.flush();
    clock.time = start + 91 * dayMs;
    expect(await callers.prune()).toBe(1);
    expect((await rows()).map(({ network }) => network)).toEqual(["1.1.1.0/24", "1.1.90.0/24"]);
  });

  test("is written later when the database did not take it", async () => {
    const { store, rows } = await fixture();
    let isDown = true;
    const breaking = Object.create(store, {
      db: {
        get: () => {
          if (isDown) throw new Error("The database is down");
          return store.db;
        },
      },
    });
    const callers = new KeyCallers({ store: breaking, retentionDays: 90, now: () => start });
    const caller = { network: "1.1.1.0/24", program: "curl" };
    callers.note("a", caller, start);
    const error = await callers.flush().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: "The database is down" });
    callers.note("a", caller, start);
    isDown = false;
    await callers.flush();
    await callers.flush();
    expect((await rows()).map(({ requests }) => Number(requests))).toEqual([2]);
  });
});

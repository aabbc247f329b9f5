import { describe, expect, test } from "bun:test";
import {
  readFigures,
  readGroups,
  readTotals,
  Statistics,
  type StatisticsFilter,
  type StatisticsGroup,
  sumFigures,
} from "../../../src/billing/index.ts";
import { callIdPrefix } from "../../../src/contract/index.ts";
import type { CallEnded, CallOpened, Store } from "../../../src/db/index.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A midnight. */
const start = 20_000 * dayMs;
const firstHour = start / hourMs;

let calls = 0;

function endedCall(openedAt: number, open: Partial<CallOpened> = {}, end: Partial<CallEnded> = {}): CallEnded {
  calls += 1;
  const opened = openOf(`${callIdPrefix(openedAt)}${String(calls).padStart(16, "0")}`, { openedAt, ...open });
  return endOf(opened, { settledAt: openedAt + 100, ...end });
}

interface Process {
  readonly statistics: Statistics;
  readonly warnings: unknown[][];
  /** Writes the ends of calls, and has them counted. */
  end(...ends: CallEnded[]): Promise<void>;
}

/** A process that serves, by a clock that stands at `clock.at`. */
async function startProcess(
  store: Store,
  clock: { at: number },
  running: () => CallEnded[] = () => [],
): Promise<Process> {
  const warnings: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const statistics = new Statistics({ store, retentionDays: 30, now: () => clock.at, log });
  await statistics.start({ running: () => ({ openedAt: running()[0]?.open.openedAt, ended: running() }) });
  return {
    statistics,
    warnings,
    async end(...ends) {
      await write(store, ends);
      for (const end of ends) statistics.add(end);
    },
  };
}

function write(store: Store, ends: readonly CallEnded[]) {
  return store.writeLedger(ends.flatMap((end) => [end.open, end]));
}

/** As a crash leaves it: over PostgreSQL its node is gone. */
async function crash(store: Store): Promise<void> {
  if (!store.shared) return;
  await store.db.updateTable("statistics_gaps").set({ node_id: "dead" }).execute();
  await store.db.updateTable("calls").set({ node_id: "dead" }).execute();
}

async function untilCounted(store: Store, { statistics }: Process): Promise<void> {
  const closed = () => store.db.selectFrom("statistics_gaps").select("id").where("until_id", "is not", null).execute();
  for (let round = 0; round < 100; round++) {
    await statistics.countGaps();
    if ((await closed()).length === 0) return;
  }
  throw new Error("Some calls are still uncounted");
}

async function groupsOf(store: Store, group: StatisticsGroup, filter: StatisticsFilter = {}, hours: 1 | 24 = 24) {
  const starts = Array.from({ length: hours === 24 ? 2 : 48 }, (_, place) => firstHour + place * hours);
  const query = { filter, hours, starts };
  const { groups } = await readGroups(store, query, { group, rank: "requests", limit: 1000, charted: 1 });
  return Object.fromEntries(groups.map(({ value, total }) => [value, countOf(total)]));
}

function countOf(figures: readonly number[]): number {
  const { requests, failures, refused } = readFigures(figures);
  return requests + failures + refused;
}

async function totalOf(store: Store, filter: StatisticsFilter = {}, hours: 1 | 24 = 24) {
  const starts = Array.from({ length: hours === 24 ? 2 : 48 }, (_, place) => firstHour + place * hours);
  return readFigures(sumFigures((await readTotals(store, { filter, hours, starts })).values()));
}

/** Has a transaction fail before it, or after it was committed. */
function failing(db: Store["db"], before?: () => void, after?: () => void): Store["db"] {
  return new Proxy(db, {
    get(target, name) {
      if (name !== "transaction") return Reflect.get(target, name).bind(target);
      return () => ({
        async execute(work: Parameters<ReturnType<Store["db"]["transaction"]>["execute"]>[0]) {
          before?.();
          const result = await target.transaction().execute(work);
          after?.();
          return result;
        },
      });
    },
  });
}

describe("statistics", () => {
  test("sum up calls and refused requests by all that they are asked by, in hours and days", async () => {
    const store = await temporaryStore();
    const { statistics, end } = await startProcess(store, { at: start });
    await end(
      endedCall(start, { session: "s1" }, { tag: "nightly", firstByteMs: 100, durationMs: 1000 }),
      endedCall(start + hourMs, { keyId: "key2", model: "model-2" }, { route: "groq", firstByteMs: null }),
      endedCall(
        start + dayMs,
        { accountId: "acc_2", keyId: "key3" },
        { state: "released", status: 502, tag: "nightly" },
      ),
    );
    statistics.addRefusal({ ...refusal, opened_at: start + 5 });
    await statistics.flush();
    for (const hours of [1, 24] as const) {
      expect(await groupsOf(store, "account", {}, hours)).toEqual({ acc_1: 3, acc_2: 1 });
      expect(await groupsOf(store, "key", {}, hours)).toEqual({ key1: 2, key2: 1, key3: 1 });
      expect(await groupsOf(store, "model", {}, hours)).toEqual({ "model-1": 2, "model-2": 1, "": 1 });
      expect(await groupsOf(store, "plugin", {}, hours)).toEqual({ openai: 2, groq: 1, "": 1 });
      expect(await groupsOf(store, "status", {}, hours)).toEqual({ 200: 2, 502: 1, 429: 1 });
      expect(await groupsOf(store, "session", {}, hours)).toEqual({ s1: 1 });
      expect(await groupsOf(store, "tag", {}, hours)).toEqual({ nightly: 2 });
      expect(await groupsOf(store, "tag", { accountId: "acc_2" }, hours)).toEqual({ nightly: 1 });
      expect(await groupsOf(store, "model", { accountId: "acc_1", keyId: "key2" }, hours)).toEqual({ "model-2": 1 });
      expect(await groupsOf(store, "key", { plugin: "groq" }, hours)).toEqual({ key2: 1 });
      const total = await totalOf(store, {}, hours);
      expect(total).toMatchObject({ requests: 2, failures: 1, refused: 1, failed: 1, charged_nanodollars: 30 });
      expect(total).toMatchObject({ input_tokens: 9, output_tokens: 12, cost_nanodollars: 30 });
    }
    const { firstByteMs, durationMs } = await totalOf(store, { accountId: "acc_1", keyId: "key1" });
    expect(firstByteMs.p50).toBeWithin(66, 106);
    expect(durationMs.p95).toBeWithin(687, 1100);
  });

  test("of hours are taken from whole days where there are such", async () => {
    const store = await temporaryStore();
    const { statistics, end } = await startProcess(store, { at: start });
    const hours = [19, 20, 23, 24, 30, 47, 48, 50, 51];
    const ends = hours.map((hour) => endedCall(start + hour * hourMs, { session: hour < 30 ? "early" : "late" }));
    await end(...ends, endedCall(start + 30 * hourMs, { accountId: "acc_2", session: "late" }));
    await statistics.flush();
    const starts = Array.from({ length: 31 }, (_, place) => firstHour + 20 + place);
    const query = { filter: {}, hours: 1, starts } as const;
    const read = async (charted: number) => {
      const { groups } = await readGroups(store, query, { group: "session", rank: "requests", limit: 3, charted });
      return groups.map(({ accountId, value, total, byHour }) => [accountId, value, countOf(total), byHour?.size]);
    };
    expect(await read(1)).toEqual([
      ["acc_1", "late", 4, 4],
      ["acc_1", "early", 3, undefined],
      ["acc_2", "late", 1, undefined],
    ]);
    expect((await read(3)).map(([, , count]) => count)).toEqual([4, 3, 1]);
  });

  test("are added up over flushes, and what was not counted before a crash is counted after it", async () => {
    const store = await temporaryStore();
    const clock = { at: start - 1 };
    const late = endedCall(start + 10, {}, { settledAt: start + 150 });
    const process = await startProcess(store, clock, () => [late]);
    clock.at = start + 200;
    // The second one ends in the very millisecond of the flush.
    await process.end(endedCall(start), endedCall(start + 100));
    await process.statistics.flush();
    expect((await totalOf(store)).requests).toBe(2);
    // Ended before the flush, and written after it.
    await process.end(late);
    // In the very millisecond of the flush, and later; of another hour too.
    await process.end(endedCall(start + 100, {}, { settledAt: clock.at }), endedCall(start + hourMs));
    await crash(store);
    const next = await startProcess(store, { at: start + 2 * hourMs });
    await untilCounted(store, next);
    expect((await totalOf(store)).requests).toBe(5);
    expect((await totalOf(store, {}, 1)).requests).toBe(5);
    await next.end(endedCall(start + 2 * hourMs));
    await next.statistics.close();
    expect((await totalOf(store)).requests).toBe(6);
    expect(await store.db.selectFrom("statistics_gaps").select("id").where("until_id", "is", null).execute()).toEqual(
      [],
    );
  });

  test("are exact after a crash in the middle of a flush of many accounts, which is written in parts", async () => {
    const store = await temporaryStore();
    const clock = { at: start };
    let parts = 0;
    const db = failing(store.db, () => {
      parts += 1;
      if (parts > 2) throw new Error("The process is gone");
    });
    const { statistics, end } = await startProcess({ ...store, db }, clock);
    const accounts = Array.from({ length: 200 }, (_, place) => `acc_${String(place).padStart(3, "0")}`);
    await end(...accounts.map((accountId) => endedCall(start, { accountId })));
    clock.at += 1000;
    await statistics.flush();
    expect((await totalOf(store)).requests).toBe(100);
    await crash(store);
    const next = await startProcess(store, { at: start + hourMs });
    await untilCounted(store, next);
    expect((await totalOf(store)).requests).toBe(200);
    expect(Object.values(await groupsOf(store, "account"))).toEqual(accounts.map(() => 1));
  });

  test("count the calls of before they were kept, also those of many reads", async () => {
    const store = await temporaryStore();
    const old = Array.from({ length: 1203 }, (_, place) => endedCall(start + place, { keyId: `key${place % 700}` }));
    await write(store, old);
    const row = {
      node_id: null,
      from_id: "",
      until_id: old.at(-1)?.open.callId ?? "",
      settled_from: 0,
      exceptions: "[]",
      partial: null,
    };
    await store.db
      .insertInto("statistics_gaps")
      .values({ id: "earlier", ...row })
      .execute();
    const process = await startProcess(store, { at: start + dayMs });
    await process.end(endedCall(start + dayMs));
    await process.statistics.flush();
    await untilCounted(store, process);
    expect((await totalOf(store)).requests).toBe(1204);
    expect(Object.keys(await groupsOf(store, "key"))).toHaveLength(700);
  });

  test("keep a hostile number of tags apart up to a bound, and count the rest as one", async () => {
    const store = await temporaryStore();
    const { statistics } = await startProcess(store, { at: start });
    for (let place = 0; place < 5000; place++) statistics.add(endedCall(start, {}, { tag: `tag-${place}` }));
    statistics.add(endedCall(start, { accountId: "acc_2" }, { tag: "calm" }));
    await statistics.flush();
    const tags = await groupsOf(store, "tag");
    expect(Object.keys(tags)).toHaveLength(102);
    expect(tags["*"]).toBe(4900);
    expect(tags.calm).toBe(1);
  });

  test("are written once when the outcome of a write was not known", async () => {
    const store = await temporaryStore();
    const clock = { at: start };
    let isLost = false;
    const db = failing(store.db, undefined, () => {
      if (isLost) throw new Error("The connection was lost");
    });
    const { statistics, end, warnings } = await startProcess({ ...store, db }, clock);
    clock.at += 10;
    isLost = true;
    await end(endedCall(start));
    await statistics.flush();
    expect(warnings.map(([event]) => event)).toEqual(["statistics_not_written"]);
    isLost = false;
    clock.at += 10;
    await end(endedCall(start));
    await statistics.flush();
    expect((await totalOf(store)).requests).toBe(2);
  });

  test("of hours and of clients' names are deleted when they are old, those of days stay", async () => {
    const store = await temporaryStore();
    const clock = { at: start };
    const { statistics, end } = await startProcess(store, clock);
    await end(endedCall(start, {}, { tag: "nightly" }));
    await statistics.flush();
    expect(await statistics.prune()).toBe(0);
    clock.at += 31 * dayMs;
    expect(await statistics.prune()).toBe(7);
    expect((await totalOf(store)).requests).toBe(1);
    expect((await totalOf(store, {}, 1)).requests).toBe(0);
    expect(await groupsOf(store, "tag")).toEqual({});
  });
});

const refusal = {
  ...{ id: "r1", account_id: "acc_1", key_id: "key1", endpoint: "POST /x", capability: null, model: "made up" },
  ...{ protocol: null, status: 429, error_code: "rate_limit_exceeded", message: "", session: null, tag: null },
  ...{ client_request_id: null, duration_ms: 0 },
};

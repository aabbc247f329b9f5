import { describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { type CacheMissKind, callIdPrefix } from "../../../src/contract/index.ts";
import { insertAbandoned } from "../../../src/db/call-columns.ts";
import { type EndedCall, figureColumns, type OpenCall, type Store } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import {
  keepDayLists,
  readFigures,
  readGroups,
  readLosses,
  readTotals,
  type StatisticsFilter,
  type StatisticsGroup,
  sumFigures,
  UsageRollup,
} from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A midnight. */
const start = 20_000 * dayMs;
const firstHour = start / hourMs;

let calls = 0;

function endedCall(openedAt: number, open: Partial<OpenCall> = {}, end: Partial<EndedCall> = {}): EndedCall {
  calls += 1;
  const opened = openOf(`${callIdPrefix(openedAt)}${String(calls).padStart(16, "0")}`, { openedAt, ...open });
  return endOf(opened, { settledAt: openedAt + 100, ...end });
}

interface Process {
  readonly rollup: UsageRollup;
  readonly warnings: unknown[][];
  /** Writes the ends of calls, and tells of them. */
  end(...ends: EndedCall[]): Promise<void>;
}

/** A process that serves, by a clock that stands at `clock.at`. */
function startProcess(store: Store, clock: { at: number } = { at: start }): Process {
  const warnings: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const rollup = new UsageRollup({ store, retentionDays: 60, now: () => clock.at, log });
  return {
    rollup,
    warnings,
    async end(...ends) {
      await write(store, ends);
      for (const _ of ends) rollup.add();
    },
  };
}

function write(store: Store, ends: readonly EndedCall[]) {
  return recordCalls(
    store,
    ends.flatMap((end) => [end.open, end]),
  );
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

/** Has a write of sums fail before it, or after it was committed. */
function failing(store: Store, before?: () => void, after?: () => void): Store {
  return {
    ...store,
    async addUsage(...given) {
      before?.();
      const isWritten = await store.addUsage(...given);
      after?.();
      return isWritten;
    },
  };
}

const missed = (kind: CacheMissKind, tokens: number, lostNanodollars: number | undefined): Partial<EndedCall> => ({
  cache: { miss: { kind, tokens }, lostNanodollars, savedNanodollars: 5 },
});

describe("misses of prompt caches", () => {
  test("are summed up by their reason, and what they cost is the same by hours, days and accounts", async () => {
    const store = await temporaryStore();
    const { rollup, end } = startProcess(store);
    await end(
      endedCall(start, {}, missed("tools", 100, 70)),
      endedCall(start + 2 * hourMs, { model: "model-2" }, missed("tools", 10, 7)),
      endedCall(start + hourMs, {}, missed("first_seen", 900, undefined)),
      endedCall(start + dayMs, { accountId: "acc_2", keyId: "key3" }, missed("provider", 1000, 700)),
      endedCall(start + dayMs, { accountId: "acc_2", keyId: "key3" }, { cache: { savedNanodollars: 8 } }),
      endedCall(start + dayMs, { accountId: "acc_2", keyId: "key3" }),
    );
    await rollup.flush();
    const ofTools = { kind: "tools" as const, calls: 2, missedTokens: 110, lostNanodollars: 77 };
    const ofProvider = { kind: "provider" as const, calls: 1, missedTokens: 1000, lostNanodollars: 700 };
    const first = { kind: "first_seen" as const, calls: 1, missedTokens: 900, lostNanodollars: 0 };
    for (const hours of [1, 24] as const) {
      const starts = Array.from({ length: hours === 24 ? 2 : 48 }, (_, place) => firstHour + place * hours);
      const losses = (filter: StatisticsFilter) => readLosses(store, { filter, hours, starts });
      expect(await losses({})).toEqual([ofProvider, ofTools, first]);
      expect(await losses({ accountId: "acc_1" })).toEqual([ofTools, first]);
      expect(await losses({ accountId: "acc_1", model: "model-2" })).toEqual([
        { kind: "tools", calls: 1, missedTokens: 10, lostNanodollars: 7 },
      ]);
      expect(await losses({ accountId: "acc_2", status: 500 })).toEqual([]);
      expect(await totalOf(store, {}, hours)).toMatchObject({
        requests: 6,
        cache_missed_tokens: 2010,
        cache_lost_nanodollars: 777,
        cache_saved_nanodollars: 28,
      });
    }
    expect((await verifyLedger(store)).differences).toEqual([]);
    await sql`update usage_rows set cache_lost_nanodollars = 71 where kind = 'miss' and account_id = 'acc_1'
      and hours = 24 and model = 'model-1' and name = 'tools'`.execute(store.db);
    expect((await verifyLedger(store)).differences).toEqual([
      `Misses of acc_1 on day ${start / dayMs}: cache_lost_nanodollars is 78, calls sum to 77`,
    ]);
  });
});

describe("statistics", () => {
  test("sum up calls and refused requests by all that they are asked by, in hours and days", async () => {
    const store = await temporaryStore();
    const { rollup, end } = startProcess(store);
    await end(
      endedCall(start, { session: "s1", tag: "nightly" }, { firstByteMs: 100, durationMs: 1000 }),
      endedCall(start + hourMs, { keyId: "key2", model: "model-2" }, { plugin: "groq", firstByteMs: undefined }),
      endedCall(
        start + dayMs,
        { accountId: "acc_2", keyId: "key3", tag: "nightly" },
        { outcome: "released", status: 502 },
      ),
    );
    rollup.addRefusal({ ...refusal, opened_at: start + 5 });
    await rollup.flush();
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
    const { rollup, end } = startProcess(store);
    const hours = [19, 20, 23, 24, 30, 47, 48, 50, 51];
    const ends = hours.map((hour) => endedCall(start + hour * hourMs, { session: hour < 30 ? "early" : "late" }));
    await end(...ends, endedCall(start + 30 * hourMs, { accountId: "acc_2", session: "late" }));
    await rollup.flush();
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

  test("are ranked over all accounts, however many of these are read at once", async () => {
    const store = await temporaryStore();
    const idOf = (number: number) => `acc_${String(number).padStart(3, "0")}`;
    const accounts = Array.from({ length: 300 }, (_, number) => idOf(number));
    const row = (id: string) => ({ id, email: `${id}@example.org`, created_at: start });
    await store.db.insertInto("accounts").values(accounts.map(row)).execute();
    const { rollup, end } = startProcess(store);
    // Three requests of the first account and each tenth one, two of the last, one of each other: on days and hours.
    const ends = accounts.flatMap((accountId, number) => {
      const count = number % 10 === 0 ? 3 : number === 299 ? 2 : 1;
      return Array.from({ length: count }, (_, place) =>
        endedCall(start + (number + 11 * place) * 600_000, { accountId, keyId: `key_${accountId}`, session: "same" }),
      );
    });
    await end(...ends);
    await rollup.flush();
    const query = {
      filter: {},
      hours: 1,
      starts: Array.from({ length: 60 }, (_, place) => firstHour + place),
    } as const;
    const tenths = accounts.filter((_, number) => number % 10 === 0);
    const first = [...tenths, idOf(299), idOf(1), idOf(2)];
    for (const [group, values] of [
      ["account", first],
      ["key", first.map((id) => `key_${id}`)],
      ["session", first.map(() => "same")],
    ] as const) {
      const wanted = { group, rank: "requests", limit: first.length, charted: 2 } as const;
      const { groups, count } = await readGroups(store, query, wanted);
      expect(groups.map(({ value }) => value)).toEqual([...values]);
      expect(groups.map(({ total }) => countOf(total))).toEqual([...tenths.map(() => 3), 2, 1, 1]);
      if (group !== "account") expect(groups.map(({ accountId }) => accountId)).toEqual(first);
      expect(count).toBe(300);
    }
    const ofModel = { ...query, filter: { model: "model-none" } };
    const none = await readGroups(store, ofModel, { group: "account", rank: "cost", limit: 5, charted: 1 });
    expect(none).toEqual({ groups: [], count: 0 });
  });

  async function storeOfMany(): Promise<Store> {
    const store = await temporaryStore();
    const rows = Array.from({ length: 5001 }, (_, number) => ({
      id: `many_${number}`,
      email: `${number}@example.org`,
      created_at: start,
    }));
    for (let from = 0; from < rows.length; from += 500) {
      await store.db
        .insertInto("accounts")
        .values(rows.slice(from, from + 500))
        .execute();
    }
    return store;
  }

  test("of all of many accounts are ranked once a minute or by the list of a day, and their figures are those of now", async () => {
    const store = await storeOfMany();
    const { rollup, end } = startProcess(store);
    const callOf = (accountId: string) => endedCall(start, { accountId });
    await end(callOf("many_7"), callOf("many_7"), callOf("many_8"));
    await rollup.flush();
    const query = { filter: {}, hours: 24, starts: [firstHour] } as const;
    const read = async (rank: "requests" | "tokens" = "requests") => {
      const { groups, count } = await readGroups(store, query, { group: "account", rank, limit: 5, charted: 1 });
      expect(count).toBeUndefined();
      return groups.map(({ value, total }) => [value, countOf(total)]);
    };
    const before = [
      ["many_7", 2],
      ["many_8", 1],
    ];
    expect(await Promise.all([read(), read()])).toEqual([before, before]);
    await end(callOf("many_8"), callOf("many_8"), callOf("many_9"));
    await rollup.flush();
    const now = [
      ["many_8", 3],
      ["many_7", 2],
      ["many_9", 1],
    ];
    expect(await read()).toEqual(now.slice(0, 2));
    // What was not asked for before is ranked now.
    expect(await read("tokens")).toEqual(now);
    // Two hours after its end the list of a day is kept, with what was counted until then.
    await keepDayLists(store, start + dayMs + 2 * hourMs - 1);
    expect(await read()).toEqual(now.slice(0, 2));
    await keepDayLists(store, start + dayMs + 2 * hourMs);
    expect(await read()).toEqual(now);
    await end(callOf("many_10"), callOf("many_9"), callOf("many_9"), callOf("many_9"));
    await rollup.flush();
    expect(await read()).toEqual([["many_9", 4], ...now.slice(0, 2)]);
  });

  test("of many accounts are by the lists of days what they are by all sums, where no day has more groups than its list", async () => {
    const store = await storeOfMany();
    const { rollup, end } = startProcess(store);
    const days = [0, 1, 2].map((day) => start + day * dayMs);
    const ends = days.flatMap((day, place) =>
      Array.from({ length: 80 }, (_, number) => {
        const accountId = `many_${(number * (place + 3)) % 61}`;
        const figures = { costNanodollars: (number * 7919 * (place + 1)) % 1009, status: number % 7 === 0 ? 500 : 200 };
        return endedCall(day + number * 60_000, { accountId, keyId: `key_${number % 20}_${accountId}` }, figures);
      }),
    );
    await end(...ends);
    await rollup.flush();
    // The list of the last day is not kept yet.
    for (let day = 0; day < 2; day++) await keepDayLists(store, start + 2 * dayMs + 2 * hourMs + day);
    const lists = await store.db.selectFrom("usage_tops").select("hour").distinct().orderBy("hour", "desc").execute();
    expect(lists.map(({ hour }) => hour)).toEqual([firstHour + 24, firstHour]);
    const starts = days.map((day) => day / hourMs);
    for (const group of ["account", "key"] as const) {
      for (const rank of ["cost", "requests", "errors", "tokens"] as const) {
        const read = (limit: number) =>
          readGroups(store, { filter: {}, hours: 24, starts }, { group, rank, limit, charted: 2 });
        const [listed, all] = [await read(50), await read(1000)];
        expect(listed.groups).toEqual(all.groups.slice(0, 50));
        expect(all.count).toBe(all.groups.length);
      }
    }
  });

  test("are added up over steps of one process after another, also of calls that ended before each was there", async () => {
    const store = await temporaryStore();
    await write(store, [endedCall(start), endedCall(start + hourMs)]);
    const first = startProcess(store);
    await first.end(endedCall(start));
    await first.rollup.flush();
    expect((await totalOf(store)).requests).toBe(3);
    // It ends without counting its last calls.
    await first.end(endedCall(start), endedCall(start + 2 * hourMs));
    const next = startProcess(store);
    await next.rollup.flush();
    await next.rollup.flush();
    expect((await totalOf(store)).requests).toBe(5);
    expect((await totalOf(store, {}, 1)).requests).toBe(5);
    await next.end(endedCall(start + 2 * hourMs));
    await next.rollup.close();
    expect((await totalOf(store)).requests).toBe(6);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("are exact after a crash in the middle of a step with many accounts, which is written in parts", async () => {
    const store = await temporaryStore();
    let parts = 0;
    const broken = failing(store, () => {
      parts += 1;
      if (parts > 2) throw new Error("The process is gone");
    });
    const { rollup, end, warnings } = startProcess(broken);
    const accounts = Array.from({ length: 200 }, (_, place) => `acc_${String(place).padStart(3, "0")}`);
    await end(...accounts.map((accountId) => endedCall(start, { accountId })));
    await rollup.flush();
    expect(warnings.map(([event]) => event)).toEqual(["usage_not_counted"]);
    expect((await totalOf(store)).requests).toBe(80);
    expect((await verifyLedger(store)).differences).toEqual([]);
    // What ends meanwhile is not counted with the rest of the step.
    await write(
      store,
      accounts.map((accountId) => endedCall(start, { accountId })),
    );
    const next = startProcess(store);
    await next.rollup.flush();
    expect((await totalOf(store)).requests).toBe(400);
    expect(Object.values(await groupsOf(store, "account"))).toEqual(accounts.map(() => 2));
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("are written by one of two processes that count the same calls, in any order of their parts", async () => {
    const store = await temporaryStore();
    const [one, other] = [startProcess(store), startProcess(store)];
    const accounts = Array.from({ length: 300 }, (_, place) => `acc_${place}`);
    for (let round = 0; round < 3; round++) {
      await write(
        store,
        accounts.map((accountId) => endedCall(start, { accountId })),
      );
      await Promise.all([one.rollup.flush(), other.rollup.flush()]);
    }
    await one.rollup.flush();
    expect((await totalOf(store)).requests).toBe(900);
    expect((await verifyLedger(store)).differences).toEqual([]);
    expect([...one.warnings, ...other.warnings]).toEqual([]);
  });

  test("leave calls that end while others are counted to the next time, so that steps stay large under load", async () => {
    const store = await temporaryStore();
    let steps = 0;
    const busy = failing(store, undefined, () => {
      steps += 1;
    });
    const underLoad: Store = {
      ...busy,
      async addUsage(...given) {
        await write(store, [endedCall(start)]);
        return busy.addUsage(...given);
      },
    };
    const { rollup, end } = startProcess(underLoad);
    await end(endedCall(start));
    await rollup.flush();
    expect([steps, (await totalOf(store)).requests]).toEqual([1, 1]);
    await rollup.flush();
    expect([steps, (await totalOf(store)).requests]).toEqual([2, 2]);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("have each call once that ends while calls are counted all the time", async () => {
    const store = await temporaryStore();
    const { rollup } = startProcess(store);
    let isOver = false;
    const counting = (async () => {
      while (!isOver) {
        await rollup.flush();
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let call = 0; call < 50; call++) {
        await write(store, [endedCall(start, { accountId: `acc_${writer}` }), endedCall(start + hourMs)]);
      }
    });
    await Promise.all(writers);
    isOver = true;
    await counting;
    await rollup.flush();
    expect((await totalOf(store)).requests).toBe(400);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("have a call that was taken for abandoned once it is settled after all, and not before", async () => {
    const store = await temporaryStore();
    const { rollup } = startProcess(store);
    const [late, other] = [endedCall(start), endedCall(start)];
    await recordCalls(store, [late.open]);
    await insertAbandoned(sql`open_call_rows`, start + 1).execute(store.db);
    await write(store, [other]);
    await rollup.flush();
    expect(await totalOf(store)).toMatchObject({ requests: 1, failures: 0 });
    await recordCalls(store, [late]);
    await rollup.flush();
    await rollup.flush();
    expect(await totalOf(store)).toMatchObject({ requests: 2, failures: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("have the calls of many reads", async () => {
    const store = await temporaryStore();
    const old = Array.from({ length: 1203 }, (_, place) => endedCall(start + place, { keyId: `key${place % 700}` }));
    await write(store, old);
    const { rollup } = startProcess(store);
    await rollup.flush();
    expect((await totalOf(store)).requests).toBe(1203);
    expect(Object.keys(await groupsOf(store, "key"))).toHaveLength(700);
  });

  test("keep a hostile number of tags apart up to a bound, and count the rest as one", async () => {
    const store = await temporaryStore();
    const { rollup } = startProcess(store);
    const ends = Array.from({ length: 2000 }, (_, place) => endedCall(start, { tag: `tag-${place}` }));
    await write(store, [...ends, endedCall(start, { accountId: "acc_2", tag: "calm" })]);
    await rollup.flush();
    const tags = await groupsOf(store, "tag");
    expect(Object.keys(tags)).toHaveLength(102);
    expect(tags["*"]).toBe(1900);
    expect(tags.calm).toBe(1);
  });

  test("are written once when the outcome of a write was not known", async () => {
    const store = await temporaryStore();
    let isLost = false;
    const broken = failing(store, undefined, () => {
      if (isLost) throw new Error("The connection was lost");
    });
    const { rollup, end, warnings } = startProcess(broken);
    isLost = true;
    await end(endedCall(start));
    await rollup.flush();
    expect(warnings.map(([event]) => event)).toEqual(["usage_not_counted"]);
    isLost = false;
    await end(endedCall(start));
    await rollup.flush();
    expect((await totalOf(store)).requests).toBe(2);
  });

  test("of refused requests are kept while the database is away", async () => {
    const store = await temporaryStore();
    let isAway = true;
    const broken = failing(store, () => {
      if (isAway) throw new Error("The database is away");
    });
    const { rollup } = startProcess(broken);
    rollup.addRefusal({ ...refusal, opened_at: start });
    await rollup.flush();
    rollup.addRefusal({ ...refusal, opened_at: start });
    isAway = false;
    await rollup.flush();
    expect((await totalOf(store)).refused).toBe(2);
  });

  test("take no room for figures that are zero, and none in an hour for a key alone", async () => {
    const store = await temporaryStore();
    const { rollup, end } = startProcess(store);
    const readRows = () => store.db.selectFrom("usage_rows").selectAll().orderBy("hours").orderBy("kind").execute();
    await end(endedCall(start, {}, { outcome: "released", chargedNanodollars: 0, firstByteMs: undefined }));
    await rollup.flush();
    // The second adds to figures that are there, and to others that are not.
    await end(endedCall(start + 1, {}, { firstByteMs: 100 }));
    await rollup.flush();
    const rows = await readRows();
    const [hour, day] = [1, 24].map((hours) => rows.filter((row) => row.hours === hours).map(({ kind }) => kind));
    expect({ hour, day }).toEqual({ hour: ["call", "call"], day: ["call", "call", "key"] });
    for (const row of rows) {
      const zeros = figureColumns.filter((name) => (row as Record<string, unknown>)[name] === 0);
      expect([row.kind, row.requests, row.failures, row.refused, zeros]).toEqual([row.kind, 1, 1, null, []]);
    }
    expect(await totalOf(store)).toMatchObject({ requests: 1, failures: 1, refused: 0 });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("of hours and of clients' names are deleted when they are old, those of days stay", async () => {
    const store = await temporaryStore();
    const clock = { at: start };
    const { rollup, end } = startProcess(store, clock);
    await end(endedCall(start, { tag: "nightly" }));
    await rollup.flush();
    expect(await rollup.prune()).toBe(0);
    clock.at += 33 * dayMs;
    // The hours of the tag, of the account and of all.
    expect(await rollup.prune()).toBe(2);
    expect((await totalOf(store, {}, 1)).requests).toBe(1);
    clock.at += 28 * dayMs;
    // The hours of calls, and the days of the tag.
    expect(await rollup.prune()).toBe(4);
    expect((await totalOf(store)).requests).toBe(1);
    expect((await totalOf(store, {}, 1)).requests).toBe(0);
    expect(await groupsOf(store, "tag")).toEqual({});
    expect((await verifyLedger(store)).differences).toEqual([]);
  });
});

const refusal = {
  id: "r1",
  account_id: "acc_1",
  key_id: "key1",
  endpoint: "POST /x",
  capability: null,
  model: "made up",
  protocol: null,
  status: 429,
  error_code: "rate_limit_exceeded",
  message: "",
  session: null,
  tag: null,
  client_request_id: null,
  duration_ms: 0,
};

test("the roll-up is late by how long a call has waited, also while the database fails, and not at all once it is counted", async () => {
  const store = await temporaryStore();
  let isAway = true;
  const { rollup, warnings, end } = startProcess(
    failing(store, () => {
      if (isAway) throw new Error("away");
    }),
  );
  await rollup.flush();
  expect(rollup.lagMs).toBe(0);
  await end(endedCall(start));
  await rollup.flush();
  expect(warnings).not.toEqual([]);
  const before = rollup.lagMs;
  await Bun.sleep(2);
  expect(rollup.lagMs).toBeGreaterThan(before);
  isAway = false;
  await rollup.flush();
  expect(rollup.lagMs).toBe(0);
  await rollup.close();
  await store.close();
});

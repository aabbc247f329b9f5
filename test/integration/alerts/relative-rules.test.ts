import { describe, expect, test } from "bun:test";
import { callIdPrefix } from "../../../src/contract/index.ts";
import type { LedgerWrite } from "../../../src/db/index.ts";
import { addMetricRule, type MetricRule } from "../../../src/modules/alerts/metric-rules.ts";
import { UsageRollup } from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { endOf, openOf } from "../db/facts.ts";
import { fixture, hour, minute, usd } from "./fixture.ts";

const day = 24 * hour;

/** A call, as the reference computation knows it. */
interface Past {
  readonly at: number;
  readonly cost: number;
  readonly accountId: string;
}

/** A gateway with a history of calls, whose sums are up to date. */
async function historyFixture() {
  const base = await fixture();
  const { store, clock, deps } = base;
  const rollup = new UsageRollup({ store, retentionDays: 60, now: () => clock.now, log: deps.log });
  let count = 0;
  const record = async (calls: readonly Past[]) => {
    const writes = calls.flatMap(({ at, cost, accountId }): LedgerWrite[] => {
      count += 1;
      const id = `${callIdPrefix(at)}${String(count).padStart(16, "0")}`;
      const open = openOf(id, { accountId, keyId: `key_of_${accountId}`, openedAt: at });
      return [open, endOf(open, { settledAt: at + 100, chargedNanodollars: 0, costNanodollars: cost })];
    });
    for (let from = 0; from < writes.length; from += 200) await recordCalls(store, writes.slice(from, from + 200));
    for (const _ of calls) rollup.add();
    await rollup.flush();
  };
  return { ...base, record };
}

const spendTripled = {
  ...{ name: "Spend", metric: "spend", scope: "gateway", subject: "", comparison: "above", threshold: 300 },
  ...{ baselineDays: 7, minimum: 5 * usd, minutes: 1440, callsMin: 20, severity: "warning", isEnabled: true },
} as const satisfies Omit<MetricRule, "id">;

/** The same in the plainest way: whether a rule is to fire at a time. */
function expectFiring(rule: Omit<MetricRule, "id">, calls: readonly Past[], now: number): boolean {
  const hours = rule.minutes / 60;
  const running = Math.floor(now / hour);
  const end = rule.comparison === "above" ? running + 1 : running;
  const sumOf = (back: number) => {
    const own = calls.filter(({ at, accountId }) => {
      const inScope = rule.scope === "gateway" || accountId === rule.subject;
      const place = Math.floor(at / hour) + back * 24;
      return inScope && place >= end - hours && place < end;
    });
    return {
      calls: own.length,
      value: rule.metric === "calls" ? own.length : own.reduce((sum, { cost }) => sum + cost, 0),
    };
  };
  let [sum, days] = [0, 0];
  for (let back = 1; back <= rule.baselineDays; back++) {
    const { calls: count, value } = sumOf(back);
    sum += value;
    if (count > 0) days = back;
  }
  const average = days === 0 ? 0 : sum / days;
  const { value } = sumOf(0);
  const bound = (average * rule.threshold) / 100;
  if (rule.comparison === "above") return value > bound && value >= rule.minimum;
  return value < bound && average >= rule.minimum;
}

/** Random numbers that are the same each time. */
function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

describe("a rule relative to the same hours before", () => {
  test("fires when the spend of a day is more than three times that of the last seven days, and at least 5 USD", async () => {
    const { store, clock, channel, round, record } = await historyFixture();
    await channel();
    await addMetricRule(store, spendTripled, 1);
    const calls = (back: number, cost: number) => ({ at: clock.now - back * day - hour, cost, accountId: "acc_1" });
    await record([1, 2, 3, 4, 5, 6, 7].map((back) => calls(back, 2 * usd)));
    await record([calls(0, 6 * usd)]);
    expect(await round()).toEqual([]);
    await record([calls(0, usd)]);
    const [text] = await round();
    expect(text).toBe(
      "modelgate: Spend: spend $7.00 in 24 hours, above 3 × the $2.00 of the same hours of the 7 days before, on average",
    );
  });

  test("of an account without a past fires by its minimum alone, and days before its first calls do not count", async () => {
    const { store, clock, channel, round, record } = await historyFixture();
    await channel();
    const rule = { ...spendTripled, scope: "account", subject: "acc_new" } as const;
    await record([{ at: clock.now - minute, cost: 4 * usd, accountId: "acc_new" }]);
    await addMetricRule(store, rule, 1);
    expect(await round()).toEqual([]);
    await record([{ at: clock.now - minute, cost: usd, accountId: "acc_new" }]);
    expect((await round()).join()).toContain("of account acc_new@test (acc_new) $5.00");
    // A day later the account has one day of a past, and 12 USD are not three times 5 USD.
    clock.now += day;
    await record([{ at: clock.now - minute, cost: 12 * usd, accountId: "acc_new" }]);
    expect((await round()).join()).toContain("Resolved");
  });

  test("below looks at whole hours, so that the start of an hour is no alert", async () => {
    const { store, clock, channel, round, record } = await historyFixture();
    await channel();
    const quiet = { ...spendTripled, name: "Quiet", metric: "calls", comparison: "below", minutes: 60 } as const;
    await addMetricRule(store, { ...quiet, threshold: 50, minimum: 10, baselineDays: 1 }, 1);
    const many = (at: number, count: number) => Array.from({ length: count }, () => ({ at, cost: 0, accountId: "a" }));
    // Twelve calls yesterday in each of three hours, and today in the first of them.
    for (let place = 0; place < 3; place++) await record(many(clock.now - day + place * hour, 12));
    await record(many(clock.now, 12));
    expect(await round(hour + minute)).toEqual([]);
    expect((await round(hour)).join()).toContain(
      "Quiet: calls 0 in an hour, below 0.5 × the 12 of the same hours of the day before",
    );
  });

  test.each([1, 2, 3, 4])(
    "fires as a plain computation over all calls says, on random histories (%p)",
    async (seed) => {
      const { store, clock, alerts, record } = await historyFixture();
      const random = createRandom(seed);
      const calls: Past[] = [];
      const daysBack = 1 + random(9);
      for (let count = 0; count < 300; count++) {
        const at = clock.now - random(daysBack * 24) * hour - random(60) * minute;
        const isBurst = random(10) === 0;
        calls.push({
          at: isBurst ? clock.now - random(120) * minute : at,
          cost: random(usd),
          accountId: `acc_${random(3)}`,
        });
      }
      await record(calls);
      const rules: (Omit<MetricRule, "id"> & { id: string })[] = [];
      for (let count = 0; count < 40; count++) {
        const isSpend = random(2) === 0;
        const rule = {
          ...spendTripled,
          name: `Rule ${count}`,
          metric: isSpend ? ("spend" as const) : ("calls" as const),
          ...(random(2) === 0 ? { scope: "account" as const, subject: `acc_${random(4)}` } : {}),
          comparison: random(2) === 0 ? ("above" as const) : ("below" as const),
          threshold: 10 + random(400),
          baselineDays: [1, 7, 28][random(3)] as number,
          minimum: 1 + random(isSpend ? 20 * usd : 30),
          minutes: [60, 1440][random(2)] as number,
        };
        rules.push(await addMetricRule(store, rule, count));
      }
      clock.now += random(90) * minute;
      await alerts.evaluate();
      const rows = await store.db.selectFrom("alerts").select("subject_key").where("rule", "=", "metric").execute();
      const expected = rules.filter((rule) => expectFiring(rule, calls, clock.now)).map(({ id }) => id);
      expect(rows.map(({ subject_key: id }) => id).sort()).toEqual(expected.sort());
      expect(expected.length).toBeGreaterThan(0);
      expect(expected.length).toBeLessThan(40);
    },
  );
});

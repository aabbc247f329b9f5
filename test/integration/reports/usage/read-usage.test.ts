import { expect, test } from "bun:test";
import type { Store } from "../../../../src/db/index.ts";
import { readUsageBuckets, type UsageBucket } from "../../../../src/reports/index.ts";
import { recordCalls } from "../../../support/payers.ts";
import { insertUsage, rollUp } from "../../../support/usage.ts";
import { endOf, openOf } from "../../db/facts.ts";
import { temporaryStore } from "../../db/temporary-store.ts";

const day = 20_000;

/** Sums of one call each: ten tokens in, one out, a nanodollar. */
async function count(store: Store, accountId: string, hours: readonly number[], model = "chat-1"): Promise<void> {
  const money = { cost_nanodollars: 1, charged_nanodollars: 1 };
  const one = { requests: 1, input_tokens: 10, output_tokens: 1, ...money };
  for (const hour of hours) await insertUsage(store, [{ accountId, hour, model, ...one }]);
}

test.each<[UsageBucket, number[]]>([
  ["hourly", [1, ...Array(22).fill(0), 1, 2, ...Array(23).fill(0)]],
  ["daily", [2, 2]],
  ["yearly", [4]],
])("usage is read %s from the sums of the account alone, within the span alone", async (period, expected) => {
  const store = await temporaryStore();
  await count(store, "ada", [day * 24 - 1, day * 24, day * 24 + 23, day * 24 + 24, (day + 2) * 24]);
  await count(store, "ada", [day * 24 + 24], "chat-2");
  await count(store, "ben", [day * 24 + 1]);
  const { totals, buckets } = await readUsageBuckets(store, "ada", { period, startDay: day, endDay: day + 1 });
  expect(buckets.map(({ figures }) => figures.requests)).toEqual(expected);
  expect(totals.figures).toMatchObject({ requests: 4, input_tokens: 40, output_tokens: 4, charged_nanodollars: 4 });
  expect([...totals.byModel.keys()]).toEqual(["chat-1", "chat-2"]);
});

test.each<UsageBucket>(["hourly", "daily"])(
  "usage read %s has a call from its end on, before and after it is summed up",
  async (period) => {
    const store = await temporaryStore();
    const openedAt = day * 86_400_000 + 5 * 3_600_000;
    const requests = async () => {
      const { totals, buckets } = await readUsageBuckets(store, "acc_1", { period, startDay: day, endDay: day });
      expect(buckets[period === "hourly" ? 5 : 0]?.figures).toEqual(totals.figures);
      return [
        totals.figures.requests,
        totals.figures.failures,
        totals.figures.input_tokens,
        totals.figures.charged_nanodollars,
      ];
    };
    const ends = [
      endOf(openOf("a", { openedAt })),
      endOf(openOf("b", { openedAt }), { outcome: "released", chargedNanodollars: 0, meters: {} }),
    ];
    for (const end of ends) await recordCalls(store, [end.open, end]);
    expect(await requests()).toEqual([1, 1, 3, 10]);
    await rollUp(store);
    expect(await requests()).toEqual([1, 1, 3, 10]);
    const [later, foreign] = [openOf("c", { openedAt }), openOf("d", { openedAt, accountId: "acc_2" })];
    await recordCalls(store, [later, foreign, endOf(later), endOf(foreign)]);
    expect(await requests()).toEqual([2, 1, 6, 20]);
  },
);

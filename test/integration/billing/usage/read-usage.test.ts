import { expect, test } from "bun:test";
import { type Period, readUsage } from "../../../../src/billing/index.ts";
import type { Store } from "../../../../src/db/index.ts";
import { temporaryStore } from "../../db/temporary-store.ts";

const day = 20_000;

/** Rows of one call each: ten tokens in, one out, a nanodollar. */
async function count(store: Store, accountId: string, hours: readonly number[], model = "chat-1"): Promise<void> {
  const none = {
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
    image_output_tokens: 0,
    images: 0,
    audio_ms: 0,
    characters: 0,
    call_units: 0,
  };
  const one = { requests: 1, failures: 0, input_tokens: 10, output_tokens: 1, cost_nanodollars: 1 };
  const rows = hours.map((hour) => ({
    account_id: accountId,
    hour,
    model,
    ...none,
    ...one,
    charged_nanodollars: 1,
    quota_tokens: 0,
  }));
  await store.db.insertInto("usage_hours").values(rows).execute();
}

test.each<[Period, number[]]>([
  ["hourly", [1, ...Array(22).fill(0), 1, 2, ...Array(23).fill(0)]],
  ["daily", [2, 2]],
  ["yearly", [4]],
])("usage is read %s from the sums of the account alone, within the span alone", async (period, expected) => {
  const store = await temporaryStore();
  await count(store, "ada", [day * 24 - 1, day * 24, day * 24 + 23, day * 24 + 24, (day + 2) * 24]);
  await count(store, "ada", [day * 24 + 24], "chat-2");
  await count(store, "ben", [day * 24 + 1]);
  const { totals, buckets } = await readUsage(store, "ada", { period, startDay: day, endDay: day + 1 });
  expect(buckets.map(({ figures }) => figures.requests)).toEqual(expected);
  expect(totals.figures).toMatchObject({ requests: 4, input_tokens: 40, output_tokens: 4, charged_nanodollars: 4 });
  expect([...totals.byModel.keys()]).toEqual(["chat-1", "chat-2"]);
});

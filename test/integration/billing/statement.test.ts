import { expect, test } from "bun:test";
import { createAccounts } from "../../../src/accounts/index.ts";
import { creditWallet, readStatement } from "../../../src/billing/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const dayMs = 86_400_000;

test("a statement has a line a movement and a line a day of charges, and ends with the balance", async () => {
  const store = await temporaryStore();
  const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
  const { id: accountId } = await createAccounts({ store, defaults }).create({ email: "ada@example.org" });
  await creditWallet(store, { accountId, nanodollars: 100, note: "first" }, () => 5);
  await creditWallet(store, { accountId, nanodollars: -10, note: "back" }, () => dayMs + 5);
  const none = {
    failures: 0,
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
  const one = { ...none, requests: 1, input_tokens: 1, output_tokens: 1, quota_tokens: 0 };
  const charges = [
    { hour: 3, model: "a", nanodollars: 7 },
    { hour: 23, model: "b", nanodollars: 2 },
    { hour: 24, model: "a", nanodollars: 1 },
    { hour: 48, model: "free", nanodollars: 0 },
  ];
  for (const { hour, model, nanodollars } of charges) {
    const money = { cost_nanodollars: nanodollars, charged_nanodollars: nanodollars };
    await store.db
      .insertInto("usage_hours")
      .values({ account_id: accountId, hour, model, ...one, ...money })
      .execute();
  }
  expect(await readStatement(store, accountId)).toEqual([
    { at: 2 * dayMs - 1, kind: "charges", nanodollars: -1, note: undefined, balanceNanodollars: 80 },
    { at: dayMs + 5, kind: "debit", nanodollars: -10, note: "back", balanceNanodollars: 81 },
    { at: dayMs - 1, kind: "charges", nanodollars: -9, note: undefined, balanceNanodollars: 91 },
    { at: 5, kind: "credit", nanodollars: 100, note: "first", balanceNanodollars: 100 },
  ]);
});

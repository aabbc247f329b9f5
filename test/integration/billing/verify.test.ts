import { expect, test } from "bun:test";
import { sql } from "kysely";
import { verifyLedger } from "../../../src/billing/index.ts";
import { addAccount, createAdmission, createSettlement, ledgerFixture, newYear } from "./fixture.ts";

/** A ledger with a settled premium call, a settled free one, a released one and one that is running. */
async function books() {
  const fixture = await ledgerFixture();
  await addAccount(fixture.store, "acc_1", 100);
  const [paid, free, released, running] = [
    createAdmission({ callId: "paid", keyLimits: { budgetNanodollars: 100 } }),
    createAdmission({ callId: "free", premium: false }),
    createAdmission({ callId: "released" }),
    createAdmission({ callId: "running" }),
  ];
  for (const admission of [paid, free, released, running]) await fixture.ledger.admit(admission);
  await fixture.ledger.settle(createSettlement("paid"));
  await fixture.ledger.settle(createSettlement("free"));
  await fixture.ledger.settle(createSettlement("released", { outcome: "released", meters: {}, usageSource: "none" }));
  return fixture;
}

test("a true ledger is reported as true, with how much was read", async () => {
  const { store } = await books();
  expect(await verifyLedger(store)).toEqual({
    ok: true,
    differences: [],
    counts: { wallets: 1, entries: 2, calls: 4, open: 1, abandoned: 0, pruned: 0 },
  });
});

const hour = newYear / 3_600_000;
const day = newYear / 86_400_000;

test.each([
  [
    "update wallets set balance_nanodollars = 91",
    ["Wallet of acc_1: balance_nanodollars is 91, entries sum to 90 (calls paid)"],
  ],
  ["delete from wallets", ["Wallet of acc_1: balance_nanodollars is 0, entries sum to 90 (calls paid)"]],
  [
    "delete from entries where kind = 'charge'",
    [
      "Wallet of acc_1: balance_nanodollars is 90, entries sum to 100",
      "Call paid: charged_nanodollars is 10, its entry says 0",
    ],
  ],
  [
    "insert into entries (id, account_id, kind, amount_nanodollars, at) values ('ghost', 'acc_1', 'charge', -5, 0)",
    [
      "Wallet of acc_1: balance_nanodollars is 90, entries sum to 85 (calls paid, ghost)",
      "Call ghost: charged_nanodollars is 0, its entry says 5",
    ],
  ],
  [
    "update calls set cost_nanodollars = 12 where id = 'paid'",
    [
      "Call paid: charged_nanodollars is 10, its cost is 12",
      `Usage of acc_1 in hour ${hour} of model-1: cost_nanodollars is 30, calls sum to 32 (calls released, paid, free)`,
    ],
  ],
  [
    "update calls set charged_nanodollars = 3 where id = 'released'",
    [
      "Call released: charged_nanodollars is 3, its entry says 0",
      "Call released: charged_nanodollars is 3, its cost is 0",
      `Usage of acc_1 in hour ${hour} of model-1: charged_nanodollars is 10, calls sum to 13 (calls released, paid, free)`,
    ],
  ],
  [
    "update daily_quota_usage set used_tokens = 0",
    [`Quota of acc_1 on day ${day}: used_tokens is 0, calls sum to 10 (calls free)`],
  ],
  [
    "update key_budget_usage set spent_nanodollars = 9",
    [`Budget of key key_1 in the period from day ${day}: spent_nanodollars is 9, calls sum to 10 (calls paid)`],
  ],
  [
    "delete from key_budget_usage",
    [`Budget of key key_1 in the period from day ${day}: spent_nanodollars is 0, calls sum to 10 (calls paid)`],
  ],
  [
    "update usage_hours set requests = 3, failures = 0",
    [
      `Usage of acc_1 in hour ${hour} of model-1: requests is 3, calls sum to 2 (calls released, paid, free)`,
      `Usage of acc_1 in hour ${hour} of model-1: failures is 0, calls sum to 1 (calls released, paid, free)`,
    ],
  ],
  [
    "update usage_days set quota_tokens = quota_tokens - 1",
    [`Usage of acc_1 on day ${day} of model-1: quota_tokens is 9, hours sum to 10`],
  ],
  [
    "update usage_days set day = day + 1, requests = 0, failures = 0, input_tokens = 0, quota_tokens = 0, cost_nanodollars = 0",
    [
      `Usage of acc_1 on day ${day} of model-1: requests is 0, hours sum to 2`,
      `Usage of acc_1 on day ${day} of model-1: failures is 0, hours sum to 1`,
      `Usage of acc_1 on day ${day} of model-1: input_tokens is 0, hours sum to 2`,
      `Usage of acc_1 on day ${day} of model-1: cost_nanodollars is 0, hours sum to 30`,
      `Usage of acc_1 on day ${day} of model-1: charged_nanodollars is 0, hours sum to 10`,
      `Usage of acc_1 on day ${day} of model-1: quota_tokens is 0, hours sum to 10`,
      `Usage of acc_1 on day ${day + 1} of model-1: charged_nanodollars is 10, hours sum to 0`,
    ],
  ],
])("after “%s” the difference is told", async (tampering, differences) => {
  const { store } = await books();
  await sql.raw(tampering).execute(store.db);
  const verification = await verifyLedger(store);
  expect(verification.differences).toEqual(differences);
  expect(verification.ok).toBe(false);
});

test("of a sum over many calls the newest ten are named", async () => {
  const { store, ledger } = await ledgerFixture();
  for (let i = 10; i < 22; i++) {
    await ledger.admit(createAdmission({ callId: `c${i}`, premium: false, freeTokensPerDay: 1000 }));
    await ledger.settle(createSettlement(`c${i}`, { quotaTokens: 1 }));
  }
  await sql.raw("update daily_quota_usage set used_tokens = 0").execute(store.db);
  expect((await verifyLedger(store)).differences).toEqual([
    `Quota of acc_1 on day ${day}: used_tokens is 0, calls sum to 12 (calls c21, c20, c19, c18, c17, c16, c15, c14, c13, c12 and more)`,
  ]);
});

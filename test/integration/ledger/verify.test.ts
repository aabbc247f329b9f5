import { expect, test } from "bun:test";
import { sql } from "kysely";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { rollUp } from "../../support/usage.ts";
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
  await rollUp(fixture.store);
  return fixture;
}

test("a true ledger is reported as true, with how much was read", async () => {
  const { store } = await books();
  expect(await verifyLedger(store, newYear)).toEqual({
    ok: true,
    differences: [],
    warnings: [],
    counts: { wallets: 1, transactions: 1, calls: 4, open: 1, abandoned: 0, pruned: 0 },
  });
});

const hour = newYear / 3_600_000;
const day = newYear / 86_400_000;

const ofDay = `Usage of acc_1 on day ${day} of model-1`;
const ofHour = `Usage of acc_1 in hour ${hour} of model-1`;
const ofAll = `Usage of all accounts on day ${day} of model-1`;
const ofKey = `Usage of key key_1 on day ${day}`;
const named = "(calls released, paid, free)";

test.each([
  [
    "update wallet_rows set balance_nanodollars = 91",
    ["Wallet of acc_1: balance_nanodollars is 91, transactions and charges sum to 90 (calls paid)"],
  ],
  [
    "delete from wallet_rows",
    ["Wallet of acc_1: balance_nanodollars is 0, transactions and charges sum to 90 (calls paid)"],
  ],
  [
    "delete from transactions",
    ["Wallet of acc_1: balance_nanodollars is 90, transactions and charges sum to -10 (calls paid)"],
  ],
  [
    "delete from call_rows where seq = (select seq from calls where id = 'paid')",
    [
      "Wallet of acc_1: balance_nanodollars is 90, transactions and charges sum to 100",
      `Charges of acc_1 on day ${day}: charged_nanodollars is 10, calls sum to 0`,
      `Charges of key key_1 on day ${day}: charged_nanodollars is 10, calls sum to 0`,
      ...[ofDay, ofHour].flatMap((usage) => [
        `${usage}: requests is 2, calls sum to 1 (calls released, free)`,
        `${usage}: input_tokens is 2, calls sum to 1 (calls released, free)`,
        `${usage}: cost_nanodollars is 30, calls sum to 20 (calls released, free)`,
        `${usage}: provider_cost_nanodollars is 30, calls sum to 20 (calls released, free)`,
        `${usage}: charged_nanodollars is 10, calls sum to 0 (calls released, free)`,
      ]),
    ],
  ],
  [
    "update call_rows set cost_nanodollars = 12 where seq = (select seq from calls where id = 'paid')",
    [
      "Call paid: charged_nanodollars is 10, its cost is 12",
      "Call paid: cost_nanodollars is 12, which is not provider_cost_nanodollars 10 with its markup",
      ...[ofDay, ofHour].map((usage) => `${usage}: cost_nanodollars is 30, calls sum to 32 ${named}`),
    ],
  ],
  [
    "update call_rows set provider_cost_nanodollars = 9 where seq = (select seq from calls where id = 'paid')",
    [
      "Call paid: cost_nanodollars is 10, which is not provider_cost_nanodollars 9 with its markup",
      ...[ofDay, ofHour].map((usage) => `${usage}: provider_cost_nanodollars is 30, calls sum to 29 ${named}`),
    ],
  ],
  [
    "update call_rows set markup_basis_points = 2000 where seq = (select seq from calls where id = 'paid')",
    ["Call paid: cost_nanodollars is 10, which is not provider_cost_nanodollars 10 with its markup"],
  ],
  [
    "update call_rows set charged_nanodollars = 3 where seq = (select seq from calls where id = 'released')",
    [
      "Wallet of acc_1: balance_nanodollars is 90, transactions and charges sum to 87 (calls released, paid)",
      "Call released: charged_nanodollars is 3, its cost is 0",
      `Charges of acc_1 on day ${day}: charged_nanodollars is 10, calls sum to 13 (calls released, paid)`,
      `Charges of key key_1 on day ${day}: charged_nanodollars is 10, calls sum to 13 (calls released, paid)`,
      ...[ofDay, ofHour].map((usage) => `${usage}: charged_nanodollars is 10, calls sum to 13 ${named}`),
    ],
  ],
  [
    "update spending set spent_nanodollars = 11 where subject_id = account_id",
    [`Charges of acc_1 on day ${day}: charged_nanodollars is 11, calls sum to 10 (calls paid)`],
  ],
  [
    "update daily_quota_usage set used_tokens = 0",
    [`Quota of acc_1 on day ${day}: used_tokens is 0, calls sum to 10 (calls free)`],
  ],
  [
    "update spending set spent_nanodollars = 9 where subject_id <> account_id",
    [`Charges of key key_1 on day ${day}: charged_nanodollars is 9, calls sum to 10 (calls paid)`],
  ],
  [
    "delete from spending where subject_id <> account_id",
    [`Charges of key key_1 on day ${day}: charged_nanodollars is 0, calls sum to 10 (calls paid)`],
  ],
  [
    "update usage_rows set requests = requests + 1 where hours = 1 and kind = 'call' and status = 200 and account_id <> ''",
    [`${ofHour}: requests is 3, calls sum to 2 ${named}`],
  ],
  [
    "update usage_rows set requests = requests + 1 where hours = 24 and kind = 'call' and status = 200 and account_id <> ''",
    [
      `${ofDay}: requests is 3, calls sum to 2 ${named}`,
      `${ofAll}: requests is 2, accounts sum to 3`,
      `${ofKey}: requests is 2, its models sum to 3`,
    ],
  ],
  [
    "update usage_rows set failures = 0 where hours = 24 and kind = 'key'",
    [`${ofKey}: failures is 0, its models sum to 1`],
  ],
  [
    "update usage_progress set seq = seq - 1",
    [ofDay, ofHour].flatMap((usage) => [
      `${usage}: failures is 1, calls sum to 0 (calls paid, free)`,
      `${usage}: cost_nanodollars is 30, calls sum to 20 (calls paid, free)`,
      `${usage}: provider_cost_nanodollars is 30, calls sum to 20 (calls paid, free)`,
    ]),
  ],
])("after “%s” the difference is told", async (tampering, differences) => {
  const { store } = await books();
  await sql.raw(tampering).execute(store.db);
  const verification = await verifyLedger(store);
  expect(verification.differences).toEqual(differences);
  expect(verification.ok).toBe(false);
});

test("quotas and budgets of a clock that was ahead are named, and differ from nothing", async () => {
  const { store } = await books();
  const dayMs = 86_400_000;
  // A clock may be a day ahead of another.
  expect((await verifyLedger(store, newYear - dayMs)).warnings).toEqual([]);
  const { ok, warnings } = await verifyLedger(store, newYear - 400 * dayMs);
  expect(ok).toBe(true);
  const said = "is of 2026-01-01, 400 days ahead: a clock was wrong, and what it used counts";
  expect(warnings).toEqual([`Quota of acc_1 ${said} once, and no more`, `Spending of acc_1 ${said} once, and no more`]);
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

const keyOfOther = "(select no from payers where id = 'key_1 of acc_2')";
const noAccount = "there is no such account";

test.each([
  [
    "update call_rows set account_id = 7 where seq = (select seq from calls where id = 'paid')",
    `Calls of account with the number 7: ${noAccount} (calls paid)`,
  ],
  [
    "update call_rows set account_id = (select no from payers where id = 'key_1') where seq = (select seq from calls where id = 'paid')",
    `Calls of account key_1: ${noAccount} (calls paid)`,
  ],
  [
    `update call_rows set key_id = ${keyOfOther} where seq = (select seq from calls where id = 'paid')`,
    "Calls of key key_1 of acc_2: it is not a key of account acc_1 (calls paid)",
  ],
  ["update open_call_rows set key_id = 7", "Running calls of key with the number 7: it is not a key of account acc_1"],
  [
    "insert into wallet_rows (account_id, balance_nanodollars) values (7, 5)",
    `Wallet of account with the number 7: ${noAccount}`,
  ],
  [
    "insert into spending values (7, 7, '', 1, 5, null, null, null)",
    `Charges of account with the number 7: ${noAccount}`,
  ],
  ["update transactions set account_id = 'nobody'", `Transactions of account nobody: ${noAccount}`],
  [
    "update daily_quota_usage set account_id = 'nobody' where account_id = 'acc_1'",
    `Quota of account nobody: ${noAccount}`,
  ],
  [
    "update spending set subject_id = 7 where subject_id <> account_id",
    "Charges of the number 7: it is neither account, key nor budget of account acc_1",
  ],
  [
    "update usage_rows set key_id = 'key_1 of acc_2' where key_id = 'key_1' and kind = 'key'",
    "Usage of key key_1 of acc_2: it is not a key of account acc_1",
  ],
  [
    "update usage_rows set account_id = 'nobody' where account_id = 'acc_1' and kind = 'key'",
    `Usage of account nobody: ${noAccount}`,
  ],
])("after “%s” the row that belongs to nobody is reported", async (change, difference) => {
  const { store, ledger } = await books();
  const admission = createAdmission({ callId: "of another", accountId: "acc_2", premium: false });
  await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId));
  await rollUp(store);
  expect((await verifyLedger(store)).differences).toEqual([]);
  await sql.raw(change).execute(store.db);
  expect((await verifyLedger(store)).differences).toContain(difference);
});

test("rows of a key that was deleted after it had ended are those of its account", async () => {
  const { store, ledger } = await books();
  await ledger.settle(createSettlement("running"));
  await rollUp(store);
  await sql`delete from keys where id = 'key_1'`.execute(store.db);
  expect((await verifyLedger(store)).differences).toEqual([]);
});

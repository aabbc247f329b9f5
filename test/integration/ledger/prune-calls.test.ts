import { expect, test } from "bun:test";
import { sql } from "kysely";
import { toPayerNumber } from "../../../src/db/index.ts";
import { createPruner, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { addPayers } from "../../support/payers.ts";
import { rollUp } from "../../support/usage.ts";
import {
  addAccount,
  type BillingFixture,
  createAdmission,
  createSettlement,
  dayMs,
  ledgerFixture,
  newYear,
} from "./fixture.ts";

/** Makes a call that begins now and ends after a while. */
async function call(
  { ledger, clock }: BillingFixture,
  accountId: string,
  fields: { premium?: boolean; lastsMs?: number } = {},
) {
  const keyLimits = { budgetNanodollars: 1e9 };
  const admission = createAdmission({
    accountId,
    keyLimits,
    keyId: `key_${accountId}`,
    premium: fields.premium ?? true,
    openedAt: clock.time,
  });
  await ledger.admit(admission);
  clock.time += fields.lastsMs ?? 5;
  await ledger.settle(createSettlement(admission.callId));
  return admission.callId;
}

/** Takes steps until one deletes nothing, and verifies the ledger after each. */
async function pruneAll({ store }: BillingFixture, now: number): Promise<number> {
  const step = createPruner({ store, retentionDays: 90, now: () => now });
  let pruned = 0;
  while (true) {
    const count = await step();
    expect((await verifyLedger(store)).differences).toEqual([]);
    if (count === 0) return pruned;
    pruned += count;
  }
}

/** Two accounts with calls on the first days of a year, one that lasts over midnight, and one that never ended. */
async function books(): Promise<BillingFixture> {
  const fixture = await ledgerFixture();
  for (const id of ["acc_1", "acc_2"]) {
    await addAccount(fixture.store, id, 1000);
    await addPayers(fixture.store, { [id]: [`key_${id}`] });
  }
  for (let day = 0; day < 4; day++) {
    fixture.clock.time = newYear + day * dayMs + 3_600_000;
    for (const id of ["acc_1", "acc_2"]) {
      await call(fixture, id);
      await call(fixture, id, { premium: false });
    }
  }
  fixture.clock.time = newYear + dayMs - 1;
  await call(fixture, "acc_1", { lastsMs: 2 });
  await fixture.ledger.admit(createAdmission({ callId: "running", openedAt: newYear }));
  await rollUp(fixture.store);
  return fixture;
}

const idsOf = async ({ store }: BillingFixture) => (await store.db.selectFrom("calls").select("id").execute()).length;

test("calls older than the retention go, whole days of them, and the ledger still verifies after every step", async () => {
  const fixture = await books();
  expect(await pruneAll(fixture, newYear + 90 * dayMs - 1)).toBe(0);
  // Of the first day: four calls. The one that ended after midnight, and the one that runs, stay.
  expect(await pruneAll(fixture, newYear + 91 * dayMs)).toBe(4);
  expect(await pruneAll(fixture, newYear + 91 * dayMs)).toBe(0);
  expect(await idsOf(fixture)).toBe(13);
  // The one that ended after midnight was counted last, and stays.
  expect(await pruneAll(fixture, newYear + 93 * dayMs)).toBe(8);
  expect((await verifyLedger(fixture.store)).counts).toMatchObject({ calls: 6, pruned: 12, open: 1 });
  expect(await readWalletState(fixture.store, "acc_1")).toMatchObject({ balanceNanodollars: 950, heldNanodollars: 10 });
});

test("a call stays until it is counted, and the last one that was counted", async () => {
  const fixture = await ledgerFixture();
  await addAccount(fixture.store, "acc_1", 1000);
  await addPayers(fixture.store, { acc_1: ["key_acc_1"] });
  const first = await call(fixture, "acc_1");
  expect(await pruneAll(fixture, newYear + 400 * dayMs)).toBe(0);
  await rollUp(fixture.store);
  expect(await pruneAll(fixture, newYear + 400 * dayMs)).toBe(0);
  const second = await call(fixture, "acc_1");
  await rollUp(fixture.store);
  const ids = async () => (await fixture.store.db.selectFrom("calls").select("id").execute()).map(({ id }) => id);
  expect((await ids()).sort()).toEqual([first, second].sort());
  expect(await pruneAll(fixture, newYear + 400 * dayMs)).toBe(1);
  expect(await ids()).toEqual([second]);
});

test("roll-ups and movements of money stay", async () => {
  const fixture = await books();
  const counted = async () =>
    (
      await sql`select (select count(*) from usage) as sums, (select count(*) from daily_charges) as days, (select count(*) from transactions) as transactions`.execute(
        fixture.store.db,
      )
    ).rows;
  const before = await counted();
  await pruneAll(fixture, newYear + 400 * dayMs);
  expect(await counted()).toEqual(before);
});

test("a call that runs while its day is pruned is charged when it ends", async () => {
  const fixture = await books();
  await pruneAll(fixture, newYear + 400 * dayMs);
  await fixture.ledger.settle(createSettlement("running"));
  expect((await verifyLedger(fixture.store)).differences).toEqual([]);
  await rollUp(fixture.store);
  // What was counted last before.
  expect(await pruneAll(fixture, newYear + 800 * dayMs)).toBe(1);
});

test.each([
  [
    "update usage_rows set requests = requests + 1 where hours = 24 and account_id = 'acc_1' and hour < 490900",
    "Usage of acc_1 before day",
  ],
  [
    "update daily_quota_usage set used_tokens = used_tokens + 1 where account_id = 'acc_2'",
    "Quota of acc_2 before day",
  ],
  [
    "update spending set spent_nanodollars = 1 where account_id = subject_id and account_id = (select no from payers where id = 'acc_2')",
    "Charges of acc_2 before day",
  ],
  ["update opening_balances set charged_nanodollars = 1 where account_id = 'acc_2'", "Wallet of acc_2"],
  [
    "update spending set spent_nanodollars = 1 where subject_id = (select no from payers where id = 'key_acc_2')",
    "Charges of the keys of acc_2 before day",
  ],
])("after “%s” the difference is told, though the calls are gone", async (tampering, told) => {
  const fixture = await books();
  await pruneAll(fixture, newYear + 400 * dayMs);
  await sql.raw(tampering).execute(fixture.store.db);
  expect((await verifyLedger(fixture.store)).differences.join("\n")).toContain(told);
});

test("a large account is pruned in cuts", async () => {
  const fixture = await ledgerFixture();
  await addAccount(fixture.store, "acc_1", 1e6);
  const claims = Array.from({ length: 1100 }, () => createAdmission());
  await Promise.all(claims.map((admission) => fixture.ledger.admit(admission)));
  await Promise.all(claims.map(({ callId }) => fixture.ledger.settle(createSettlement(callId))));
  await rollUp(fixture.store);
  const step = createPruner({ store: fixture.store, retentionDays: 90, now: () => newYear + 200 * dayMs });
  expect([await step(), await step(), await step(), await step()]).toEqual([500, 500, 99, 0]);
});

test("a pass over all accounts takes many short steps, and rests for an hour when it is through", async () => {
  const fixture = await ledgerFixture();
  const clock = { time: newYear + 200 * dayMs };
  const end = async (callId: string, at: number) => {
    fixture.clock.time = at;
    await fixture.ledger.settle(createSettlement(callId));
  };
  // In the order in which a pass takes them.
  const accountIds = Array.from({ length: 60 }, (_, i) => `acc_${i}`).sort(
    (a, b) => toPayerNumber(a) - toPayerNumber(b),
  );
  for (const [i, accountId] of accountIds.entries()) {
    const openedAt = i === 1 || i === 55 ? newYear : clock.time;
    await addAccount(fixture.store, accountId);
    await fixture.ledger.admit(createAdmission({ callId: `c${i}`, accountId, premium: false, openedAt }));
    if (i !== 1) await end(`c${i}`, openedAt);
    fixture.clock.time = newYear;
  }
  await rollUp(fixture.store);
  const step = createPruner({ store: fixture.store, retentionDays: 90, now: () => clock.time });
  expect([await step(), await step()]).toEqual([0, 1]);
  await end("c1", newYear);
  await fixture.ledger.admit(
    createAdmission({ callId: "last", accountId: accountIds[1] as string, premium: false, openedAt: clock.time }),
  );
  await end("last", clock.time);
  await rollUp(fixture.store);
  expect([await step(), await step()]).toEqual([0, 0]);
  clock.time += 3_600_000;
  expect(await step()).toBe(1);
});

import { expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import type { Budget } from "../../../src/contract/index.ts";
import { addPayingAccount, type Store, toPayerNumber } from "../../../src/db/index.ts";
import { eachAccount, readNearestBudgets } from "../../../src/tenants/index.ts";
import { createBudget } from "../../support/budgets.ts";
import { addCharge } from "../../support/ledger-rows.ts";
import { addPayers } from "../../support/payers.ts";
import { temporaryStore } from "../db/temporary-store.ts";

/** Noon of a Wednesday in the middle of a month. */
const now = Date.parse("2026-11-18T12:00:00Z");
const today = Math.floor(now / 86_400_000);

type NewBudget = Pick<Budget, "subject" | "limitNanodollars"> & Partial<Budget>;
const make = (store: Store, accountId: string, budget: NewBudget) =>
  createBudget(store, { by: commandLine, accountId, period: "month", ...budget }, now);

/** Enters what a key, or a name that a budget counts, spent today. */
async function addSpent({ db }: Store, owner: string, subject: string, [name, spent]: readonly [string, number]) {
  await addPayingAccount(db, owner);
  const { no } = await db
    .selectFrom("budgets")
    .select("no")
    .where("id", "=", subject)
    .executeTakeFirst()
    .then((row) => row ?? { no: toPayerNumber(subject) });
  const row = { account_id: toPayerNumber(owner), subject_id: no, name, day: today, spent_nanodollars: spent };
  await db
    .insertInto("spending")
    .values({ ...row, first_at: now, last_at: now, counted_day: null })
    .execute();
  const isKey = subject.startsWith("k");
  if (isKey) {
    const key = { no: toPayerNumber(subject), id: subject, account_no: toPayerNumber(owner) };
    await db
      .insertInto("payers")
      .values(key)
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
  }
}

/** Each budget in words, with its amount and its largest spender. */
const near = async (store: Store, limit = 100) =>
  (await readNearestBudgets(store, { limit, now })).map(({ budget, limitNanodollars, top }) => [
    [budget.account_id, budget.subject, budget.name ?? "each"].filter((text) => text !== "").join(" "),
    limitNanodollars,
    ...(top === undefined ? [] : [top.accountId, top.name, top.spentNanodollars]),
  ]);

test("budgets of the gateway and of accounts are listed by the share that their largest spender has spent", async () => {
  const store = await temporaryStore();
  await addPayers(store, { ada: ["k1", "k2"], ben: ["k3"] });
  await make(store, eachAccount, { subject: "account", limitNanodollars: 1000 });
  await make(store, eachAccount, { subject: "key", limitNanodollars: 1000 });
  const sessions = await make(store, eachAccount, { subject: "session", period: "session", limitNanodollars: 100 });
  await make(store, "ada", { subject: "account", limitNanodollars: 2000 });
  const users = await make(store, "ada", { subject: "end_user", period: "day", limitNanodollars: 100 });
  const eve = await make(store, "ada", { subject: "end_user", name: "eve", period: "day", limitNanodollars: 10 });
  await make(store, "ben", { subject: "key", name: "k3", limitNanodollars: 500 });
  await make(store, "ben", { subject: "tag", name: "idle", limitNanodollars: 5 });
  await addCharge(store, "ada", today, 600);
  await addCharge(store, "ben", today, 300);
  // Of another month.
  await addCharge(store, "ben", today - 40, 5000);
  await addSpent(store, "ada", "k1", ["", 350]);
  await addSpent(store, "ada", "k2", ["", 250]);
  await addSpent(store, "ben", "k3", ["", 450]);
  await addSpent(store, "ada", users.id, ["eve", 99]);
  await addSpent(store, "ada", users.id, ["ben@corp", 40]);
  await addSpent(store, "ada", users.id, ["", 20]);
  await addSpent(store, "ada", eve.id, ["eve", 7]);
  await addSpent(store, "ben", sessions.id, ["run", 55]);
  const all = [
    ["ben key k3", 500, "ben", "k3", 450],
    ["ada end_user eve", 10, "ada", "eve", 7],
    ["account each", 1000, "ada", "", 600],
    ["session each", 100, "ben", "run", 55],
    ["key each", 1000, "ben", "k3", 450],
    // Who has a budget by name is not one of each.
    ["ada end_user each", 100, "ada", "ben@corp", 40],
    ["ada account each", 2000, "ada", "", 600],
    ["ben tag idle", 5],
  ] satisfies unknown[];
  expect(await near(store)).toEqual(all);
  expect(await near(store, 3)).toEqual(all.slice(0, 3));
});

test("a raise counts, a budget of nothing is reached, and what is disabled or revoked is left out", async () => {
  const store = await temporaryStore();
  await addPayers(store, { ada: ["k1"], ben: ["k2"] });
  const raise = { nanodollars: 900, until: now + 60_000 };
  await make(store, "ada", { subject: "account", limitNanodollars: 100, raise });
  await make(store, "ada", { subject: "key", name: "k1", limitNanodollars: 100 });
  await make(store, "ada", { subject: "tag", limitNanodollars: 0 });
  await make(store, "ben", { subject: "account", limitNanodollars: 10 });
  await addCharge(store, "ada", today, 500);
  await addCharge(store, "ben", today, 10);
  const open = [
    ["ada tag each", 0],
    ["ben account each", 10, "ben", "", 10],
    ["ada account each", 1000, "ada", "", 500],
    ["ada key k1", 100],
  ];
  expect((await near(store)).toSorted()).toEqual(open.toSorted());
  await store.db.updateTable("accounts").set({ disabled_at: now }).where("id", "=", "ben").execute();
  await store.db.updateTable("keys").set({ revoked_at: now }).where("id", "=", "k1").execute();
  expect(await near(store)).toEqual([open[0], open[2]] as never);
});

test("the budget that stands in for the wallet of an account says so", async () => {
  const store = await temporaryStore();
  await addPayers(store, { ada: ["k1"] });
  await make(store, "ada", { subject: "account", limitNanodollars: 100 });
  await make(store, "ada", { subject: "account", period: "day", limitNanodollars: 10 });
  await store.db.updateTable("accounts").set({ billed_afterwards: 1 }).where("id", "=", "ada").execute();
  const rows = await readNearestBudgets(store, { limit: 9, now });
  const periods = new Map(rows.map(({ budget, replacesWallet }) => [budget.budget_period, replacesWallet]));
  expect([periods.get("month"), periods.get("day")]).toEqual([true, false]);
});

test("the nearest of hundreds of budgets are found behind many that are not in use", async () => {
  const store = await temporaryStore();
  const { db } = store;
  const ids = Array.from({ length: 300 }, (_, place) => `acc${place}`);
  await db
    .insertInto("accounts")
    .values(
      ids.map((id, created_at) => ({ id, email: `${id}@test`, created_at, disabled_at: created_at < 150 ? 1 : null })),
    )
    .execute();
  await db
    .insertInto("payers")
    .values(ids.map((id) => ({ id, no: toPayerNumber(id), account_no: toPayerNumber(id) })))
    .execute();
  const amount = { budget_nanodollars: 1000, budget_period: "month", key_id: null, counted_from: 0 } as const;
  await db
    .insertInto("budgets")
    .values(
      ids.map((id, no) => ({
        ...amount,
        id: `b${no}`,
        no,
        account_id: id,
        subject: "account",
        name: null,
        created_at: no,
      })),
    )
    .execute();
  const spent = { name: "", day: today, first_at: null, last_at: null, counted_day: null };
  await db
    .insertInto("spending")
    .values(
      ids.map((id, place) => {
        const no = toPayerNumber(id);
        return { ...spent, account_id: no, subject_id: no, spent_nanodollars: 1000 - place };
      }),
    )
    .execute();
  // The 150 that have spent the most belong to accounts that are disabled.
  expect((await near(store, 2)).map(([text]) => text)).toEqual(["acc150 account each", "acc151 account each"]);
  expect(await near(store, 500)).toHaveLength(150);
});

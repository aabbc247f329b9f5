import { randomBytes } from "node:crypto";
import type { Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { type Administrator, recordAudit } from "../audit/index.ts";
import {
  type BudgetSubject,
  budgetPeriods,
  budgetSubjects,
  formatUsd,
  GatewayError,
  isAmount,
  type SubjectBudget,
} from "../contract/index.ts";
import { type BudgetsTable, type Database, type Store, startOfPeriod, type TransactionScope } from "../db/index.ts";
import { isBehind } from "../db/page.ts";
import { lockManaged } from "./roles.ts";

/** A budget of a subject as it is stored. */
export interface StoredBudget extends SubjectBudget {
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The calls that a budget counts. They never change. */
export type BudgetTarget = Pick<SubjectBudget, "subject" | "name" | "keyId" | "period">;

/** Changes of a budget. An absent field stays as it is, and `null` ends a raise. */
export interface BudgetChanges {
  readonly limitNanodollars?: number | undefined;
  readonly raise?: SubjectBudget["raise"] | null;
}

type NewBudget = { readonly by: Administrator; readonly accountId: string } & BudgetTarget &
  Pick<SubjectBudget, "limitNanodollars" | "raise">;

/** Spending of one subject in the running period of a budget. */
export interface SpentBySubject {
  /** Empty: calls that named none. */
  readonly name: string;
  readonly spentNanodollars: number;
}

/** Budgets of one account: each call is compared with all of them. */
export const budgetsMax = 1000;
/** As long as a name can be that a call is counted by. */
const nameCharactersMax = 200;

/**
 * Creates a budget. Calls that ended before do not count.
 *
 * @throws {GatewayError} `invalid_request`; `conflict` when there is such a budget, or there are too many.
 */
export async function createBudget(
  store: TransactionScope,
  { by, accountId, ...fields }: NewBudget,
  now: number,
): Promise<StoredBudget> {
  checkBudget(fields, now);
  const row: BudgetsTable = {
    id: `bud_${randomBytes(9).toString("hex")}`,
    account_id: accountId,
    key_id: fields.keyId ?? null,
    subject: fields.subject,
    name: fields.name ?? null,
    budget_nanodollars: fields.limitNanodollars,
    budget_period: fields.period,
    ...raiseColumns(fields.raise ?? null),
    created_at: now,
  };
  await store.change(async (db) => {
    await lockManaged(db, by, accountId);
    if (row.key_id !== null) await expectKey(db, accountId, row.key_id, "api_key_id");
    if (row.subject === "key" && row.name !== null) await expectKey(db, accountId, row.name, "name");
    const present = await db.selectFrom("budgets").selectAll().where("account_id", "=", accountId).execute();
    if (present.some((one) => isSameTarget(one, row))) {
      throw new GatewayError("conflict", "There is a budget of this subject for this period; change it instead");
    }
    if (present.length >= budgetsMax) {
      throw new GatewayError("conflict", `The project has ${budgetsMax} budgets, its limit; delete one`);
    }
    await db.insertInto("budgets").values(row).execute();
    await record(db, by, "create", row, now);
  });
  return toBudget(row);
}

/** Changes a budget; what was spent stays. @throws {GatewayError} `invalid_request`, `not_found` */
export async function changeBudget(
  store: TransactionScope,
  { by, accountId, id, changes }: { by: Administrator; accountId: string; id: string; changes: BudgetChanges },
  now: number,
): Promise<StoredBudget> {
  checkChanges(changes, now);
  return await store.change(async (db) => {
    await lockManaged(db, by, accountId);
    const row = await db
      .updateTable("budgets")
      .set({
        id,
        ...(changes.limitNanodollars !== undefined && { budget_nanodollars: changes.limitNanodollars }),
        ...(changes.raise !== undefined && raiseColumns(changes.raise)),
      })
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownBudget(id);
    await record(db, by, "change", row, now);
    return toBudget(row);
  });
}

/** Deletes a budget and what it has counted. @throws {GatewayError} `not_found` */
export async function deleteBudget(
  store: TransactionScope,
  { by, accountId, id }: { by: Administrator; accountId: string; id: string },
  now: number,
): Promise<void> {
  await store.change(async (db) => {
    await lockManaged(db, by, accountId);
    const row = await db
      .deleteFrom("budgets")
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownBudget(id);
    await db.deleteFrom("budget_usage").where("budget_id", "=", id).execute();
    await record(db, by, "delete", row, now);
  });
}

/** One page of the budgets of some accounts or of all, oldest first. @param after The last one of the page before. */
export async function listBudgets(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[] | undefined,
  { limit, after }: { limit: number; after?: Pick<StoredBudget, "id" | "createdAt"> | undefined },
): Promise<StoredBudget[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("budgets").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  if (after !== undefined) {
    query = query.where(isBehind("created_at", "id", { ...after, created_at: after.createdAt }));
  }
  return (await query.orderBy("created_at").orderBy("id").limit(limit).execute()).map(toBudget);
}

/** @throws {GatewayError} `not_found` */
export async function readBudgetOf({ db }: Pick<Store, "db">, accountId: string, id: string): Promise<StoredBudget> {
  const row = await db
    .selectFrom("budgets")
    .selectAll()
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  if (row === undefined) throw unknownBudget(id);
  return toBudget(row);
}

/** Spending in the running period by the id of the budget. Budgets of each subject by itself are left out. */
export async function readSpentOfBudgets(
  { db }: Pick<Store, "db">,
  budgets: readonly SubjectBudget[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const ofOne = budgets.filter(({ subject, name }) => subject === "account" || name !== undefined);
  if (ofOne.length === 0) return new Map();
  const ids = ofOne.map(({ id }) => id);
  const rows = await db
    .selectFrom("budget_usage")
    .select(["budget_id", "period_start", "spent_nanodollars"])
    .where("budget_id", "in", ids)
    .execute();
  const spentOf = (budget: SubjectBudget) =>
    rows.find((row) => row.budget_id === budget.id && row.period_start === startOfPeriod(now, budget.period));
  return new Map(ofOne.map((budget) => [budget.id, spentOf(budget)?.spent_nanodollars ?? 0]));
}

/** The subjects that have spent the most of a budget in its running period. */
export async function readSpentBySubject(
  { db }: Pick<Store, "db">,
  budget: SubjectBudget,
  { limit, now }: { limit: number; now: number },
): Promise<SpentBySubject[]> {
  const rows = await db
    .selectFrom("budget_usage")
    .select(["name", "spent_nanodollars"])
    .where("budget_id", "=", budget.id)
    .where("period_start", "=", startOfPeriod(now, budget.period))
    .orderBy("spent_nanodollars", "desc")
    .orderBy("name")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ name: row.name, spentNanodollars: row.spent_nanodollars }));
}

/** Keys of an account have the same text mostly. */
const parsed = new LRUCache<string, readonly SubjectBudget[]>({ max: 1000 });

type BudgetOfKey = [
  id: string,
  subject: BudgetSubject,
  name: string | null,
  keyId: string | null,
  nanodollars: number,
  period: SubjectBudget["period"],
  raise: number | null,
  raiseUntil: number | null,
];

/** The budgets in a `KeyRecord`. */
export function readBudgetsOfKey(text: string): readonly SubjectBudget[] {
  const parsedBudgets = parsed.get(text);
  if (parsedBudgets !== undefined) return parsedBudgets;
  const budgets = (JSON.parse(text) as BudgetOfKey[]).map(
    ([id, subject, name, keyId, limitNanodollars, period, raise, until]) => ({
      id,
      subject,
      name: name ?? undefined,
      keyId: keyId ?? undefined,
      limitNanodollars,
      period,
      raise: raise === null || until === null ? undefined : { nanodollars: raise, until },
    }),
  );
  parsed.set(text, budgets);
  return budgets;
}

function toBudget(row: BudgetsTable): StoredBudget {
  const { raise_nanodollars: raise, raise_until: until } = row;
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id ?? undefined,
    subject: row.subject,
    name: row.name ?? undefined,
    limitNanodollars: row.budget_nanodollars,
    period: row.budget_period,
    raise: raise === null || until === null ? undefined : { nanodollars: raise, until },
    createdAt: row.created_at,
  };
}

function raiseColumns(raise: SubjectBudget["raise"] | null) {
  return { raise_nanodollars: raise?.nanodollars ?? null, raise_until: raise?.until ?? null };
}

function isSameTarget(a: BudgetsTable, b: BudgetsTable): boolean {
  return (["key_id", "subject", "name", "budget_period"] as const).every((column) => a[column] === b[column]);
}

async function expectKey(
  db: Transaction<Database>,
  accountId: string,
  keyId: string,
  param: "api_key_id" | "name",
): Promise<void> {
  const query = db.selectFrom("keys").select("id").where("id", "=", keyId).where("account_id", "=", accountId);
  if ((await query.executeTakeFirst()) === undefined) throw invalid(param, `the project has no key ${keyId}`);
}

/** Names that callers make up. */
const claimed: readonly BudgetSubject[] = ["end_user", "tag", "session"];

/** @throws {GatewayError} `invalid_request` for a budget that counts nothing, or that would keep a row for each name for ever. */
function checkTarget({ subject, name, keyId, period }: BudgetTarget): void {
  if (!budgetSubjects.includes(subject)) throw invalid("subject", `expected one of ${budgetSubjects.join(", ")}`);
  if (!budgetPeriods.includes(period)) throw invalid("budget_period", `expected one of ${budgetPeriods.join(", ")}`);
  if (subject === "account" && name !== undefined) throw invalid("name", "the budget of an account has no name");
  if ((subject === "account" || subject === "key") && keyId !== undefined) {
    throw invalid("api_key_id", "is for other subjects; the budget of one key has the subject key and its id as name");
  }
  if (name !== undefined && (name === "" || name.length > nameCharactersMax || !name.isWellFormed())) {
    throw invalid("name", `has ${name.length} characters, expected 1 to ${nameCharactersMax}`);
  }
  if (name === undefined && period === "lifetime" && claimed.includes(subject)) {
    const message = `of each ${subject.replace("_", " ")} lasts a day, a week or a month; one that never ends has a name`;
    throw invalid("budget_period", message);
  }
}

/** @throws {GatewayError} `invalid_request` for a budget that cannot be, whatever there is. */
export function checkBudget(budget: BudgetTarget & BudgetChanges, now: number): void {
  checkTarget(budget);
  checkChanges(budget, now);
}

function checkChanges({ limitNanodollars, raise }: BudgetChanges, now: number): void {
  if (limitNanodollars !== undefined && !isAmount(limitNanodollars)) {
    throw invalid("budget_usd", `is ${limitNanodollars} nanodollars, expected a whole number from 0 to 2^53 - 1`);
  }
  if (raise == null) return;
  if (!isAmount(raise.nanodollars)) {
    throw invalid("raise_usd", `is ${raise.nanodollars} nanodollars, expected a whole number from 0 to 2^53 - 1`);
  }
  if (raise.until <= now) throw invalid("raise_until", "has passed, expected a time in the future");
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}

function unknownBudget(id: string): GatewayError {
  return new GatewayError("not_found", `The project has no budget ${id}`);
}

function record(
  db: Transaction<Database>,
  by: Administrator,
  what: "create" | "change" | "delete",
  row: BudgetsTable,
  now: number,
): Promise<void> {
  const detail = {
    account: row.account_id,
    subject: row.subject,
    name: row.name,
    key: row.key_id,
    usd: formatUsd(row.budget_nanodollars),
    period: row.budget_period,
    raise_usd: row.raise_nanodollars === null ? null : formatUsd(row.raise_nanodollars),
    raise_until: row.raise_until === null ? null : new Date(row.raise_until).toISOString(),
  };
  return recordAudit({ db }, { accountId: by.accountId, action: `budget.${what}`, subject: row.id, detail }, now);
}

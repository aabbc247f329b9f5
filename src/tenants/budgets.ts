import { randomBytes } from "node:crypto";
import { sql, type Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { type Administrator, recordAudit } from "../audit/index.ts";
import {
  type Budget,
  type BudgetSubject,
  budgetPeriods,
  budgetSubjects,
  GatewayError,
  isAmount,
  namedSubjects,
} from "../contract/index.ts";
import {
  type BudgetsTable,
  countEarlierCalls,
  countedFrom,
  type Database,
  isInPeriod,
  isInRun,
  isTeam,
  ownBudgetId,
  raisedBudget,
  readLastEnd,
  type Store,
  type TransactionScope,
  toPayerNumber,
} from "../db/index.ts";
import { isBehind } from "../db/page.ts";
import { type ColumnsOf, emptyColumns, toJson } from "../lib/fields.ts";
import { expectNoBudgetNeeded } from "./account-budget.ts";
import { budgetFields } from "./budget-fields.ts";
import { eachAccount, expectKeyOf } from "./owned-rows.ts";
import { lockManaged } from "./roles.ts";

/** A budget as it is stored. */
export type StoredBudget = BudgetsTable;
type BudgetColumns = ColumnsOf<BudgetsTable, typeof budgetFields>;
type Target = "subject" | "name" | "key_id" | "budget_period";
/** The calls that a budget counts. */
export type BudgetTarget = Pick<BudgetColumns, "subject" | "budget_period"> & Partial<BudgetColumns>;
/** Columns of a new budget: its subject and its amount. Absent columns are null. */
export type NewBudget = BudgetTarget & Pick<BudgetColumns, "budget_nanodollars">;
/** Changes of a budget. An absent column stays as it is. */
export type BudgetChanges = Partial<Omit<BudgetColumns, Exclude<Target, "budget_period">>>;

/** Spending of one subject in the running period of a budget. */
export interface SpentBySubject {
  readonly accountId: string;
  /** Empty: calls that named none. */
  readonly name: string;
  readonly spentNanodollars: number;
}

const dayMs = 86_400_000;
/** Budgets of one account: each call is compared with all of them. */
export const budgetsMax = 1000;
/** As long as a name can be that a call is counted by. */
const nameCharactersMax = 200;

/**
 * Creates a budget. Earlier spending in its period counts.
 *
 * @throws {GatewayError} `invalid_request`; `conflict` when there is such a budget, or there are too many.
 */
export async function createBudget(
  store: TransactionScope,
  { by, accountId, ...columns }: { readonly by: Administrator; readonly accountId: string } & NewBudget,
  now: number,
): Promise<StoredBudget> {
  checkBudget({ ...columns, account_id: accountId }, now);
  const newId = `bud_${randomBytes(9).toString("hex")}`;
  const row: BudgetsTable = {
    ...emptyColumns(budgetFields),
    ...columns,
    ...readRaise(columns),
    id: newId,
    no: toPayerNumber(newId),
    account_id: accountId,
    created_at: now,
    counted_from: countedFrom(columns.budget_period, now),
    counted_to: null,
  };
  await store.change(async (db) => {
    if (accountId !== eachAccount) await lockManaged(db, by, accountId);
    if (row.key_id !== null) await expectKeyOf(db, accountId, row.key_id);
    if (row.subject === "key" && row.name !== null) await expectKeyOf(db, accountId, row.name, "name");
    const present = await db.selectFrom("budgets").selectAll().where("account_id", "=", accountId).execute();
    if (present.some((one) => isSameTarget(one, row))) {
      throw new GatewayError("conflict", "There is a budget of this subject for this period; change it instead");
    }
    const ownId = toOwnId(row);
    const isOwn = ownId !== undefined && !present.some(({ id }) => id === ownId);
    if (isOwn) Object.assign(row, { id: ownId, no: toPayerNumber(ownId) });
    if (!isOwn && present.filter((one) => one.id !== toOwnId(one)).length >= budgetsMax) {
      throw new GatewayError("conflict", `The project has ${budgetsMax} budgets, its limit; delete one`);
    }
    if (isNamed(row)) row.counted_to = await readLastEnd(db, store.shared);
    await db.insertInto("budgets").values(row).execute();
    await record(db, by, "create", row, now);
  });
  if (row.counted_to !== null) await countEarlierCalls(store, row.id);
  return row;
}

/** Changes a budget; its spending stays. @throws {GatewayError} `invalid_request`, `not_found` */
export async function changeBudget(
  store: TransactionScope,
  { by, accountId, id, changes }: { by: Administrator; accountId: string; id: string; changes: BudgetChanges },
  now: number,
): Promise<StoredBudget> {
  checkChanges(changes, now);
  return await store.change(async (db) => {
    if (accountId !== eachAccount) await lockManaged(db, by, accountId);
    const { budget_period: period } = changes;
    if (period !== undefined) await expectPeriod(db, { accountId, id, period });
    const row = await db
      .updateTable("budgets")
      .set({ id, ...changes, ...readRaise(changes) })
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownBudget(accountId, id);
    await record(db, by, "change", row, now);
    return row;
  });
}

/** Periods that end. A budget can change between them, because its spending is counted by day. */
const calendarPeriods: readonly Budget["period"][] = ["day", "week", "month"];

/** @throws {GatewayError} `not_found`; `invalid_request` for a period that does not end; `conflict` when another budget has it. */
async function expectPeriod(
  db: Transaction<Database>,
  { accountId, id, period }: { accountId: string; id: string; period: Budget["period"] },
): Promise<void> {
  const present = await db.selectFrom("budgets").selectAll().where("account_id", "=", accountId).execute();
  const row = present.find((one) => one.id === id);
  if (row === undefined) throw unknownBudget(accountId, id);
  if (row.budget_period === period) return;
  if (!calendarPeriods.includes(period) || !calendarPeriods.includes(row.budget_period)) {
    throw invalid("budget_period", `changes between ${calendarPeriods.join(", ")} alone; make another budget`);
  }
  if (present.some((one) => isSameTarget(one, { ...row, budget_period: period }))) {
    throw new GatewayError("conflict", "There is a budget of this subject for this period; change it instead");
  }
}

/** Deletes a budget and its counts. @throws {GatewayError} `not_found` */
export async function deleteBudget(
  store: TransactionScope,
  { by, accountId, id }: { by: Administrator; accountId: string; id: string },
  now: number,
): Promise<void> {
  await store.change(async (db) => {
    if (accountId !== eachAccount) await lockManaged(db, by, accountId);
    if (id === ownBudgetId(accountId)) await expectNoBudgetNeeded(db, accountId);
    const row = await db
      .deleteFrom("budgets")
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownBudget(accountId, id);
    const ofAccounts = db.selectFrom("payers").select("no").whereRef("account_no", "=", "no");
    await db
      .deleteFrom("spending")
      .where("account_id", "in", accountId === eachAccount ? ofAccounts : [toPayerNumber(accountId)])
      .where("subject_id", "=", row.no)
      .execute();
    await record(db, by, "delete", row, now);
  });
}

/**
 * Lists one page of the budgets of some accounts or of all, oldest first. @param after The last budget of the previous
 * page.
 */
export async function listBudgets(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[] | undefined,
  { limit, after }: { limit: number; after?: Pick<StoredBudget, "id" | "created_at"> | undefined },
): Promise<StoredBudget[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("budgets").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  if (after !== undefined) {
    query = query.where(isBehind("created_at", "id", after));
  }
  return await query.orderBy("created_at").orderBy("id").limit(limit).execute();
}

/** @param accountId Absent: of any account or the gateway. @throws {GatewayError} `not_found` */
export async function readBudgetOf(
  { db }: Pick<Store, "db">,
  accountId: string | undefined,
  id: string,
): Promise<StoredBudget> {
  let query = db.selectFrom("budgets").selectAll().where("id", "=", id);
  if (accountId !== undefined) query = query.where("account_id", "=", accountId);
  const row = await query.executeTakeFirst();
  if (row === undefined) throw unknownBudget(accountId, id);
  return row;
}

/** Spending in the running period by the id of the budget. Budgets of each subject by itself are left out. */
export async function readSpentOfBudgets(
  { db }: Pick<Store, "db">,
  budgets: readonly StoredBudget[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const ofOne = budgets.filter(
    ({ account_id, subject, name }) => account_id !== eachAccount && (subject === "account" || name !== null),
  );
  if (ofOne.length === 0) return new Map();
  const rows = await spentOfBudgets(db, now, false)
    .where(
      "budgets.id",
      "in",
      ofOne.map(({ id }) => id),
    )
    .groupBy("budgets.id")
    .select("budgets.id")
    .execute();
  const spent = new Map(rows.map((row) => [row.id, Number(row.spent)]));
  return new Map(ofOne.map(({ id }) => [id, spent.get(id) ?? 0]));
}

/** The sums counted by budgets of accounts, or by budgets of the gateway, in their current periods. */
function spentOfBudgets(db: Store["db"], now: number, isOfGateway: boolean) {
  return db
    .selectFrom("budgets")
    .innerJoin("payers as owner", (join) =>
      isOfGateway ? join.onRef("owner.account_no", "=", "owner.no") : join.onRef("owner.id", "=", "budgets.account_id"),
    )
    .innerJoin("accounts", "accounts.id", "owner.id")
    .leftJoin("payers as key", (join) => join.onRef("key.id", "=", "budgets.name").on("budgets.subject", "=", "key"))
    .innerJoin("spending", (join) =>
      join
        .onRef("spending.account_id", "=", "owner.no")
        .on(
          "spending.subject_id",
          "=",
          sql<number>`case budgets.subject when 'account' then owner.no when 'team' then owner.no when 'key' then key.no else budgets.no end`,
        ),
    )
    .select(sql<number>`cast(sum(spending.spent_nanodollars) as bigint)`.as("spent"))
    .where(isInRun(now))
    .where(({ eb, or }) => or([eb("budgets.subject", "<>", sql.lit("team")), isTeam()]))
    .where(({ eb, or, ref }) =>
      or([
        eb("budgets.name", "is", null),
        eb("budgets.subject", "=", "key"),
        eb("budgets.name", "=", ref("spending.name")),
      ]),
    );
}

/** The subjects that have spent the most of a budget in its running period. */
export async function readSpentBySubject(
  { db }: Pick<Store, "db">,
  budget: StoredBudget,
  { limit, now }: { limit: number; now: number },
): Promise<SpentBySubject[]> {
  const isOfGateway = budget.account_id === eachAccount;
  const rows =
    budget.subject === "key" && budget.name === null
      ? await spentByKeys(db, now, isOfGateway)
          .where("budgets.id", "=", budget.id)
          .orderBy("spent", "desc")
          .orderBy("subject_name")
          .limit(limit)
          .execute()
      : await spentByNames(db, now, isOfGateway)
          .where("budgets.id", "=", budget.id)
          .orderBy("spent", "desc")
          .orderBy("account")
          .orderBy("subject_name")
          .limit(limit)
          .execute();
  return rows.map((row) => ({ accountId: row.account, name: row.subject_name, spentNanodollars: Number(row.spent) }));
}

/** Without those that have a budget of their own: they are not one of each. */
function spentByNames(db: Store["db"], now: number, isOfGateway: boolean) {
  return spentOfBudgets(db, now, isOfGateway)
    .where("budgets.account_id", isOfGateway ? "=" : "<>", sql.lit(eachAccount))
    .where(({ exists, not, or, eb, selectFrom }) =>
      or([
        eb("budgets.name", "is not", null),
        not(
          exists(
            selectFrom("budgets as named")
              .select("named.id")
              .whereRef("named.account_id", "=", "budgets.account_id")
              .whereRef("named.subject", "=", "budgets.subject")
              .whereRef("named.key_id", "is not distinct from", "budgets.key_id")
              .whereRef("named.name", "=", "spending.name"),
          ),
        ),
      ]),
    )
    .select(["budgets.id as budget_id", "owner.id as account"])
    .select(sql<string>`case budgets.subject when 'key' then budgets.name else spending.name end`.as("subject_name"))
    .groupBy(["budget_id", "account", "subject_name"]);
}

/** The keys of budgets of each key, without those that have a budget of their own. */
function spentByKeys(db: Store["db"], now: number, isOfGateway: boolean) {
  return db
    .selectFrom("budgets")
    .innerJoin("keys", (join) =>
      isOfGateway
        ? join.on("budgets.account_id", "=", sql.lit(eachAccount))
        : join.onRef("keys.account_id", "=", "budgets.account_id"),
    )
    .innerJoin("payers", "payers.id", "keys.id")
    .innerJoin("spending", (join) =>
      join.onRef("spending.account_id", "=", "payers.account_no").onRef("spending.subject_id", "=", "payers.no"),
    )
    .select(sql<number>`cast(sum(spending.spent_nanodollars) as bigint)`.as("spent"))
    .select(["budgets.id as budget_id", "keys.account_id as account"])
    .select(sql<string>`keys.id`.as("subject_name"))
    .where("budgets.subject", "=", "key")
    .where("budgets.name", "is", null)
    .where(isInPeriod(now))
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom("budgets as named")
            .select("named.id")
            .whereRef("named.account_id", "=", "budgets.account_id")
            .where("named.subject", "=", "key")
            .whereRef("named.name", "=", "keys.id"),
        ),
      ),
    )
    .groupBy(["budgets.id", "keys.account_id", "keys.id"]);
}

/** A budget in its running period, with the subject that spent the most of it. */
export interface NearBudget {
  readonly budget: StoredBudget;
  /** Whether it replaces the wallet of its account, which is billed afterwards. */
  readonly replacesWallet: boolean;
  /** Including a current raise. */
  readonly limitNanodollars: number;
  /** Absent where nobody has spent of it. */
  readonly top: SpentBySubject | undefined;
}

/**
 * The budgets of the gateway and of all accounts that are in use, the nearest to their amounts first. Of a budget of each by itself the
 * subject with the most spending counts.
 */
export async function readNearestBudgets(
  { db }: Pick<Store, "db">,
  { limit, now }: { limit: number; now: number },
): Promise<NearBudget[]> {
  const spent = await spentOfNearest(db, { limit, now });
  const unspent =
    spent.length >= limit
      ? []
      : await budgetsInUse(db, now)
          .$if(spent.length > 0, (query) =>
            query.where(
              "budgets.id",
              "not in",
              spent.map(({ id }) => id),
            ),
          )
          .orderBy("budgets.created_at")
          .orderBy("budgets.id")
          .limit(limit - spent.length)
          .execute();
  const toNear = ({ billed_afterwards: billed, amount, ...budget }: (typeof unspent)[number]) => ({
    budget,
    replacesWallet: billed === 1 && budget.id === ownBudgetId(budget.account_id),
    limitNanodollars: Number(amount),
  });
  const rows: NearBudget[] = [
    ...spent.map(({ spender, subject_name: name, spent: sum, ...row }) => ({
      ...toNear(row),
      top: { accountId: spender, name, spentNanodollars: Number(sum) },
    })),
    ...unspent.map((row) => ({ ...toNear(row), top: undefined })),
  ];
  return rows.sort((one, other) => toShare(other) - toShare(one));
}

/** The spent part of a budget; a budget of nothing is spent. */
function toShare({ limitNanodollars: limit, top }: NearBudget): number {
  return limit === 0 ? 1 : (top?.spentNanodollars ?? 0) / limit;
}

/** Budgets of the gateway, and of accounts and keys that are not disabled or revoked. */
function budgetsInUse(db: Store["db"], now: number) {
  return db
    .selectFrom("budgets")
    .leftJoin("accounts", "accounts.id", "budgets.account_id")
    .leftJoin("keys", (join) => join.onRef("keys.id", "=", "budgets.name").on("budgets.subject", "=", sql.lit("key")))
    .selectAll("budgets")
    .select(["accounts.billed_afterwards", raisedBudget(now).as("amount")])
    .where(({ and, eb, or }) =>
      or([
        eb("budgets.account_id", "=", sql.lit(eachAccount)),
        and([eb("accounts.id", "is not", null), eb("accounts.disabled_at", "is", null)]),
      ]),
    )
    .where("keys.revoked_at", "is", null);
}

/** How many more budgets than wanted are looked at first. Some of them are not in use, or have spent less than they may have. */
const candidatesMore = 100;
/** With more candidates all budgets are looked at: a statement has only so many parameters. */
const candidatesMax = 8000;

/**
 * The budgets with any spending, each with its largest spender. To find the largest spender of every budget takes most of a second for
 * tens of thousands of them, so it is found for those alone whose spending can be among the nearest.
 */
async function spentOfNearest(db: Store["db"], { limit, now }: { limit: number; now: number }) {
  const ofGateway = await db
    .selectFrom("budgets")
    .select("id")
    .where("account_id", "=", eachAccount)
    .limit(1)
    .execute();
  const hasOfGateway = ofGateway.length > 0;
  for (let count = limit + candidatesMore; count <= candidatesMax; count *= 2) {
    const candidates = await readCandidates(db, { limit: count + 1, now });
    const next = candidates[count];
    const ids = candidates.slice(0, count).map(({ id }) => id);
    const rows = await readSpent(db, { limit, now, ids, hasOfGateway });
    const last = rows[limit - 1];
    if (next === undefined || (last !== undefined && toSpentShare(last) >= Number(next.share))) return rows;
  }
  return await readSpent(db, { limit, now, hasOfGateway });
}

function toSpentShare({ spent, amount }: { readonly spent: number; readonly amount: number }): number {
  return Number(amount) === 0 ? 1 : Number(spent) / Number(amount);
}

/**
 * The budgets of accounts with the largest shares that they can have spent: names with a budget of their own count as well, and
 * every day of a session that is running. Each is a few steps down the key of what was spent.
 */
function readCandidates(db: Store["db"], { limit, now }: { limit: number; now: number }) {
  const ofOwner = sql`spending.account_id = owner.no and ${isInPeriod(now)}`;
  const mostOfKeys = sql`(select max(total) from (
    select sum(spending.spent_nanodollars) as total from keys join payers as key on key.id = keys.id
    join spending on spending.subject_id = key.no and spending.name = '' and ${ofOwner}
    where keys.account_id = budgets.account_id and (budgets.name is null or keys.id = budgets.name)
    group by key.no) as sums)`;
  const mostOfNames = sql`(select max(total) from (
    select sum(spending.spent_nanodollars) as total from spending
    where spending.subject_id = budgets.no and ${ofOwner} group by spending.name
    having budgets.budget_period <> 'session' or max(spending.last_at) >= ${sql.lit(now - dayMs)}) as sums)`;
  const own = sql`(select sum(spending.spent_nanodollars) from spending
    where spending.subject_id = owner.no and spending.name = '' and ${ofOwner})`;
  const most = sql<number | null>`case budgets.subject when 'account' then ${own} when 'team' then ${own}
    when 'key' then ${mostOfKeys} else ${mostOfNames} end`;
  return db
    .selectFrom(
      db
        .selectFrom("budgets")
        .innerJoin("payers as owner", "owner.id", "budgets.account_id")
        .select(["budgets.id", "budgets.created_at", raisedBudget(now).as("amount"), most.as("most")])
        .as("candidates"),
    )
    .select(["id", sql<number>`cast(coalesce(most * 1.0 / nullif(amount, 0), 1.0) as double precision)`.as("share")])
    .where("most", "is not", null)
    .orderBy("share", "desc")
    .orderBy("created_at")
    .orderBy("id")
    .limit(limit)
    .execute();
}

interface SpentWanted {
  readonly limit: number;
  readonly now: number;
  /** Only these budgets of accounts, and all of the gateway; absent: all. */
  readonly ids?: readonly string[];
  /** Whether the gateway has budgets: for them an engine would begin with all accounts. */
  readonly hasOfGateway: boolean;
}

function readSpent(db: Store["db"], { limit, now, ids, hasOfGateway }: SpentWanted) {
  const byNames = (isOfGateway: boolean) =>
    spentByNames(db, now, isOfGateway)
      .where("accounts.disabled_at", "is", null)
      .$if(!isOfGateway && ids !== undefined, (query) => query.where("budgets.id", "in", someOf(ids)));
  const byKeys = (isOfGateway: boolean) =>
    spentByKeys(db, now, isOfGateway)
      .where("keys.revoked_at", "is", null)
      .$if(!isOfGateway && ids !== undefined, (query) => query.where("budgets.id", "in", someOf(ids)));
  const ofAccounts = byNames(false).unionAll(byKeys(false));
  const spenders = hasOfGateway ? ofAccounts.unionAll(byNames(true)).unionAll(byKeys(true)) : ofAccounts;
  const place = sql<number>`row_number() over (partition by budget_id order by spent desc, account, subject_name)`;
  const share = sql`ranked.spent * 1.0 / nullif(${raisedBudget(now)}, 0)`;
  return budgetsInUse(db, now)
    .innerJoin(
      db
        .selectFrom(spenders.as("spenders"))
        .select(["budget_id", "account as spender", "subject_name", "spent", place.as("place")])
        .as("ranked"),
      (join) => join.onRef("ranked.budget_id", "=", "budgets.id").on("ranked.place", "=", sql.lit(1)),
    )
    .select(["ranked.spender", "ranked.subject_name", "ranked.spent"])
    .orderBy(sql`coalesce(${share}, 1.0)`, "desc")
    .orderBy("budgets.created_at")
    .orderBy("budgets.id")
    .limit(limit)
    .execute();
}

/** A list must not be empty. */
function someOf(ids: readonly string[] = []): readonly string[] {
  return ids.length === 0 ? [""] : ids;
}

/** The id that a budget has which `budget_usd` of its account or key shows; undefined for others. */
function toOwnId({ subject, name, account_id, budget_period }: BudgetsTable): string | undefined {
  if (budget_period === "lifetime" || account_id === eachAccount) return undefined;
  if (subject === "account") return ownBudgetId(account_id);
  return subject === "key" && name !== null ? ownBudgetId(name) : undefined;
}

/** Whether a budget counts calls by a name in the call. The spending of accounts and keys is always known. */
function isNamed({ subject }: Pick<BudgetsTable, "subject">): boolean {
  return namedSubjects.some((one) => one === subject);
}

/** Keys of an account have the same text mostly. */
const parsed = new LRUCache<string, readonly Budget[]>({ max: 1000 });

type BudgetOfKey = [
  id: string,
  accountId: string,
  subject: BudgetSubject,
  name: string | null,
  keyId: string | null,
  nanodollars: number,
  period: Budget["period"],
  raise: number | null,
  raiseUntil: number | null,
];

/** The budgets in a `KeyRecord`. */
export function readBudgetsOfKey(text: string): readonly Budget[] {
  const parsedBudgets = parsed.get(text);
  if (parsedBudgets !== undefined) return parsedBudgets;
  const budgets = (JSON.parse(text) as BudgetOfKey[]).map(
    ([id, accountId, subject, name, keyId, limitNanodollars, period, raise, until]) => ({
      id,
      isOfGateway: accountId === eachAccount ? (true as const) : undefined,
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

/** A raise has an amount and an end: without one of them it is ended. */
function readRaise({ raise_nanodollars: raise, raise_until: until }: BudgetChanges): Partial<BudgetColumns> {
  return raise === null || until === null ? { raise_nanodollars: null, raise_until: null } : {};
}

/** Whether a budget counts the same as another one. */
export function isSameTarget(a: BudgetTarget, b: BudgetTarget): boolean {
  return (["key_id", "subject", "name", "budget_period"] as const).every(
    (column) => (a[column] ?? null) === (b[column] ?? null),
  );
}

/** Names that callers make up. */
const claimed: readonly BudgetSubject[] = ["end_user", "tag"];

/** @throws {GatewayError} `invalid_request` for a budget that counts nothing, or that would keep a row for each name for ever. */
function checkTarget({
  account_id: accountId,
  subject,
  name,
  key_id: keyId,
  budget_period: period,
}: BudgetTarget & { account_id?: string | undefined }): void {
  if (!budgetSubjects.includes(subject)) throw invalid("subject", `expected one of ${budgetSubjects.join(", ")}`);
  if (!budgetPeriods.includes(period)) throw invalid("budget_period", `expected one of ${budgetPeriods.join(", ")}`);
  if (subject === "team" && accountId !== eachAccount) {
    throw invalid("subject", "team is for the gateway's budgets of each team; use account for the budget of one team");
  }
  const isOfAccount = subject === "account" || subject === "team";
  if (isOfAccount && name != null)
    throw invalid("name", `the budget of ${subject === "team" ? "a team" : "an account"} has no name`);
  if (accountId === eachAccount && keyId != null) throw invalid("api_key_id", "is for the budgets of a project");
  if (accountId === eachAccount && subject === "key" && name != null) {
    throw invalid("name", "is for the budgets of a project; the gateway's are over each key");
  }
  if ((isOfAccount || subject === "key") && keyId != null) {
    throw invalid("api_key_id", "is for other subjects; the budget of one key has the subject key and its id as name");
  }
  if (name != null && (name === "" || name.length > nameCharactersMax || !name.isWellFormed())) {
    throw invalid("name", `has ${name.length} characters, expected 1 to ${nameCharactersMax}`);
  }
  if ((subject === "session") !== (period === "session")) {
    const fault = subject === "session" ? "of a session is session" : "session is for the subject session";
    throw invalid("budget_period", `${fault}: it resets when the session has had no requests for a day`);
  }
  if (name == null && period === "lifetime" && claimed.includes(subject)) {
    const message = `of each ${subject.replace("_", " ")} lasts a day, a week or a month; one that never ends has a name`;
    throw invalid("budget_period", message);
  }
}

/** @throws {GatewayError} `invalid_request` for a budget that cannot be, whatever there is. */
export function checkBudget(
  budget: BudgetTarget & BudgetChanges & { account_id?: string | undefined },
  now: number,
): void {
  checkTarget(budget);
  checkChanges(budget, now);
}

function checkChanges(changes: BudgetChanges, now: number): void {
  const { budget_nanodollars: amount, raise_nanodollars: raise, raise_until: until } = changes;
  if (amount !== undefined && !isAmount(amount)) {
    throw invalid("budget_usd", `is ${amount} nanodollars, expected a whole number from 0 to 2^53 - 1`);
  }
  if ((raise == null) !== (until == null)) {
    throw invalid("raise_until", "send both raise_usd and raise_until, or neither");
  }
  if (raise == null || until == null) return;
  if (!isAmount(raise)) {
    throw invalid("raise_usd", `is ${raise} nanodollars, expected a whole number from 0 to 2^53 - 1`);
  }
  if (until <= now) throw invalid("raise_until", "has passed, expected a time in the future");
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}

function unknownBudget(accountId: string | undefined, id: string): GatewayError {
  if (accountId === undefined) return new GatewayError("not_found", `There is no budget ${id}`);
  const owner = accountId === eachAccount ? "gateway" : "project";
  return new GatewayError("not_found", `The ${owner} has no budget ${id}`);
}

function record(
  db: Transaction<Database>,
  by: Administrator,
  what: "create" | "change" | "delete",
  row: BudgetsTable,
  now: number,
): Promise<void> {
  const detail = { account: row.account_id, ...toJson(budgetFields, row) };
  return recordAudit({ db }, { accountId: by.accountId, action: `budget.${what}`, subject: row.id, detail }, now);
}

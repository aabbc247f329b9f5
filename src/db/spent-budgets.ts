import { type Kysely, type RawBuilder, sql } from "kysely";
import { accountLabel, type Budget, type BudgetSubject } from "../contract/index.ts";
import { isInPeriod, isInRun, raisedBudget } from "./dates.ts";
import { isTeam } from "./key-query.ts";
import type { Database } from "./schema.ts";

/** A budget in its running period, as it binds one subject. */
export interface SpentBudget {
  readonly id: string;
  readonly accountId: string;
  /** The account in one line: see `accountLabel`. */
  readonly account: string;
  readonly subject: BudgetSubject;
  /** Absent for other subjects than keys. */
  readonly keyId?: string;
  /** The name of the key or of the subject; empty for an account, and for calls that name nobody. */
  readonly name: string;
  readonly period: Budget["period"];
  /** Including a current raise. */
  readonly budgetNanodollars: number;
  readonly spentNanodollars: number;
}

/** Filter of budgets. The budgets with the highest spending come first. */
interface BudgetFilter {
  /** Absent: of all accounts. */
  readonly accountIds?: readonly string[] | undefined;
  /** Minimum spent share. */
  readonly leastShare: number;
  /** Maximum number for each kind of subject: accounts, keys, and names of calls. */
  readonly limit: number;
}

interface Reader {
  readonly db: Kysely<Database>;
}

/** The budgets of accounts and usable keys, and of the names of calls, with the spending of each. */
export async function readSpentBudgets(store: Reader, now: number, filter: BudgetFilter): Promise<SpentBudget[]> {
  const all: SpentBudget[] = [];
  for (const isOfGateway of [false, true]) {
    const budgets = budgetsOfAccounts(store, filter, isOfGateway);
    all.push(...(await readOfAccounts(budgets, now, filter)));
    all.push(...(await readOfKeys(budgets, now, filter)));
    all.push(...(await readOfNames(budgets, now, filter)));
  }
  return all;
}

type BudgetsOfAccounts = ReturnType<typeof budgetsOfAccounts>;

/** Budgets with their accounts. Budgets of the gateway have all accounts, so one join for both kinds would read all of them for each budget. */
function budgetsOfAccounts({ db }: Reader, { accountIds }: BudgetFilter, isOfGateway: boolean) {
  return db
    .selectFrom("budgets")
    .innerJoin("accounts", (join) =>
      isOfGateway
        ? join.on("budgets.account_id", "=", sql.lit(""))
        : join.onRef("accounts.id", "=", "budgets.account_id"),
    )
    .select(["budgets.id", "budgets.subject", "budgets.budget_period as period"])
    .select(["accounts.id as account_id", "accounts.email", "accounts.name as account_name"])
    .where("accounts.disabled_at", "is", null)
    .$if(accountIds !== undefined, (query) => query.where("accounts.id", "in", accountIds ?? []));
}

/** A sum over no row is null, and PostgreSQL's are larger than any of ours. */
const sumOf = (rows: RawBuilder<unknown>) =>
  sql<number>`(select coalesce(cast(sum(spent_nanodollars) as bigint), 0) ${rows})`;

async function readOfAccounts(budgets: BudgetsOfAccounts, now: number, filter: BudgetFilter): Promise<SpentBudget[]> {
  const amount = raisedBudget(now);
  const spent =
    sumOf(sql`from payers join spending on spending.account_id = payers.no and spending.subject_id = payers.no
    and spending.name = '' where payers.id = accounts.id and ${isInPeriod(now)}`);
  const rows = await budgets
    .select([amount.as("amount"), spent.as("spent")])
    .where(({ and, eb, or }) =>
      or([
        eb("budgets.subject", "=", sql.lit("account")),
        and([eb("budgets.subject", "=", sql.lit("team")), isTeam()]),
      ]),
    )
    .where(amount, ">", 0)
    .where(spent, ">=", sql<number>`${amount} * ${sql.lit(filter.leastShare)}`)
    .orderBy("spent", "desc")
    .limit(filter.limit)
    .execute();
  return rows.map((row) => toSpentBudget({ ...row, name: "" }));
}

/** Reads the budgets of keys that are not revoked. */
async function readOfKeys(budgets: BudgetsOfAccounts, now: number, filter: BudgetFilter): Promise<SpentBudget[]> {
  const amount = raisedBudget(now);
  const spent = sumOf(spentByKey(now));
  const rows = await budgets
    .innerJoin("keys", (join) =>
      join
        .onRef("keys.account_id", "=", "accounts.id")
        .on(({ eb, or, ref }) => or([eb("budgets.name", "is", null), eb("budgets.name", "=", ref("keys.id"))])),
    )
    .select(["keys.id as key_id", "keys.name", amount.as("amount"), spent.as("spent")])
    .where("budgets.subject", "=", "key")
    .where("keys.revoked_at", "is", null)
    .where(amount, ">", 0)
    .where(spent, ">=", sql<number>`${amount} * ${sql.lit(filter.leastShare)}`)
    .orderBy("spent", "desc")
    .limit(filter.limit)
    .execute();
  return rows.map((row) => ({ ...toSpentBudget(row), keyId: row.key_id }));
}

/** The rows of a key's spending in the current period of a budget. */
export function spentByKey(now: number, budgets?: string): RawBuilder<unknown> {
  return sql`from payers join spending on spending.account_id = payers.account_no and spending.subject_id = payers.no
    and spending.name = '' where payers.id = keys.id and ${isInPeriod(now, budgets)}`;
}

async function readOfNames(budgets: BudgetsOfAccounts, now: number, filter: BudgetFilter): Promise<SpentBudget[]> {
  const amount = raisedBudget(now);
  const spent = sql<number>`cast(sum(spending.spent_nanodollars) as bigint)`;
  const rows = await budgets
    .innerJoin("payers", "payers.id", "accounts.id")
    .innerJoin("spending", (join) =>
      join.onRef("spending.account_id", "=", "payers.no").onRef("spending.subject_id", "=", "budgets.no"),
    )
    .select(["spending.name", amount.as("amount"), spent.as("spent")])
    .where(isInRun(now))
    .where(amount, ">", 0)
    .groupBy(["budgets.id", "accounts.id", "spending.name"])
    .having(spent, ">=", sql<number>`${amount} * ${sql.lit(filter.leastShare)}`)
    .orderBy("spent", "desc")
    .limit(filter.limit)
    .execute();
  return rows.map(toSpentBudget);
}

function toSpentBudget(row: {
  id: string;
  subject: BudgetSubject;
  period: Budget["period"];
  account_id: string;
  email: string;
  account_name: string | null;
  name: string;
  amount: number;
  spent: number;
}): SpentBudget {
  const { id, subject, period, account_id: accountId, email, account_name: accountName, name } = row;
  const account = accountLabel({ email, name: accountName });
  const figures = { budgetNanodollars: Number(row.amount), spentNanodollars: Number(row.spent) };
  return { id, subject, period, accountId, account, name, ...figures };
}

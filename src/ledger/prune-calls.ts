import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { namedSubjects } from "../contract/index.ts";
import {
  callSums,
  countEarlierCalls,
  type Database,
  dayOf,
  type Store,
  startOfDay,
  toPayerNumber,
} from "../db/index.ts";

/** Maximum number of rows deleted at once: no delete should hold a lock for long. */
const prunedAtOnceMax = 500;

/** Accounts looked at by one step when there is nothing to do. */
const accountsAtOnceMax = 50;
/** Between two passes over the accounts: a day's calls become old at once. */
const restMs = 3_600_000;

/** Options of {@link createPruner}. */
export interface PrunerOptions {
  store: Store;
  retentionDays: number;
  now: () => number;
}

/**
 * Creates the work that deletes old calls: calls that began, ended and drew their quota before the day that began
 * `retentionDays` ago, and are in the roll-up. Their sums are added to the opening balance of their account in the same
 * transaction, so `verifyLedger` still works. Sums and transactions stay. For a timer of the owner: each call is a
 * short step of a pass over all accounts, and returns the number of calls it deleted.
 */
export function createPruner({ store, retentionDays, now }: PrunerOptions): () => Promise<number> {
  let after = 0;
  let restUntil = Number.NEGATIVE_INFINITY;
  return async () => {
    const time = now();
    if (time < restUntil && time >= restUntil - restMs) return 0;
    const beforeDay = dayOf(time) - retentionDays;
    for (let accounts = 0; accounts < accountsAtOnceMax; accounts++) {
      const account = await nextAccount(store, after);
      if (account === undefined) {
        [after, restUntil] = [0, time + restMs];
        await pruneDays(store, beforeDay);
        await countEarlier(store);
        return 0;
      }
      const accountId = account.id;
      if (await hasOld(store, accountId, beforeDay)) {
        const pruned = await store.db.transaction().execute((db) => pruneAccount(db, { store, accountId, beforeDay }));
        if (pruned > 0) return pruned;
      }
      after = account.no;
    }
    return 0;
  };
}

/** Asked without a transaction, which would take the write lock. */
async function hasOld({ db }: Store, accountId: string, beforeDay: number): Promise<boolean> {
  return (await oldCalls(db, accountId, beforeDay).select("seq").limit(1).executeTakeFirst()) !== undefined;
}

function oldCalls(db: Kysely<Database>, accountId: string, beforeDay: number) {
  const before = startOfDay(beforeDay);
  return (
    db
      .selectFrom("call_rows")
      .where("account_id", "=", toPayerNumber(accountId))
      // The last one that was counted stays: the next end of a call must not have a number that counts as counted.
      .where("seq", "<", (counted) => counted.selectFrom("usage_progress").select("seq"))
      .where("opened_at", "<", before)
      .where("settled_at", "<", before)
      .where((where) => where.or([where("quota_day", "is", null), where("quota_day", "<", beforeDay)]))
  );
}

async function pruneAccount(
  db: Transaction<Database>,
  { store, accountId, beforeDay }: { store: Store; accountId: string; beforeDay: number },
): Promise<number> {
  const old = oldCalls(db, accountId, beforeDay).select("seq").orderBy("opened_at").limit(prunedAtOnceMax);
  // Rows that another node is pruning are skipped.
  const rows = await (store.shared ? old.forUpdate().skipLocked() : old).execute();
  if (rows.length === 0) return 0;
  const list = sql.join(rows.map(({ seq }) => sql.lit(seq)));
  await addToOpening(db, { accountId, beforeDay, list });
  const { numDeletedRows } = await db
    .deleteFrom("call_rows")
    .where(sql<boolean>`seq in (${list})`)
    .executeTakeFirstOrThrow();
  if (Number(numDeletedRows) !== rows.length) throw new Error("Cannot prune calls: some were deleted meanwhile");
  return rows.length;
}

interface PrunedCalls {
  accountId: string;
  beforeDay: number;
  list: RawBuilder<unknown>;
}

async function addToOpening(db: Transaction<Database>, { accountId, beforeDay, list }: PrunedCalls): Promise<void> {
  const columns = ["calls", "requests", "failures", ...callSums];
  const sums = sql.join([
    sql`count(*)`,
    sql`coalesce(sum(case when state = 'settled' then 1 else 0 end), 0)`,
    sql`coalesce(sum(case when state = 'released' then 1 else 0 end), 0)`,
    ...callSums.map((column) => sql`coalesce(sum(${sql.ref(column)}), 0)`),
  ]);
  const added = sql.join(
    columns.map(
      (column) => sql`${sql.ref(column)} = opening_balances.${sql.ref(column)} + excluded.${sql.ref(column)}`,
    ),
  );
  // `where true` keeps SQLite from reading the conflict clause as a join's.
  await sql`insert into opening_balances (account_id, before_day, ${sql.join(columns.map((column) => sql.ref(column)))})
    select ${accountId}, ${sql.lit(beforeDay)}, ${sums} from calls where seq in (${list}) and true
    on conflict (account_id) do update set
      before_day = case when excluded.before_day > opening_balances.before_day then excluded.before_day else opening_balances.before_day end,
      ${added}`.execute(db);
}

/** No period is longer. */
const periodDaysMax = 31;

/** Deletes the spending of names on days before every current period. The spending of accounts and keys is kept. */
async function pruneDays({ db }: Store, beforeDay: number): Promise<void> {
  const budgets = await db
    .selectFrom("budgets")
    .select(["no", "account_id"])
    .where("subject", "in", namedSubjects)
    .where("budget_period", "<>", "lifetime")
    .execute();
  // A few at a time, by the rows of a budget: all sums together are many.
  for (const { no, account_id: accountId } of budgets) {
    const accounts = db.selectFrom("payers").select("no");
    await db
      .deleteFrom("spending")
      .where(
        "account_id",
        "in",
        accountId === "" ? accounts.whereRef("account_no", "=", "no") : [toPayerNumber(accountId)],
      )
      .where("subject_id", "=", no)
      .where("day", "<", beforeDay - periodDaysMax)
      // Days whose calls are not pruned yet are compared with them.
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom("payers")
            .innerJoin("opening_balances", "opening_balances.account_id", "payers.id")
            .select("payers.no")
            .whereRef("payers.no", "=", "spending.account_id")
            .whereRef("opening_balances.before_day", ">", "spending.day"),
        ),
      )
      .execute();
  }
}

/** Counts the calls from before a budget was made whose making was broken off. */
async function countEarlier(store: Store): Promise<void> {
  const broken = await store.db.selectFrom("budgets").select("id").where("counted_to", "is not", null).execute();
  for (const { id } of broken) await countEarlierCalls(store, id);
}

/** An account with calls, and its number. */
interface AccountOfCalls {
  readonly no: number;
  readonly id: string;
}

/** The account of the next number that has calls. The index of calls by account leads to it without reading their calls. */
export function nextAccount({ db }: Pick<Store, "db">, after: number): Promise<AccountOfCalls | undefined> {
  const next = db
    .selectFrom("call_rows")
    .select("account_id")
    .where("account_id", ">", after)
    .orderBy("account_id")
    .limit(1);
  return db.selectFrom("payers").select(["no", "id"]).where("no", "=", next).executeTakeFirst();
}

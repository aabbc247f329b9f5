import { sql, type Transaction } from "kysely";
import type { Budget } from "../contract/index.ts";
import { startOfPeriod } from "./dates.ts";
import { lockName } from "./locks.ts";
import { toPayerNumber } from "./payers.ts";
import type { Database } from "./schema.ts";
import type { Store } from "./store.ts";

const dayMs = 86_400_000;

/**
 * The first day that a new budget counts. It is the earliest start of any period, so changing the period later needs
 * only another query.
 */
export function countedFrom(period: Budget["period"], now: number): number {
  return period === "lifetime" ? 0 : Math.min(startOfPeriod(now, "month"), startOfPeriod(now, "week"));
}

/** The number of the last end of a call. Until the transaction ends, no other is written. */
export async function readLastEnd(db: Transaction<Database>, shared: boolean): Promise<number> {
  await lockName(db, "ends of calls", shared);
  const { last } = await db
    .selectFrom("call_rows")
    .select(({ fn }) => fn.coalesce(fn.max("seq"), sql.lit(0)).as("last"))
    .executeTakeFirstOrThrow();
  return Number(last);
}

/**
 * Counts the calls that ended before a budget was made, and began in its period. It is done when the budget is made; one whose process ended in
 * between is counted by the next pass of the pruner.
 */
export async function countEarlierCalls(store: Pick<Store, "change">, id: string): Promise<void> {
  await store.change(async (db) => {
    const budget = await db
      .updateTable("budgets")
      .set({ id })
      .where("id", "=", id)
      .where("counted_to", "is not", null)
      .returningAll()
      .executeTakeFirst();
    if (budget === undefined) return;
    const { no, account_id, key_id, subject, name, counted_from, counted_to } = budget;
    const counted = sql`coalesce(${sql.ref(`calls.${subject}`)}, '')`;
    const ofAccount = account_id === "" ? sql`` : sql`and calls.account_no = ${toPayerNumber(account_id)}`;
    const ofKey = key_id === null ? sql`` : sql`and calls.key_no = ${toPayerNumber(key_id)}`;
    const ofName = name === null ? sql`` : sql`and ${counted} = ${name}`;
    const isSession = subject === "session";
    const [first, last] = isSession
      ? [sql`min(opened_at)`, sql`max(settled_at)`]
      : [sql`cast(null as bigint)`, sql`cast(null as bigint)`];
    await sql`insert into spending (account_id, subject_id, name, day, spent_nanodollars, first_at, last_at)
      select calls.account_no, ${sql.lit(no)}, ${counted}, opened_at / ${sql.lit(dayMs)}, sum(charged_nanodollars), ${first}, ${last}
      from calls
      where seq <= ${counted_to} and opened_at >= ${sql.lit(counted_from * dayMs)} and charged_nanodollars <> 0 ${ofAccount} ${ofKey} ${ofName}
      group by 1, 3, 4 on conflict (account_id, subject_id, name, day) do update
      set spent_nanodollars = spending.spent_nanodollars + excluded.spent_nanodollars,
        first_at = case when excluded.first_at < spending.first_at then excluded.first_at else spending.first_at end,
        last_at = case when excluded.last_at > spending.last_at then excluded.last_at else spending.last_at end`.execute(
      db,
    );
    await db.updateTable("budgets").set({ counted_to: null }).where("id", "=", id).execute();
  });
}

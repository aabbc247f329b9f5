import type { RefusalsTable } from "./schema.ts";
import type { Store } from "./store.ts";

/** Refused requests of one account that are kept, the newest ones. */
export const refusalsOfAccountMax = 10_000;
/** Limit of the refused requests that are kept, over all accounts. */
const refusalsMax = 1_000_000;
/** Deletes are cut so that no one of them holds a lock for long. */
const rowsAtOnceMax = 500;

/** Writes refused requests in one statement. */
export async function insertRefusals({ db }: Pick<Store, "db">, rows: readonly RefusalsTable[]): Promise<void> {
  await db.insertInto("refusals").values(rows).execute();
}

/** Deletes what began before `before`, and the oldest of these accounts and of all where they are too many. */
export async function pruneRefusals(
  store: Pick<Store, "db">,
  { before, accountIds }: { before: number; accountIds: Iterable<string> },
): Promise<number> {
  let pruned = await deleteBefore(store, before);
  for (const accountId of accountIds) {
    const oldest = await nthNewest(store, refusalsOfAccountMax, accountId);
    if (oldest !== undefined) pruned += await deleteBefore(store, oldest, accountId);
  }
  const oldest = await nthNewest(store, refusalsMax);
  if (oldest !== undefined) pruned += await deleteBefore(store, oldest);
  return pruned;
}

async function nthNewest({ db }: Pick<Store, "db">, place: number, accountId?: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("refusals")
    .select("opened_at")
    .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
    .orderBy("opened_at", "desc")
    .offset(place - 1)
    .limit(1)
    .executeTakeFirst();
  return row?.opened_at;
}

async function deleteBefore({ db }: Pick<Store, "db">, before: number, accountId?: string): Promise<number> {
  let pruned = 0;
  while (true) {
    const old = db
      .selectFrom("refusals")
      .select("id")
      .where("opened_at", "<", before)
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
      .limit(rowsAtOnceMax);
    const { numDeletedRows } = await db.deleteFrom("refusals").where("id", "in", old).executeTakeFirstOrThrow();
    pruned += Number(numDeletedRows);
    if (numDeletedRows < rowsAtOnceMax) return pruned;
  }
}

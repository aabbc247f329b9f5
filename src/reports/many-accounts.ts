import { LRUCache } from "lru-cache";
import type { Store } from "../db/index.ts";

/** To read of more accounts takes a tenth of a second and more, so that it is done at most once a minute. */
const accountsReadAlways = 5000;
const keptMs = 60_000;
/** An older answer is not shown, not even while the next one is made. */
const keptMaxMs = 600_000;
/** Rows of all answers that are kept in memory, some MB. */
const keptRowsMax = 20_000;

/** Whether there are so many accounts that a page would have to wait for what is read of all of them. */
export async function hasManyAccounts(db: Store["db"]): Promise<boolean> {
  const accounts = db.selectFrom("accounts").select("id").where("id", ">", "").orderBy("id");
  return (await accounts.offset(accountsReadAlways).limit(1).executeTakeFirst()) !== undefined;
}

/** The rows that are wanted of all that were read. */
interface Answer {
  readonly wanted: readonly unknown[];
}

type Kept = LRUCache<string, Answer, () => Promise<Answer>>;

/** The last answers of stores with many accounts. */
const keptOf = new WeakMap<Store["db"], Kept>();

/**
 * Answers that were read from all accounts in the last minute. An older one is given out while the next is made, which all who ask
 * share.
 *
 * @param id Tells it from all else that is kept of the store.
 */
export async function readKept<Value extends Answer>(
  db: Store["db"],
  id: string,
  read: () => Promise<Value>,
): Promise<Value> {
  let answers = keptOf.get(db);
  if (answers === undefined) {
    answers = new LRUCache({
      maxSize: keptRowsMax,
      sizeCalculation: ({ wanted: rows }) => rows.length + 1,
      ttl: keptMs,
      allowStale: true,
      fetchMethod: (_asked, _last, { context }) => context(),
    });
    keptOf.set(db, answers);
  }
  if (answers.getRemainingTTL(id) < keptMs - keptMaxMs) answers.delete(id);
  // An id has answers of one kind.
  return ((await answers.fetch(id, { context: read })) as Value | undefined) ?? (await read());
}

import { LRUCache } from "lru-cache";
import type { Store } from "../db/index.ts";

/** With more accounts, reading all of them takes a tenth of a second or longer, so it is done at most once a minute. */
const accountsReadAlways = 5000;
const keptMs = 60_000;
/** An older answer is not shown, not even while the next one is made. */
const keptMaxMs = 600_000;
/** Rows of all answers that are kept in memory, some MB. */
const keptRowsMax = 20_000;

/** Whether there are so many accounts that a page should not wait for a read of all of them. */
export async function hasManyAccounts(db: Store["db"]): Promise<boolean> {
  const accounts = db.selectFrom("accounts").select("id").where("id", ">", "").orderBy("id");
  return (await accounts.offset(accountsReadAlways).limit(1).executeTakeFirst()) !== undefined;
}

/** The selected rows of a read over all accounts. */
interface Answer {
  readonly wanted: readonly unknown[];
}

type Kept = LRUCache<string, Answer, () => Promise<Answer>>;

/** The last answers of stores with many accounts. */
const keptOf = new WeakMap<Store["db"], Kept>();

/**
 * Returns an answer that was read from all accounts in the last minute. An older answer is returned while the next one
 * is made; concurrent callers share that read.
 *
 * @param id Distinguishes it from all other answers kept for the store.
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

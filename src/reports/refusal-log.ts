import { sql } from "kysely";
import { deleteInBatches, type RefusalsTable, type Store } from "../db/index.ts";

/** Refused requests of one account that are kept, the newest ones. */
export const refusalsOfAccountMax = 10_000;
/** Limit of the refused requests that are kept, over all accounts. */
const refusalsMax = 1_000_000;
const flushMs = 1000;
/** Rows of their own that one account, and all together, get in one flush. Further requests are summed up. */
const accountRowsMax = 20;
const rowsMax = 100;
/** Sums of further requests in one flush, by key and error. */
const sumsMax = 100;
const dayMs = 86_400_000;

/** A refused request, as passed to {@link RefusalLog}. */
export type RefusedRequest = Omit<RefusalsTable, "requests">;

/** Options of {@link RefusalLog}. */
export interface RefusalLogOptions {
  readonly store: Store;
  readonly retentionDays: number;
  readonly now: () => number;
  /** Called at once for each refused request. */
  readonly onRefused?: ((request: RefusedRequest) => void) | undefined;
  /** Receives a warning about requests that could not be recorded. */
  readonly log: { warn(event: string, fields: Record<string, unknown>): void };
}

/**
 * Records refused requests, once a second and apart from their answers. A flood costs a bounded number of rows: beyond
 * that number, requests with the same key and error share one row that counts them, and requests beyond that bound are
 * dropped.
 */
export class RefusalLog {
  readonly #options: RefusalLogOptions;
  #rows: RefusalsTable[] = [];
  #rowsOfAccounts = new Map<string, number>();
  #sums = new Map<string, RefusalsTable>();
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Accounts that may have too many rows since they were last pruned. */
  #accountIds = new Set<string>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** Neither throws nor waits. */
  add(request: RefusedRequest): void {
    const { account_id: accountId, key_id: keyId, error_code: code, status } = request;
    this.#options.onRefused?.(request);
    const count = this.#rowsOfAccounts.get(accountId) ?? 0;
    if (count < accountRowsMax && this.#rows.length < rowsMax) {
      this.#rowsOfAccounts.set(accountId, count + 1);
      this.#rows.push({ ...request, requests: 1 });
    } else {
      const name = `${keyId} ${status} ${code}`;
      const sum = this.#sums.get(name);
      if (sum !== undefined) sum.requests += 1;
      else if (this.#sums.size < sumsMax) this.#sums.set(name, { ...request, requests: 1 });
      else this.#dropped += 1;
    }
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Writes the requests added so far. A failed write is dropped to keep memory bounded. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const rows = [...this.#rows, ...this.#sums.values()];
    const dropped = this.#dropped;
    this.#timer = undefined;
    this.#rows = [];
    this.#rowsOfAccounts = new Map();
    this.#sums = new Map();
    this.#dropped = 0;
    const { store, log } = this.#options;
    if (dropped > 0) log.warn("refusals_not_recorded", { requests: dropped });
    if (rows.length === 0) return;
    for (const { account_id: accountId } of rows) this.#accountIds.add(accountId);
    try {
      await store.db.insertInto("refusals").values(rows).execute();
    } catch (error) {
      log.warn("refusals_not_recorded", { requests: rows.reduce((sum, row) => sum + row.requests, 0), error });
    }
  }

  /**
   * Deletes expired requests, and the oldest requests if an account, or all accounts together, have too many. For a
   * timer of the owner.
   */
  async prune(): Promise<number> {
    const { store, retentionDays, now } = this.#options;
    const accountIds = this.#accountIds;
    this.#accountIds = new Set();
    let pruned = await deleteBefore(store, now() - retentionDays * dayMs);
    for (const accountId of accountIds) pruned += await deleteBeyond(store, refusalsOfAccountMax, accountId);
    return pruned + (await deleteBeyond(store, refusalsMax));
  }
}

/** Deletes the oldest where there are more than `most`. */
async function deleteBeyond(store: Store, most: number, accountId?: string): Promise<number> {
  const oldest = await store.db
    .selectFrom("refusals")
    .select("opened_at")
    .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
    .orderBy("opened_at", "desc")
    .offset(most - 1)
    .limit(1)
    .executeTakeFirst();
  return oldest === undefined ? 0 : deleteBefore(store, oldest.opened_at, accountId);
}

function deleteBefore({ db }: Store, before: number, accountId?: string): Promise<number> {
  const ofAccount = accountId === undefined ? sql`` : sql`and account_id = ${accountId}`;
  return deleteInBatches(db, "refusals", sql`opened_at < ${before} ${ofAccount}`);
}

import type { Selectable } from "kysely";
import { type Database, type Store, toCallKey, toPayerNumber } from "../db/index.ts";
import { nextAccount } from "../ledger/index.ts";

/** A call as it is written. */
export type WrittenCall = Selectable<Database["calls"]>;

/**
 * Filter of exported calls: those that have ended, and began from `from` until before `until`, milliseconds since 1970.
 */
export interface CallsWanted {
  from: number;
  until: number;
  /** Absent: calls of all accounts. */
  accountId?: string | undefined;
}

/** Rows held in memory at a time. */
const pageRows = 500;

/**
 * Reads calls page by page, one account after the other, each in the order of time. It holds no transaction, so it does
 * not block a running gateway.
 */
export async function* exportCalls(store: Store, filter: CallsWanted): AsyncGenerator<WrittenCall[]> {
  if (filter.accountId !== undefined) {
    yield* readCalls(store, filter.accountId, filter);
    return;
  }
  let account = await nextAccount(store, 0);
  while (account !== undefined) {
    yield* readCalls(store, account.id, filter);
    account = await nextAccount(store, account.no);
  }
}

/**
 * Reads the calls that ended after a point in the order of their ends, up to another, page by page.
 *
 * @param range `seq` of calls: all above `after`, and those up to `until`.
 */
export function exportEnds(
  { db }: Pick<Store, "db">,
  { after, until }: { after: number; until: number },
): AsyncGenerator<WrittenCall[]> {
  return readPages((last) =>
    db
      .selectFrom("calls")
      .selectAll()
      .where("seq", ">", last?.seq ?? after)
      .where("seq", "<=", until)
      .orderBy("seq")
      .limit(pageRows)
      .execute(),
  );
}

function readCalls({ db }: Store, accountId: string, { from, until }: CallsWanted): AsyncGenerator<WrittenCall[]> {
  return readPages((last) => {
    const start = last?.opened_at ?? from;
    return db
      .selectFrom("calls")
      .selectAll()
      .where("account_no", "=", toPayerNumber(accountId))
      .where("opened_at", ">=", start)
      .where("opened_at", "<", until)
      .where((where) => where.or([where("opened_at", ">", start), where("id_bytes", ">", toCallKey(last?.id ?? ""))]))
      .orderBy("opened_at")
      .orderBy("id_bytes")
      .limit(pageRows)
      .execute();
  });
}

/** @param readPage Reads the rows behind the last one, at most {@link pageRows}. */
async function* readPages(
  readPage: (last: WrittenCall | undefined) => Promise<WrittenCall[]>,
): AsyncGenerator<WrittenCall[]> {
  let page: WrittenCall[] = [];
  do {
    page = await readPage(page.at(-1));
    if (page.length > 0) yield page;
  } while (page.length === pageRows);
}

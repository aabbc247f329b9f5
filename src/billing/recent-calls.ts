import { createHash } from "node:crypto";
import { type Store, usageColumns } from "../db/index.ts";

/** Which of the calls. */
export interface CallsPage {
  readonly limit: number;
  readonly before?: number | undefined;
  readonly beforeId?: string | undefined;
}

/** One of {@link readRecentCalls}. */
export type RecentCall = Awaited<ReturnType<typeof readRecentCalls>>[number];

/**
 * The latest calls of an account, newest first; `before` (milliseconds since 1970) goes further back, `beforeId` with it
 * among calls of that very millisecond.
 */
export function readRecentCalls(
  { db }: Store,
  accountId: string,
  { limit, before = Number.MAX_SAFE_INTEGER, beforeId = "" }: CallsPage,
) {
  return db
    .selectFrom("calls")
    .select([
      "id",
      "key_id",
      "model",
      "capability",
      "premium",
      "state",
      "opened_at",
      ...usageColumns,
      "usage_source",
      "cost_nanodollars",
      "charged_nanodollars",
      "quota_tokens",
      "route",
      "status",
      "error_code",
      "first_byte_ms",
      "duration_ms",
    ])
    .where("account_id", "=", accountId)
    .where("opened_at", "<=", before)
    .where((where) => where.or([where("opened_at", "<", before), where("id", "<", beforeId)]))
    .orderBy("opened_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** The latest calls of an account, newest first. */
export interface LatestCalls {
  readonly calls: readonly RecentCall[];
  /** Tells this list from any other: a client that knows it by that need not be sent it again. */
  readonly stamp: string;
}

/** The latest calls of an account; `undefined` when they are those that were seen with this stamp. */
export async function readLatestCalls(
  store: Store,
  accountId: string,
  { limit, seen }: { limit: number; seen?: string | undefined },
): Promise<LatestCalls | undefined> {
  // What an open page asks for every few seconds, and nearly always nothing is new: the rest of the rows is read later.
  if (seen && hashCalls(await readStates(store, accountId, limit)) === seen) return undefined;
  const calls = await readRecentCalls(store, accountId, { limit });
  return { calls, stamp: hashCalls(calls) };
}

function readStates({ db }: Store, accountId: string, limit: number) {
  return db
    .selectFrom("calls")
    .select(["id", "state"])
    .where("account_id", "=", accountId)
    .orderBy("opened_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** A call's row changes with its state alone. */
function hashCalls(calls: readonly Pick<RecentCall, "id" | "state">[]): string {
  const text = calls.map(({ id, state }) => `${id} ${state}\n`).join("");
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

import { createHash } from "node:crypto";
import type { CompiledQuery } from "kysely";
import { compiledOnce, type Store, shown } from "../store/index.ts";
import { type RecentCall, readRecentCalls } from "./recent-calls.ts";

/** The latest calls of an account, newest first. */
export interface LatestCalls {
  readonly calls: readonly RecentCall[];
  /** Tells this list from any other: who knows it by that need not read it again. */
  readonly stamp: string;
}

interface CallState {
  readonly id: string;
  readonly state: string;
}

/**
 * The latest calls of an account; absent when they are those that were seen with this stamp. That is most often so, and
 * costs a fraction, or nothing at all. For showing, as {@link readRecentCalls}.
 */
export async function readLatestCalls(
  store: Store,
  accountId: string,
  { limit, seen }: { limit: number; seen?: string | undefined },
): Promise<LatestCalls | undefined> {
  // Before they are read: what changes meanwhile is told by the next question.
  const version = store.callsVersion?.(accountId);
  if (version !== undefined && version === seen) return undefined;
  if (version === undefined && seen !== undefined) {
    if (stampOf(await readStates(store, accountId, limit)) === seen) return undefined;
  }
  const calls = await readRecentCalls(store, accountId, { limit });
  return { calls, stamp: version ?? stampOf(calls) };
}

/** A call's row changes with its state alone. */
function stampOf(calls: readonly CallState[]): string {
  let text = "";
  for (const { id, state } of calls) text += `${id} ${state}\n`;
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

async function readStates({ db }: Store, accountId: string, limit: number): Promise<CallState[]> {
  const query: CompiledQuery<CallState> = { ...statesFor(db), parameters: [accountId, limit] };
  return (await db.executeQuery(query)).rows;
}

/** Every open page asks this. */
const statesFor = compiledOnce((db: Store["db"]) =>
  db
    .selectFrom("calls")
    .select(["id", "state"])
    .where("account_id", "=", "")
    .orderBy("opened_at", "desc")
    .orderBy("id", "desc")
    .limit(0)
    .modifyEnd(shown)
    .compile(),
);

import { createHash } from "node:crypto";
import type { Store } from "../db/index.ts";
import { type RecentCall, readRecentCalls } from "./recent-calls.ts";

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
  const calls = await readRecentCalls(store, accountId, { limit });
  const stamp = stampOf(calls);
  return stamp === seen ? undefined : { calls, stamp };
}

/** A call's row changes with its state alone. */
function stampOf(calls: readonly RecentCall[]): string {
  const text = calls.map(({ id, state }) => `${id} ${state}\n`).join("");
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

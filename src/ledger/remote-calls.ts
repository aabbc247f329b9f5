import type { InferResult } from "kysely";
import { isSeen, type Store } from "../db/index.ts";
import { withTimeout } from "./with-timeout.ts";

/** A call that another process runs. */
export type RemoteCall = Omit<InferResult<ReturnType<typeof openElsewhere>>[number], "count">;

/** The calls that other processes run now. */
export interface RemoteCalls {
  /** Number of all calls. */
  readonly count: number;
  /** The longest running first, at most {@link remoteCallsMax}. */
  readonly calls: readonly RemoteCall[];
}

/** More calls than anyone reads; the count shows how many more there are. */
export const remoteCallsMax = 200;

/** Clients poll again soon. */
const waitMsDefault = 1000;

/**
 * Creates a reader of the calls that other processes are running. Calls of nodes that have not been seen lately are
 * left out.
 *
 * Concurrent readers share one query, on a connection that no call waits for: a database that hangs takes at most one
 * connection of the pool.
 *
 * @returns All calls, or the call with the given id, however many have run for longer. Fails when the database does not
 * answer within `waitMs`.
 */
export function remoteCalls(store: Store, waitMs = waitMsDefault): (callId?: string) => Promise<RemoteCalls> {
  let pending: Promise<RemoteCalls> | undefined;
  return (callId) => {
    if (callId !== undefined) return withTimeout(readElsewhere(store, callId), waitMs);
    pending ??= readElsewhere(store).finally(() => {
      pending = undefined;
    });
    return withTimeout(pending, waitMs);
  };
}

async function readElsewhere(store: Store, callId?: string): Promise<RemoteCalls> {
  const all = openElsewhere(store);
  const rows = await (callId === undefined ? all : all.where("id", "=", callId)).execute();
  return { count: rows[0] === undefined ? 0 : rows[0].count, calls: rows };
}

export function openElsewhere({ db, nodeId }: Store) {
  return db
    .selectFrom("open_calls")
    .select(["id", "account_id", "key_id", "model", "capability", "opened_at", "hold_nanodollars", "node_id"])
    .select((select) => select.fn.countAll<number>().over().as("count"))
    .where("node_id", "in", (select) => select.selectFrom("nodes").select("id").where("id", "<>", nodeId).where(isSeen))
    .orderBy("opened_at")
    .orderBy("id")
    .limit(remoteCallsMax);
}

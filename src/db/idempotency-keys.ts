import { type Kysely, type SqlBool, sql, type Transaction } from "kysely";
import { toCallKey } from "./call-columns.ts";
import { deleteInBatches } from "./delete-in-batches.ts";
import { lockName } from "./locks.ts";
import type { Database } from "./schema.ts";

/** How long a repeated request gets the answer of the first. */
const lifetimeMs = 86_400_000;
/** The most that the stored answers of an account take, compressed; older ones make room for newer ones. */
const accountBytesMax = 64 * 1024 * 1024;
/** Approximate size of a row without its answer, in bytes. */
const rowBytes = 512;

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  /** Identifies the combination of API key, endpoint and Idempotency-Key. */
  readonly id: string;
  readonly accountId: string;
  readonly callId: string;
  readonly bodyHash: string;
}

/**
 * The outcome of a claim. `claimed`: it is the first and must run. `running`: an equal one runs. `other_body`: the key belongs
 * to another request. `done`: an equal one has ended as `callId`; its answer takes so many bytes,
 * undefined when it was not stored.
 */
export type Claim =
  | { readonly state: "claimed" | "running" | "other_body" }
  | { readonly state: "done"; readonly callId: string; readonly answerBytes: number | undefined };

/** Calls with an Idempotency-Key and their answers. */
export interface IdempotencyKeys {
  claim(request: KeyedRequest): Promise<Claim>;
  /**
   * Stores the answer of a claimed request, or that there is no answer to store. The request does not run again either
   * way.
   */
  complete(request: KeyedRequest, answer: Uint8Array | undefined): Promise<void>;
  /** The stored answer; undefined if it has been deleted since. */
  readAnswer(id: string): Promise<Uint8Array | undefined>;
  /** Releases a claim: nothing was charged, and a repeated request runs again. */
  release(request: KeyedRequest): Promise<void>;
  /** Deletes expired rows and returns their number. */
  prune(now: number): Promise<number>;
}

interface IdempotencyKeysOptions {
  readonly db: Kysely<Database>;
  readonly now: () => number;
  /** The id of this process in a shared store; absent in an embedded store, which only one process serves. */
  readonly sharedNodeId?: string;
  /** Size limit of the stored answers of an account; default 64 MB. */
  readonly bytesMax?: number;
}

export function createIdempotencyKeys(options: IdempotencyKeysOptions): IdempotencyKeys {
  const { db, now, sharedNodeId, bytesMax = accountBytesMax } = options;
  const isShared = sharedNodeId !== undefined;
  const nodeId = sharedNodeId ?? crypto.randomUUID();
  /** The calls of claims that this process works on. */
  const working = new Set<string>();
  const claim = async (request: KeyedRequest): Promise<Claim> => {
    if (await insert(db, request, nodeId, now())) return { state: "claimed" };
    const row = await find(db, request.id);
    // Given up a moment ago: the next attempt claims it.
    if (row === undefined) return { state: "running" };
    if (row.body_hash !== request.bodyHash) return { state: "other_body" };
    if (row.state === "done") {
      const bytes = row.answer_bytes;
      return { state: "done", callId: row.call_id, answerBytes: bytes === null ? undefined : Number(bytes) };
    }
    const isAlive = row.node_id === nodeId ? working.has(row.call_id) : isShared && row.is_listed;
    return isAlive ? { state: "running" } : takeOver(db, request, row.call_id, nodeId);
  };
  return {
    async claim(request) {
      working.add(request.callId);
      let keyClaim: Claim | undefined;
      try {
        keyClaim = await claim(request);
        return keyClaim;
      } finally {
        if (keyClaim?.state !== "claimed") working.delete(request.callId);
      }
    },
    async complete(request, answer) {
      try {
        if (answer === undefined)
          await own(db.updateTable("idempotency_keys").set({ state: "done" }), request).execute();
        else
          await db.transaction().execute((transaction) => keep(transaction, { isShared, request, answer, bytesMax }));
      } finally {
        working.delete(request.callId);
      }
    },
    async readAnswer(id) {
      const row = await db.selectFrom("idempotency_keys").select("answer").where("id", "=", id).executeTakeFirst();
      return row?.answer ?? undefined;
    },
    async release(request) {
      try {
        await own(db.deleteFrom("idempotency_keys"), request).execute();
      } finally {
        working.delete(request.callId);
      }
    },
    prune: (time) => deleteInBatches(db, "idempotency_keys", sql`expires_at <= ${time}`),
  };
}

/** Inserts the row, or replaces an expired one; among equal requests at once only one succeeds. */
async function insert(
  db: Kysely<Database>,
  { id, accountId, callId, bodyHash }: KeyedRequest,
  nodeId: string,
  now: number,
): Promise<boolean> {
  const row = {
    id,
    account_id: accountId,
    call_id: callId,
    body_hash: bodyHash,
    node_id: nodeId,
    state: "running" as const,
    answer: null,
    position: null,
    expires_at: now + lifetimeMs,
  };
  const inserted = await db
    .insertInto("idempotency_keys")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(row).where("idempotency_keys.expires_at", "<=", now))
    .returning("id")
    .execute();
  return inserted.length > 0;
}

/** Not the answer: it is read once there is room for it. `is_listed`: the node that runs the call is not known to be dead. */
function find(db: Kysely<Database>, id: string) {
  return db
    .selectFrom("idempotency_keys")
    .select(["call_id", "body_hash", "node_id", "state"])
    .select(sql<number | string | null>`length(answer)`.as("answer_bytes"))
    .select((select) =>
      select
        .exists(select.selectFrom("nodes").select("nodes.id").whereRef("nodes.id", "=", "idempotency_keys.node_id"))
        .as("is_listed"),
    )
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Claims the request of a dead process, unless that has already charged it. */
async function takeOver(
  db: Kysely<Database>,
  request: KeyedRequest,
  deadCallId: string,
  nodeId: string,
): Promise<Claim> {
  // A call that was served by a fallback has rows with a number behind its id.
  const isOfRequest = sql<SqlBool>`id_bytes >= ${toCallKey(deadCallId)} and id_bytes < ${toCallKey(`${deadCallId}.`)}`;
  const open = await db.selectFrom("open_calls").select("id").where(isOfRequest).executeTakeFirst();
  // It is recovered within seconds.
  if (open !== undefined) return { state: "running" };
  const dead = { ...request, callId: deadCallId };
  const settled = db.selectFrom("calls").select("id").where(isOfRequest).where("state", "=", "settled");
  if ((await settled.executeTakeFirst()) !== undefined) {
    await own(db.updateTable("idempotency_keys").set({ state: "done" }), dead).execute();
    return { state: "done", callId: deadCallId, answerBytes: undefined };
  }
  const change = { call_id: request.callId, node_id: nodeId };
  const row = await own(db.updateTable("idempotency_keys").set(change), dead).returning("id").execute();
  return { state: row.length > 0 ? "claimed" : "running" };
}

interface KeptAnswer {
  readonly isShared: boolean;
  readonly request: KeyedRequest;
  readonly answer: Uint8Array;
  readonly bytesMax: number;
}

/** Positions count the stored bytes of an account, so those that must go are the ones so far behind the newest. */
async function keep(db: Transaction<Database>, { isShared, request, answer, bytesMax }: KeptAnswer): Promise<void> {
  const { accountId } = request;
  await lockName(db, `idempotency_keys ${accountId}`, isShared);
  const newest = await db
    .selectFrom("idempotency_keys")
    .select("position")
    .where("account_id", "=", accountId)
    .where("position", "is not", null)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
  const position = Number(newest?.position ?? 0) + answer.byteLength + rowBytes;
  await own(db.updateTable("idempotency_keys").set({ state: "done", answer, position }), request).execute();
  await db
    .updateTable("idempotency_keys")
    .set({ answer: null, position: null })
    .where("account_id", "=", accountId)
    .where("position", "<=", position - bytesMax)
    .execute();
}

/** Restricts a change to the claim of this call: another may have taken it over. */
function own<Query extends { where(column: "id" | "call_id" | "state", operator: "=", value: string): Query }>(
  query: Query,
  { id, callId }: KeyedRequest,
): Query {
  return query.where("id", "=", id).where("call_id", "=", callId).where("state", "=", "running");
}

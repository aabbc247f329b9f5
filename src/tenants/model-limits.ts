import { randomBytes } from "node:crypto";
import type { Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { type Administrator, recordAudit } from "../audit/index.ts";
import { GatewayError, isAmount, type ModelLimits, quoteValue, type RateLimits } from "../contract/index.ts";
import type { Database, ModelLimitsTable, Store, TransactionScope } from "../db/index.ts";
import { lockManaged } from "./roles.ts";

/** The calls that limits of a model count. */
export interface ModelLimitTarget {
  /** Absent: each account by itself that has no limits of its own for the model. */
  readonly accountId?: string | undefined;
  /** One key of the account; absent: all of them together. */
  readonly keyId?: string | undefined;
  /** The id of the model. */
  readonly model: string;
}

/** Limits of a model as they are stored. */
export interface StoredModelLimits extends ModelLimitTarget {
  readonly id: string;
  readonly limits: RateLimits;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** Models with limits for one account and its keys, or for each account: each look-up of a key reads all of them. */
const modelsMax = 1000;
const modelCharactersMax = 200;

/** The column of each limit. */
const columnOf = {
  requestsPerMinute: "requests_per_minute",
  tokensPerMinute: "tokens_per_minute",
  concurrentCalls: "concurrent_calls",
} as const satisfies Record<keyof RateLimits, keyof ModelLimitsTable>;
const limitNames = Object.keys(columnOf) as (keyof RateLimits)[];

/**
 * Sets the limits of a model, in place of those that it has there. What was counted stays.
 *
 * @throws {GatewayError} `invalid_request`, `not_found`, `forbidden`; `conflict` when there are too many.
 */
export async function setModelLimits(
  store: TransactionScope,
  { by, limits, ...target }: { readonly by: Administrator; readonly limits: RateLimits } & ModelLimitTarget,
  now: number,
): Promise<StoredModelLimits> {
  checkModelLimits({ ...target, limits });
  const { accountId, keyId, model } = target;
  return await store.change(async (db) => {
    if (accountId !== undefined) await lockManaged(db, by, accountId);
    if (keyId !== undefined) await expectKey(db, accountId, keyId);
    const where = { account_id: accountId ?? "", key_id: keyId ?? "", model };
    const present = await db
      .selectFrom("model_limits")
      .select(({ fn }) => fn.countAll().as("rows"))
      .where("account_id", "=", where.account_id)
      .executeTakeFirstOrThrow();
    if (Number(present.rows) >= modelsMax) {
      throw new GatewayError("conflict", `There are ${modelsMax} limits of models here; delete one first`);
    }
    const row = await db
      .insertInto("model_limits")
      .values({
        id: `rl_${randomBytes(9).toString("hex")}`,
        ...where,
        created_at: now,
        ...limitColumns(limits),
      })
      .onConflict((conflict) => conflict.columns(["account_id", "key_id", "model"]).doUpdateSet(limitColumns(limits)))
      .returningAll()
      .executeTakeFirstOrThrow();
    await record(db, by, "set", row, now);
    return toStored(row);
  });
}

/** Changes some of the limits of a model; `null` removes one. @throws {GatewayError} `invalid_request`, `not_found` */
export async function changeModelLimits(
  store: TransactionScope,
  change: {
    readonly by: Administrator;
    readonly accountId: string | undefined;
    readonly id: string;
    readonly changes: { readonly [Name in keyof RateLimits]: number | null | undefined };
  },
  now: number,
): Promise<StoredModelLimits> {
  const { by, accountId, id, changes } = change;
  const { limits, ...target } = await readModelLimits(store, accountId, id);
  const changed: RateLimits = { ...limits };
  for (const name of limitNames) if (changes[name] !== undefined) changed[name] = changes[name] ?? undefined;
  return await setModelLimits(store, { by, ...toTarget(target), limits: changed }, now);
}

/** @param accountId Absent: limits for each account. @throws {GatewayError} `not_found`, `forbidden` */
export async function deleteModelLimits(
  store: TransactionScope,
  { by, accountId, id }: { readonly by: Administrator; readonly accountId: string | undefined; readonly id: string },
  now: number,
): Promise<void> {
  await store.change(async (db) => {
    if (accountId !== undefined) await lockManaged(db, by, accountId);
    const row = await db
      .deleteFrom("model_limits")
      .where("id", "=", id)
      .where("account_id", "=", accountId ?? "")
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownLimits(id);
    await record(db, by, "delete", row, now);
  });
}

/**
 * The limits of models: those for each account first, and those of an account before those of its keys.
 *
 * @param accountId Those of an account and its keys; `null`: those for each account; absent: all.
 */
export async function listModelLimits(
  { db }: Pick<Store, "db">,
  accountId?: string | null,
  limit = modelsMax,
): Promise<StoredModelLimits[]> {
  let query = db.selectFrom("model_limits").selectAll();
  if (accountId !== undefined) query = query.where("account_id", "=", accountId ?? "");
  return (await query.orderBy("account_id").orderBy("key_id").orderBy("model").limit(limit).execute()).map(toStored);
}

/** @param accountId Absent: limits for each account. @throws {GatewayError} `not_found` */
async function readModelLimits(
  { db }: Pick<Store, "db">,
  accountId: string | undefined,
  id: string,
): Promise<StoredModelLimits> {
  const row = await db
    .selectFrom("model_limits")
    .selectAll()
    .where("id", "=", id)
    .where("account_id", "=", accountId ?? "")
    .executeTakeFirst();
  if (row === undefined) throw unknownLimits(id);
  return toStored(row);
}

/** @throws {GatewayError} `invalid_request` for limits that cannot be, whatever there is. */
export function checkModelLimits({
  model,
  accountId,
  keyId,
  limits,
}: ModelLimitTarget & { readonly limits: RateLimits }): void {
  if (model === "" || model.length > modelCharactersMax || !model.isWellFormed()) {
    throw invalid("model", `has ${model.length} characters, expected 1 to ${modelCharactersMax}`);
  }
  if (accountId === undefined && keyId !== undefined)
    throw invalid("api_key_id", "needs the account that the key belongs to");
  for (const name of limitNames) {
    const limit = limits[name];
    if (limit === undefined || (isAmount(limit) && limit >= 1)) continue;
    throw invalid(columnOf[name], `is ${limit}, expected a whole number from 1 to 2^53 - 1`);
  }
  if (limitNames.every((name) => limits[name] === undefined)) {
    throw invalid("requests_per_minute", "no limit is given: send one, or delete the limits of the model");
  }
}

/** Keys of an account have the same text mostly. */
const parsed = new LRUCache<string, ReadonlyMap<string, ModelLimits>>({ max: 1000 });

type LimitsOfKey = [
  accountId: string,
  keyId: string,
  model: string,
  requestsPerMinute: number | null,
  tokensPerMinute: number | null,
  concurrentCalls: number | null,
];

/** The limits of models in a `KeyRecord`, by model. Those of the account come before those for each account. */
export function readModelLimitsOfKey(text: string): ReadonlyMap<string, ModelLimits> {
  const cached = parsed.get(text);
  if (cached !== undefined) return cached;
  const byModel = new Map<string, { each?: RateLimits; account?: RateLimits; key?: RateLimits }>();
  for (const [accountId, keyId, model, requests, tokens, calls] of JSON.parse(text) as LimitsOfKey[]) {
    const owner = keyId !== "" ? "key" : accountId !== "" ? "account" : "each";
    const limits = {
      requestsPerMinute: requests ?? undefined,
      tokensPerMinute: tokens ?? undefined,
      concurrentCalls: calls ?? undefined,
    };
    byModel.set(model, { ...byModel.get(model), [owner]: limits });
  }
  const limits = new Map(
    [...byModel].map(([model, { each, account = each, key }]) => [model, { account, key }] as const),
  );
  parsed.set(text, limits);
  return limits;
}

function toStored(row: ModelLimitsTable): StoredModelLimits {
  return {
    id: row.id,
    accountId: row.account_id === "" ? undefined : row.account_id,
    keyId: row.key_id === "" ? undefined : row.key_id,
    model: row.model,
    limits: {
      requestsPerMinute: row.requests_per_minute ?? undefined,
      tokensPerMinute: row.tokens_per_minute ?? undefined,
      concurrentCalls: row.concurrent_calls ?? undefined,
    },
    createdAt: row.created_at,
  };
}

function toTarget({ accountId, keyId, model }: ModelLimitTarget): ModelLimitTarget {
  return { accountId, keyId, model };
}

function limitColumns({ requestsPerMinute, tokensPerMinute, concurrentCalls }: RateLimits) {
  return {
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute ?? null,
    concurrent_calls: concurrentCalls ?? null,
  };
}

async function expectKey(db: Transaction<Database>, accountId: string | undefined, keyId: string): Promise<void> {
  const query = db
    .selectFrom("keys")
    .select("id")
    .where("id", "=", keyId)
    .where("account_id", "=", accountId ?? "");
  if ((await query.executeTakeFirst()) !== undefined) return;
  throw invalid("api_key_id", `the project has no key ${quoteValue(keyId)}`);
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}

function unknownLimits(id: string): GatewayError {
  return new GatewayError("not_found", `There are no limits with the id ${quoteValue(id)} here`);
}

function record(
  db: Transaction<Database>,
  by: Administrator,
  what: "set" | "delete",
  row: ModelLimitsTable,
  now: number,
): Promise<void> {
  const detail = {
    account: row.account_id === "" ? null : row.account_id,
    key: row.key_id === "" ? null : row.key_id,
    model: row.model,
    requests_per_minute: row.requests_per_minute,
    tokens_per_minute: row.tokens_per_minute,
    concurrent_calls: row.concurrent_calls,
  };
  return recordAudit({ db }, { accountId: by.accountId, action: `model_limit.${what}`, subject: row.id, detail }, now);
}

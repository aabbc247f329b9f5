import { randomBytes } from "node:crypto";
import { Type } from "@sinclair/typebox";
import { LRUCache } from "lru-cache";
import { GatewayError, isAmount, type ModelLimits, optional, type RateLimits } from "../contract/index.ts";
import type { ModelLimitsTable, Store, TransactionScope } from "../db/index.ts";
import { defineFields, textOrEmpty } from "../lib/fields.ts";
import { limitFields } from "./limit-fields.ts";
import { eachAccount, expectKeyOf, type OwnedBy, ownedRows } from "./owned-rows.ts";

const KeyId = Type.String({ minLength: 1, maxLength: 100, description: "`null`: all keys of the account together" });

/** The fields of the limits of a model. Their owner and model are fixed when they are created. */
export const modelLimitFields = defineFields<ModelLimitsTable>()({
  model: {
    schema: Type.String({ minLength: 1, maxLength: 200, description: "Any name of the model" }),
    column: "model",
    form: { from: "models" },
  },
  api_key_id: {
    schema: optional(KeyId),
    column: "key_id",
    unit: textOrEmpty,
    form: { label: "With", from: "keys", empty: "All API keys" },
  },
  ...limitFields,
});

/** Limits of a model as they are stored. */
export type StoredModelLimits = ModelLimitsTable;
type LimitColumns = Pick<ModelLimitsTable, (typeof columnOf)[keyof RateLimits]>;
/** Columns of new limits. Those that are absent do not bind; without a key they bind all keys of the account together. */
export type NewModelLimits = Pick<ModelLimitsTable, "model"> & Partial<LimitColumns & Pick<ModelLimitsTable, "key_id">>;

const rows = ownedRows({
  table: "model_limits",
  things: "are no limits",
  action: "model_limit",
  actions: { change: "set", remove: "delete" },
  fields: modelLimitFields,
});
export const { read: readModelLimits, remove: deleteModelLimits } = rows;

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
 * Sets the limits of a model, and replaces existing limits. The counts stay.
 *
 * @throws {GatewayError} `invalid_request`, `not_found`, `forbidden`; `conflict` when there are too many.
 */
export async function setModelLimits(
  store: TransactionScope,
  { by, accountId, ...columns }: OwnedBy & NewModelLimits,
  now: number,
): Promise<StoredModelLimits> {
  checkModelLimits({ ...columns, account_id: accountId });
  const { key_id = "", model } = columns;
  const limits = { requests_per_minute: null, tokens_per_minute: null, concurrent_calls: null, ...columns };
  return await rows.inOwner(store, { by, accountId }, async (db) => {
    if (key_id !== "") await expectKeyOf(db, accountId, key_id);
    const present = await db
      .selectFrom("model_limits")
      .select(({ fn }) => fn.countAll().as("rows"))
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow();
    if (Number(present.rows) >= modelsMax) {
      throw new GatewayError("conflict", `There are ${modelsMax} limits of models here; delete one first`);
    }
    const row = await db
      .insertInto("model_limits")
      .values({
        ...limits,
        id: `rl_${randomBytes(9).toString("hex")}`,
        account_id: accountId,
        key_id,
        model,
        created_at: now,
      })
      .onConflict((conflict) => conflict.columns(["account_id", "key_id", "model"]).doUpdateSet(limits))
      .returningAll()
      .executeTakeFirstOrThrow();
    await rows.record(db, by, "set", row, now);
    return row;
  });
}

/** Changes some of the limits of a model; `null` removes one. @throws {GatewayError} `invalid_request`, `not_found`, `forbidden` */
export function changeModelLimits(
  store: TransactionScope,
  change: OwnedBy & { readonly id: string; readonly changes: Partial<LimitColumns> },
  now: number,
): Promise<StoredModelLimits> {
  return rows.change(store, change, now, checkModelLimits);
}

/**
 * Lists the limits of models: limits for each account first, and limits of an account before the limits of its keys.
 *
 * @param accountIds Limits of these accounts and their keys only; absent: all.
 */
export async function listModelLimits(
  { db }: Pick<Store, "db">,
  accountIds?: readonly string[],
  limit = modelsMax,
): Promise<StoredModelLimits[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("model_limits").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  return await query.orderBy("account_id").orderBy("key_id").orderBy("model").limit(limit).execute();
}

/** @throws {GatewayError} `invalid_request` for limits that cannot be, whatever there is. */
export function checkModelLimits({
  model,
  account_id: accountId,
  key_id: keyId = "",
  ...columns
}: NewModelLimits & { readonly account_id?: string | undefined }): void {
  if (model === "" || model.length > modelCharactersMax || !model.isWellFormed()) {
    throw invalid("model", `has ${model.length} characters, expected 1 to ${modelCharactersMax}`);
  }
  if (accountId === eachAccount && keyId !== "") {
    throw invalid("api_key_id", "needs the account that the key belongs to");
  }
  const limits = limitNames.map((name) => [columnOf[name], columns[columnOf[name]] ?? undefined] as const);
  for (const [name, limit] of limits) {
    if (limit === undefined || (isAmount(limit) && limit >= 1)) continue;
    throw invalid(name, `is ${limit}, expected a whole number from 1 to 2^53 - 1`);
  }
  if (limits.every(([, limit]) => limit === undefined)) {
    throw invalid("requests_per_minute", "no limit is set: send one, or delete the limits of the model");
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

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}

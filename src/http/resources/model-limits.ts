import { Type } from "@sinclair/typebox";
import {
  changeModelLimits,
  checkModelLimits,
  deleteModelLimits,
  eachAccount,
  listModelLimits,
  modelLimitFields,
  type NewModelLimits,
  readModelLimits,
  type StoredModelLimits,
  setModelLimits,
} from "../../tenants/index.ts";
import { defineResource } from "./resource.ts";

/**
 * Limits of the calls of single models: of each account by itself, of an account, or of a key. The management API has them in the
 * shape of OpenAI's rate limits, which its own routes make.
 */
export const modelLimits = defineResource<StoredModelLimits, typeof modelLimitFields, { model: string }>()({
  name: "limit",
  area: "accounts",
  idName: "rate_limit_id",
  fields: modelLimitFields,
  derived: { model: Type.String() },
  deleted: "project.rate_limit.deleted",
  mounts: [],
  document: {
    section: "rate_limits",
    description: "Of single models; others stand with what they bind",
    identity: ["api_key_id", "model"],
    label: ({ model, api_key_id: key }) => [model, ...(key == null ? [] : [key])].join(" "),
    each: "each account",
    keyFields: () => ["api_key_id"],
    check: (columns, { owner, present }) =>
      checkModelLimits({ ...present, ...(columns as NewModelLimits), account_id: owner }),
  },
  commands: {
    // `limit set` creates them, or takes the place of those that a model has there.
    verbs: ["list", "show", "change", "remove"],
    create: "--account ada@example.org --model gpt-4.1 --requests-per-minute 60",
    change: "ID --requests-per-minute 600 --concurrent-calls none",
  },
  eachOwner: eachAccount,
  ownerOf: ({ account_id }) => account_id,
  async resolve({ countedModelIdOf }, columns) {
    return columns.model === undefined ? columns : { ...columns, model: await countedModelIdOf(columns.model) };
  },
  list: ({ store }, owners, { limit }) => listModelLimits(store, owners, limit),
  read: ({ store }, owner, id) => readModelLimits(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    setModelLimits(store, { by, accountId, ...(columns as NewModelLimits) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changes) =>
    changeModelLimits(store, { by, accountId, id, changes }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteModelLimits(store, { by, accountId, id }, now()),
  async derive({ modelNameOf }, rows) {
    const ids = [...new Set(rows.map(({ model }) => model))];
    const names = new Map(await Promise.all(ids.map(async (id) => [id, await modelNameOf(id)] as const)));
    return ({ model }) => ({ model: names.get(model) ?? model });
  },
});

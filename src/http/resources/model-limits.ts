import { Type } from "@sinclair/typebox";
import {
  changeModelLimits,
  changeProject,
  checkModelLimits,
  deleteModelLimits,
  eachAccount,
  findAccounts,
  listModelLimits,
  modelLimitFields,
  type NewModelLimits,
  readModelLimits,
  readRoleLimits,
  type StoredModelLimits,
  setModelLimits,
} from "../../tenants/index.ts";
import { defineResource, pageOf, type ResourceDeps } from "./resource.ts";

/** The limits of a project for all its models together. They are listed with the limits of single models. */
const limitOfAll = { id: "all", model: "*" };

async function readLimitOfAll({ store, config }: ResourceDeps, accountId: string): Promise<StoredModelLimits> {
  const [account] = (await findAccounts(store, [accountId])).values();
  const ofRole = await readRoleLimits(store, accountId);
  return {
    ...limitOfAll,
    account_id: accountId,
    key_id: "",
    created_at: 0,
    requests_per_minute: account?.requestsPerMinute ?? ofRole.requests_per_minute ?? config.requestsPerMinute,
    tokens_per_minute: account?.tokensPerMinute ?? ofRole.tokens_per_minute ?? config.tokensPerMinute,
    concurrent_calls: account?.concurrentCalls ?? ofRole.concurrent_calls ?? config.concurrentCalls ?? null,
  };
}

const creates = "Replaces the existing limits of the model. A call must satisfy all limits that apply to it.";

/** Limits of the calls of single models: of each account by itself, of an account, or of a key. */
export const modelLimits = defineResource<
  StoredModelLimits,
  typeof modelLimitFields,
  { object: "project.rate_limit"; model: string }
>()({
  name: "limit",
  area: "accounts",
  idName: "rate_limit_id",
  fields: modelLimitFields,
  derived: {
    object: Type.Literal("project.rate_limit"),
    model: Type.String({ description: "`*`: all models together" }),
  },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "project.rate_limit.deleted",
  mounts: [
    {
      path: "/organization/projects/:project_id/rate_limits",
      owner: "project",
      lists: "The first one, `all`, is for all models together.",
      creates,
      changes:
        "`null` removes a limit of a model; for all models, it restores the limit of the role or the configured limit.",
      whole: {
        id: limitOfAll.id,
        read: readLimitOfAll,
        async change(deps, by, accountId, columns) {
          const { requests_per_minute, tokens_per_minute, concurrent_calls } = columns;
          const changes = {
            requestsPerMinute: requests_per_minute,
            tokensPerMinute: tokens_per_minute,
            concurrentCalls: concurrent_calls,
          };
          await changeProject(deps.store, { by, accountId, changes }, deps.now);
          return await readLimitOfAll(deps, accountId);
        },
      },
    },
    {
      path: "/organization/rate_limits",
      owner: "gateway",
      lists: "Each project without its own limits for the model; limits of its keys apply as well.",
      creates: "Each project without its own limits for the model; limits of its keys apply as well.",
      changes: "`null` removes a limit.",
    },
  ],
  document: {
    section: "rate_limits",
    description: "Limits of single models; other limits are in the entries that they apply to",
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
  section: {
    title: "Limits of models",
    page: "budgets",
    about: "For each account without its own limits for the model.",
    entry: "the limits of {}",
    add: "Limit a model",
    form: "Calls beyond its limits are refused, or go on to the next model of a virtual model.",
    submit: "Set limits",
    saved: "The limits are set",
    none: "No limit",
    empty: "No limits of models",
    emptyOfGateway: "Accounts may call each model as often as their other limits allow.",
    emptyOfAccount: "Calls count against the limits above, and against the model limits for each account.",
    removal: [
      "Delete these limits?",
      "Delete limits",
      "Calls of {} then count against the other limits alone.",
      "The limits are deleted",
    ],
  },
  eachOwner: eachAccount,
  ownerOf: ({ account_id }) => account_id,
  async resolve({ countedModelIdOf }, columns) {
    return columns.model === undefined ? columns : { ...columns, model: await countedModelIdOf(columns.model) };
  },
  list: async ({ store }, owners, page) =>
    pageOf(await listModelLimits(store, owners, page.after === undefined ? page.limit : undefined), page),
  read: ({ store }, owner, id) => readModelLimits(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    setModelLimits(store, { by, accountId, ...(columns as NewModelLimits) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changes) =>
    changeModelLimits(store, { by, accountId, id, changes }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteModelLimits(store, { by, accountId, id }, now()),
  async derive({ modelNameOf }, rows) {
    const ids = [...new Set(rows.map(({ model }) => model))].filter((id) => id !== limitOfAll.model);
    const names = new Map(await Promise.all(ids.map(async (id) => [id, await modelNameOf(id)] as const)));
    return ({ model }) => ({ object: "project.rate_limit", model: names.get(model) ?? model });
  },
});

import { Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import {
  changePolicyRule,
  checkPolicyRule,
  createPolicyRule,
  eachAccount,
  listPolicyRules,
  type NewPolicyRule,
  policyRuleFields,
  readPolicyRule,
  removePolicyRule,
  type StoredPolicyRule,
} from "../../tenants/index.ts";
import { defineResource, pageOf } from "./resource.ts";

interface DerivedOfRule {
  readonly object: "organization.policy";
  readonly model: string | null;
  readonly is_loaded: boolean | null;
  readonly created_at: number;
}

const changes = "It applies from the next call on.";

/** Where policies look at the requests and answers of calls. */
export const policies = defineResource<StoredPolicyRule, typeof policyRuleFields, DerivedOfRule>()({
  name: "policy",
  area: "accounts",
  idName: "policy_id",
  fields: policyRuleFields,
  derived: {
    object: Type.Literal("organization.policy"),
    model: nullable(Type.String()),
    is_loaded: nullable(
      Type.Boolean({ description: "`false`: no file has the policy, so it fails; `null`: not known" }),
    ),
    created_at: Type.Integer(),
  },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.policy.deleted",
  mounts: [
    {
      path: "/organization/projects/:project_id/policies",
      owner: "project",
      lists: "In addition to those of the gateway, which come first.",
      creates: "Has a policy look at the calls of the project, of one of its keys, or of one model.",
      changes,
    },
    {
      path: "/organization/policies",
      owner: "gateway",
      lists: "Those of the whole gateway.",
      creates:
        "Has a policy look at all calls, or those of one model. Projects can add others, and remove none of these.",
      changes,
    },
  ],
  document: {
    section: "policies",
    description: "Policies that look at calls, by account, key and model, or in the whole gateway",
    identity: ["policy", "api_key_id", "model"],
    label: ({ policy, api_key_id: key, model }) => [policy, key, model].filter((part) => part != null).join(" "),
    each: "gateway",
    keyFields: () => ["api_key_id"],
    check: (columns, { owner, present }) =>
      checkPolicyRule({ ...present, ...(columns as Partial<NewPolicyRule>), account_id: owner }),
  },
  commands: {
    create: "--policy no-projects --order 10 --on-failure closed",
    change: "ID --order 20",
  },
  section: {
    title: "Policies",
    about: "They look at the calls of every account, before those of an account.",
    entry: "the policy {}",
    add: "Add a policy",
    form: "A policy is a file in the plugins folder. It allows requests and answers, refuses them, or replaces their texts.",
    saved: "The policy applies from the next call on",
    empty: "No policies",
    emptyOfGateway: "No policy looks at all calls.",
    emptyOfAccount: "The policies of the gateway alone look at the calls of this account.",
    removal: [
      "Remove this policy?",
      "Remove policy",
      "{} no longer looks at these calls. Its file stays.",
      "The policy is removed",
    ],
  },
  eachOwner: eachAccount,
  isServedBy: true,
  ownerOf: ({ account_id }) => account_id,
  async resolve({ countedModelIdOf }, columns) {
    const { model } = columns;
    return model === undefined || model === "" ? columns : { ...columns, model: await countedModelIdOf(model) };
  },
  list: async ({ store }, owners, page) => pageOf(await listPolicyRules(store, owners), page),
  read: ({ store }, owner, id) => readPolicyRule(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    createPolicyRule(store, { by, accountId, ...(columns as NewPolicyRule) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changed) =>
    changePolicyRule(store, { by, accountId, id, changes: changed }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => removePolicyRule(store, { by, accountId, id }, now()),
  async derive({ modelNameOf, hasPolicy }, rows) {
    const ids = [...new Set(rows.map(({ model }) => model))].filter((id) => id !== "");
    const names = new Map(await Promise.all(ids.map(async (id) => [id, await modelNameOf(id)] as const)));
    return ({ policy, model, created_at: at }) => ({
      object: "organization.policy",
      model: model === "" ? null : (names.get(model) ?? model),
      is_loaded: hasPolicy(policy) ?? null,
      created_at: Math.floor(at / 1000),
    });
  },
});

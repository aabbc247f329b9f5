import { type Static, type TObject, Type } from "@sinclair/typebox";
import { formatUsd, nullable } from "../../contract/index.ts";
import { endOfPeriod, ownBudgetId, startOfPeriod } from "../../db/index.ts";
import {
  type BudgetTarget,
  budgetFields,
  changeBudget,
  checkBudget,
  createBudget,
  deleteBudget,
  eachAccount,
  listBudgets,
  type NewBudget,
  readBudgetOf,
  readSpentOfBudgets,
  type StoredBudget,
} from "../../tenants/index.ts";
import { defineResource, type ResourceDeps } from "./resource.ts";

/** The properties of a budget in answers that are no fields of it. */
export const derivedOfBudget = {
  object: Type.Union([Type.Literal("organization.project.budget"), Type.Literal("organization.budget")]),
  used_usd: nullable(Type.String({ description: "Spend in this period; `null` if each subject has its own" })),
  resets_at: nullable(Type.String({ format: "date-time" })),
  created_at: Type.Integer(),
};

export type DerivedOfBudget = Static<TObject<typeof derivedOfBudget>>;

/** Reads what is spent of budgets, which is unknown where each subject has its own. */
export async function deriveBudgets(
  { store, now }: Pick<ResourceDeps, "store" | "now">,
  budgets: readonly StoredBudget[],
): Promise<(budget: StoredBudget) => DerivedOfBudget> {
  const spent = await readSpentOfBudgets(store, budgets, now());
  return ({ id, account_id, budget_period: period, created_at }) => {
    const used = spent.get(id);
    const isEndless = period === "lifetime" || period === "session";
    return {
      object: account_id === eachAccount ? "organization.budget" : "organization.project.budget",
      used_usd: used === undefined ? null : formatUsd(used),
      resets_at: isEndless ? null : new Date(endOfPeriod(startOfPeriod(now(), period), period)).toISOString(),
      created_at: Math.floor(created_at / 1000),
    };
  };
}

const changes = "`raise_usd` is added to it until `raise_until`; `null` ends the raise. The recorded spend stays.";

/**
 * Budgets of a project, of its keys, and of the end users, tags, sessions and models of its calls; and the budgets of
 * the gateway.
 */
export const budgets = defineResource<StoredBudget, typeof budgetFields, DerivedOfBudget>()({
  name: "budget",
  area: "accounts",
  idName: "budget_id",
  fields: budgetFields,
  derived: derivedOfBudget,
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.project.budget.deleted",
  mounts: [
    {
      path: "/organization/projects/:project_id/budgets",
      owner: "project",
      creates:
        "With a `name` it counts the calls of one end user, tag, session, model or key, without one those of each by " +
        "itself, and calls that name none as one more. Who has a budget of its own is not one of each. What was spent in its " +
        "period before counts too.",
      changes,
    },
    {
      path: "/organization/budgets",
      owner: "gateway",
      creates:
        "It limits each project, team, key, end user, tag, session or model separately, in addition to the budgets of projects. " +
        "Two projects never share an end user, a tag or a session. Requests of a project that name none count together as " +
        "one. Earlier spend in its current period counts too.",
      changes,
    },
  ],
  document: {
    section: "budgets",
    identity: ["subject", "name", "api_key_id", "budget_period"],
    /** "tag each week key_1" */
    label: ({ subject, name, budget_period: period, api_key_id: key }) =>
      [subject, name ?? "each", period, ...(key == null ? [] : [key])].join(" "),
    // It is among the fields of its account or key.
    isElsewhere: ({ id, account_id, name, raise_until }) =>
      id === ownBudgetId(name ?? account_id) && raise_until === null,
    inForce: (columns, now) =>
      columns.raise_until != null && columns.raise_until <= now
        ? { ...columns, raise_nanodollars: null, raise_until: null }
        : columns,
    keyFields: ({ subject }) => (subject === "key" ? ["api_key_id", "name"] : ["api_key_id"]),
    check: (columns, { owner, now }) =>
      checkBudget({ ...(columns as BudgetTarget & NewBudget), account_id: owner }, now),
  },
  commands: {
    create: "--account ada@example.org --subject end_user --budget-usd 5 --budget-period day",
    change: "ID --raise-usd 10 --raise-until 7d",
  },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: ({ account_id }) => account_id,
  async resolve({ modelIdOf }, columns) {
    const { subject, name } = columns;
    return subject === "model" && name != null ? { ...columns, name: await modelIdOf(name) } : columns;
  },
  list: ({ store }, owners, page) => listBudgets(store, owners, page),
  read: ({ store }, owner, id) => readBudgetOf(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    createBudget(store, { by, accountId, ...(columns as NewBudget) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changes) =>
    changeBudget(store, { by, accountId, id, changes }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteBudget(store, { by, accountId, id }, now()),
  derive: deriveBudgets,
});

import { type Static, type TObject, Type } from "@sinclair/typebox";
import { formatUsd } from "../../contract/index.ts";
import { endOfPeriod, startOfPeriod } from "../../db/index.ts";
import {
  budgetFields,
  changeBudget,
  createBudget,
  deleteBudget,
  eachAccount,
  listBudgets,
  type NewBudget,
  readBudgetOf,
  readSpentOfBudgets,
  type StoredBudget,
} from "../../tenants/index.ts";
import type { Resource, ResourceDeps } from "./resource.ts";

const orNull = <Schema extends ReturnType<typeof Type.String>>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** The properties of a budget in answers that are no fields of it. */
export const derivedOfBudget = {
  object: Type.Union([Type.Literal("organization.project.budget"), Type.Literal("organization.budget")]),
  used_usd: orNull(Type.String({ description: "In this period; `null` where each has its own" })),
  resets_at: orNull(Type.String({ format: "date-time" })),
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

/** Budgets of a project: of itself, its keys, and the end users, tags, sessions and models of its calls; and those of the gateway. */
export const budgets: Resource<StoredBudget, typeof budgetFields, DerivedOfBudget> = {
  name: "budget",
  area: "accounts",
  idName: "budget_id",
  fields: budgetFields,
  derived: derivedOfBudget,
  deleted: "organization.project.budget.deleted",
  // A model may have any of its names.
  async resolve({ modelIdOf }, columns) {
    const { subject, name } = columns;
    return subject === "model" && name != null ? { ...columns, name: await modelIdOf(name) } : columns;
  },
  list: ({ store }, owner, page) => listBudgets(store, owner === undefined ? undefined : [owner], page),
  ownerOf: ({ account_id }) => account_id,
  read: ({ store }, owner, id) => readBudgetOf(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    createBudget(store, { by, accountId, ...(columns as NewBudget) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changes) =>
    changeBudget(store, { by, accountId, id, changes }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteBudget(store, { by, accountId, id }, now()),
  derive: deriveBudgets,
};

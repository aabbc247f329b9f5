import { type Static, type TObject, Type } from "@sinclair/typebox";
import { formatUsd } from "../../contract/index.ts";
import { endOfPeriod, startOfPeriod } from "../../db/index.ts";
import { eachAccount, readSpentOfBudgets, type StoredBudget } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";

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
  { store, now }: Pick<HttpDeps, "store" | "now">,
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

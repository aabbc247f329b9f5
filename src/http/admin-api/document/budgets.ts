import { ownBudgetId } from "../../../db/index.ts";
import { type BudgetTarget, checkBudget, eachAccount, listBudgets, type NewBudget } from "../../../tenants/index.ts";
import { budgets as resource } from "../../resources/budgets.ts";
import { resourceSection } from "./resource-section.ts";

/** The budgets, but for those that accounts and keys have among their fields. */
export const budgets = resourceSection(resource, {
  section: "budgets",
  identity: ["subject", "name", "api_key_id", "budget_period"],
  /** "tag each week key_1" */
  label: ({ subject, name, budget_period: period, api_key_id: key }) =>
    [subject, name ?? "each", period, ...(key == null ? [] : [key])].join(" "),
  eachOwner: eachAccount,
  listAll: ({ store }, owners, limit) => listBudgets(store, owners, { limit }),
  // It is among the fields of its account or key.
  isElsewhere: ({ id, account_id, name, raise_until }) =>
    id === ownBudgetId(name ?? account_id) && raise_until === null,
  inForce: (columns, now) =>
    columns.raise_until != null && columns.raise_until <= now
      ? { ...columns, raise_nanodollars: null, raise_until: null }
      : columns,
  keyFields: ({ subject }) => (subject === "key" ? ["api_key_id", "name"] : ["api_key_id"]),
  check: (columns, owner, now) => checkBudget({ ...(columns as BudgetTarget & NewBudget), account_id: owner }, now),
});

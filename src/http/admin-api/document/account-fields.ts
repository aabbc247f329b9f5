import type { Static } from "@sinclair/typebox";
import { formatUsd } from "../../../contract/index.ts";
import { readBudget } from "../../../lib/fields.ts";
import { checkNames, modelNamesOf, type Period } from "../../forms/read-fields.ts";
import { invalid } from "../lists.ts";
import type { FieldChanges, Planning } from "./section.ts";

interface Budget {
  readonly budget_usd?: string | null | undefined;
  readonly budget_period?: Static<typeof Period> | null | undefined;
}

/**
 * Formats a budget as the document writes it, so `5.00` is not a change of `5`. An absent period stays, and without an
 * amount there is no budget.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function toBudget({ budget_usd: usd, budget_period: period }: Budget, current: Budget): Budget {
  if (usd === null) return { budget_usd: null, budget_period: null };
  if (usd === undefined && (period === undefined || period === null)) return {};
  const amount = usd === undefined ? current.budget_usd : formatUsd(readBudget(usd));
  if (amount == null) throw invalid("budget_usd", "budget_period is set without budget_usd; send both");
  return { budget_usd: amount, budget_period: period ?? current.budget_period ?? "month" };
}

/**
 * Returns the fields of an entry that differ, so only the planned changes are written. A budget is an amount and a
 * period.
 */
export function toBody<Entry extends Budget>(target: Entry, fields: FieldChanges) {
  const isBudget = "budget_usd" in fields || "budget_period" in fields;
  const { budget_usd, budget_period, ...others } = target;
  const changed = Object.fromEntries(Object.entries(others).filter(([name]) => name in fields));
  return {
    ...(changed as Partial<Omit<Entry, keyof Budget>>),
    ...(isBudget && { budget_usd: budget_usd ?? null, ...(budget_period != null && { budget_period }) }),
  };
}

/** An entry whose list of models has ids; names that no model has are among the warnings of the plan. */
export function withPlannedIds<Entry extends { readonly allowed_models?: readonly string[] | null | undefined }>(
  planning: Planning,
  entry: Entry,
): Entry {
  if (entry.allowed_models == null) return entry;
  checkNames(planning.deps, entry.allowed_models);
  const allowed = modelNamesOf(planning.deps).toIds(entry.allowed_models, {
    planned: (name) => planning.addedModels.get(name),
    onUnknown: (message) => planning.warnings.add(`A list of models is kept as it is, but ${message}`),
  });
  return { ...entry, allowed_models: allowed };
}

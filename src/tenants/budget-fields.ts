import { Type } from "@sinclair/typebox";
import { type Budget, type BudgetSubject, budgetPeriods, budgetSubjects, optional } from "../contract/index.ts";
import type { BudgetsTable } from "../db/index.ts";
import { defineFields, seconds, Usd, usd } from "../lib/fields.ts";

const Subject = Type.Unsafe<BudgetSubject>(
  Type.Union(
    budgetSubjects.map((subject) => Type.Literal(subject)),
    { description: "The kind of subject whose calls it counts" },
  ),
);
const Period = Type.Unsafe<Budget["period"]>(Type.Union(budgetPeriods.map((period) => Type.Literal(period))));
const Name = Type.String({
  minLength: 1,
  maxLength: 200,
  description: "Name of the subject; `null`: each subject separately, and all requests that name none together",
});
const KeyId = Type.String({ minLength: 1, maxLength: 100, description: "`null`: all keys of the project" });
const Until = Type.Integer({ minimum: 1, maximum: 10_000_000_000, description: "Seconds since 1970" });

/**
 * The fields of a budget. Its subject is fixed when it is created; only its period can change, to another period that
 * ends.
 */
export const budgetFields = defineFields<BudgetsTable>()({
  subject: { schema: Subject, column: "subject" },
  name: { schema: optional(Name), column: "name" },
  api_key_id: {
    schema: optional(KeyId),
    column: "key_id",
    form: { label: "With", from: "keys", empty: "All API keys" },
  },
  budget_usd: {
    schema: Usd,
    column: "budget_nanodollars",
    unit: usd,
    changes: true,
    form: { hint: "Maximum cost of paid calls" },
  },
  budget_period: {
    schema: Period,
    column: "budget_period",
    changes: true,
    form: { label: "Period", hint: "In UTC; weeks begin on Monday", isHalf: true },
  },
  raise_usd: {
    schema: optional({ ...Usd, description: "US dollars that are added to it until `raise_until`" }),
    column: "raise_nanodollars",
    unit: usd,
    changes: true,
    form: { label: "Raise it by (USD)", empty: "Not raised", hint: "Added for a time; empty ends it" },
  },
  raise_until: {
    schema: optional(Until),
    column: "raise_until",
    unit: seconds,
    changes: true,
    form: { label: "Through (UTC)" },
  },
});

import { SelectField } from "../../kit/field.tsx";
import { UsdField } from "../../kit/figures.tsx";

/** The part of a form's state that is about a budget. */
interface BudgetForm<Period> {
  readonly values: { readonly budget_period: Period };
  set(change: { budget_period: Period }): void;
  field(name: "budget_usd"): { value: string; onText: (text: string) => void; error: string | undefined };
  fieldError(name: "budget_period"): string | undefined;
}

/** The amount of a budget and its period, as each form of a budget has them. An empty amount is no budget. */
export function BudgetFields<Period extends string>({
  form,
  periods,
  refused,
  reason,
  whose,
}: {
  form: BudgetForm<Period>;
  periods: readonly (readonly [Period, string])[];
  /** Periods that cannot be chosen, and why. */
  refused?: readonly Period[] | undefined;
  reason?: string | undefined;
  /** The owner of the budget, where the form sets other things too; absent: the form is about the budget. */
  whose?: "account" | "key";
}) {
  return (
    <div className="split">
      <UsdField
        label={whose === "account" ? "Budget of the account (USD)" : "Budget (USD)"}
        {...(whose !== undefined && { placeholder: "No limit" })}
        hint={whose === "account" ? "Maximum cost of paid calls of all keys" : "Maximum cost of paid calls"}
        {...form.field("budget_usd")}
      />
      <SelectField
        label={whose === "key" ? "Budget period" : "Period"}
        options={periods}
        value={form.values.budget_period}
        onText={(budget_period) => form.set({ budget_period })}
        refused={refused}
        error={form.fieldError("budget_period")}
        hint={reason ?? "In UTC; weeks begin on Monday"}
      />
    </div>
  );
}

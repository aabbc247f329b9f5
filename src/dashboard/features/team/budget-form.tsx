import { formatMoment, formatUsd } from "../../format.ts";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { toBudgetColumns } from "../budgets/budget-columns.tsx";
import { BudgetFields } from "../budgets/budget-fields.tsx";
import { type BudgetPeriod, budgetPeriods, useKeyNames } from "../keys/api.ts";
import { useModelNames } from "../models/api.ts";
import { type Budget, setBudget, type TeamBudget } from "./api.ts";

interface BudgetProps {
  account: string | undefined;
  budget: TeamBudget;
}

/** The budget of all keys of an account in a period, with the part that is spent. */
export function BudgetSection({ account, budget, mayManage }: BudgetProps & { mayManage: boolean }) {
  return (
    <div className="stack card-body is-ruled-off">
      <p className="soft">
        {budget === null ? (
          "No budget: the keys of this account share its whole balance."
        ) : (
          <>
            {formatUsd(budget.used_usd)} of {formatUsd(budget.usd)} spent this {budget.period} by all keys of this
            account; it resets {formatMoment(budget.resets_at)}.
          </>
        )}
      </p>
      {mayManage && <BudgetForm key={`${budget?.usd} ${budget?.period}`} account={account} budget={budget} />}
    </div>
  );
}

function BudgetForm({ account, budget }: BudgetProps) {
  const initial = { budget_usd: budget?.usd ?? "", budget_period: (budget?.period ?? "month") as BudgetPeriod };
  const form = useForm(initial, async ({ budget_usd, budget_period }) => {
    const usd = budget_usd.trim();
    await setBudget(account, usd === "" ? null : usd, budget_period);
    toast(usd === "" ? "The account has no budget" : "The budget of the account is set");
  });
  return (
    <Form form={form}>
      <BudgetFields form={form} periods={budgetPeriods} whose="account" />
      <div className="row">
        <Submit form={form} label="Set budget" look="" />
      </div>
    </Form>
  );
}

/** Budgets by subject of the own account, which its administrators set. Renders nothing if there are no budgets. */
export function SubjectBudgets({ budgets }: { budgets: readonly Budget[] }) {
  const nameOfModel = useModelNames();
  const nameOfKey = useKeyNames();
  if (budgets.length === 0) return null;
  const columns = toBudgetColumns<Budget>((subject, name) => (subject === "key" ? nameOfKey(name) : nameOfModel(name)));
  return <Table rows={budgets} rowKey={({ id }) => id} columns={columns} sortName="budgets" />;
}

import { formatMoment, formatUsd } from "../../format.ts";
import { SelectField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type BudgetPeriod, budgetPeriods } from "../keys/api.ts";
import { type SubjectBudget, setBudget, type TeamBudget } from "./api.ts";

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
      <div className="split">
        <TextField
          label="Budget of the account (USD)"
          inputMode="decimal"
          autoComplete="off"
          placeholder="No limit"
          hint="Maximum cost of premium calls of all keys"
          {...form.field("budget_usd")}
        />
        <SelectField
          label="Period"
          options={budgetPeriods}
          value={form.values.budget_period}
          onText={(budget_period) => form.set({ budget_period })}
          hint="In UTC; weeks begin on Monday"
        />
      </div>
      <div className="row">
        <Submit form={form} label="Set budget" look="" />
      </div>
    </Form>
  );
}

const subjectColumns: readonly Column<SubjectBudget>[] = [
  { name: "Budget of", className: "name lead", cell: toSubjectText, sort: toSubjectText },
  {
    name: "Spent",
    className: "end",
    cell: ({ used_usd: used }) => (used === null ? <span className="faint">each by itself</span> : formatUsd(used)),
    sort: ({ used_usd: used }) => (used === null ? null : Number(used)),
  },
  {
    name: "Limit",
    className: "end",
    cell: ({ usd, period, raised_until: until }) => (
      <>
        {formatUsd(usd)} {period === "lifetime" ? "in all" : `a ${period}`}
        {until !== null && <span className="sub">raised until {formatMoment(until)}</span>}
      </>
    ),
    sort: ({ usd }) => Number(usd),
  },
];

/** The budgets by subject, which the management API sets; nothing where there is none. */
export function SubjectBudgets({ budgets }: { budgets: readonly SubjectBudget[] }) {
  if (budgets.length === 0) return null;
  return <Table rows={budgets} rowKey={({ id }) => id} columns={subjectColumns} sortName="budgets" />;
}

/** `each end user`, `model gpt-4.1`, with the key whose calls alone it counts. */
function toSubjectText({ subject, name, key }: SubjectBudget): string {
  const kind = subject.replace("_", " ");
  const whose = subject === "account" ? "the account" : name === null ? `each ${kind}` : `${kind} ${name}`;
  return key === null ? whose : `${whose} of the key ${key}`;
}

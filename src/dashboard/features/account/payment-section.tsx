import useSWR, { mutate } from "swr";
import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request, slowRefresh } from "../../data/api.ts";
import { formatMoment, formatUsd } from "../../format.ts";
import { Loaded } from "../../kit/feedback.tsx";
import { SelectField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Fact, Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { BudgetFields } from "../budgets/budget-fields.tsx";
import { type BudgetPeriod, budgetPeriods } from "../keys/api.ts";

const getMoney = async (id: string) => {
  const project = organization.projects({ project_id: id });
  const [{ billed_afterwards, budget, wallet }, { charges_usd }] = await Promise.all([
    request(project.get()),
    request(project.statement.get()),
  ]);
  return { billed_afterwards, budget, wallet, charges_usd };
};
type Money = Awaited<ReturnType<typeof getMoney>>;

/** How an account pays: from its wallet, or afterwards up to its budget; and what it owes. */
export function PaymentSection({ account: { id, label }, mayChange }: { account: AccountDetail; mayChange: boolean }) {
  const money = useSWR(["admin-accounts", "money", id], () => getMoney(id), slowRefresh);
  return (
    <Section title="Payment">
      <Loaded state={money} lines={3}>
        {(data) => (
          <>
            <dl className="facts card-body">
              <Fact name="Pays">{data.billed_afterwards ? "Afterwards, up to its budget" : "From its wallet"}</Fact>
              <Fact name="Charged this month">{formatUsd(0 - Number(data.charges_usd))}</Fact>
              <Fact name="Owes">{formatUsd(Math.max(0, 0 - Number(data.wallet.balance_usd)))}</Fact>
              <Fact name="Budget of the account">
                {data.budget === null
                  ? "None"
                  : `${formatUsd(data.budget.used_usd)} of ${formatUsd(data.budget.budget_usd)} spent this ${data.budget.budget_period}, resets ${formatMoment(data.budget.resets_at)}`}
              </Fact>
            </dl>
            {mayChange && (
              <PaymentForm
                key={JSON.stringify([data.billed_afterwards, data.budget?.budget_usd])}
                id={id}
                label={label}
                money={data}
              />
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

const ways = [
  ["wallet", "From its wallet"],
  ["afterwards", "Afterwards, up to its budget"],
] as const;

function PaymentForm({ id, label, money }: { id: string; label: string; money: Money }) {
  const initial = {
    way: (money.billed_afterwards ? "afterwards" : "wallet") as (typeof ways)[number][0],
    budget_usd: money.budget?.budget_usd ?? "",
    budget_period: (money.budget?.budget_period ?? "month") as BudgetPeriod,
  };
  const form = useForm(initial, async ({ way, budget_usd, budget_period }) => {
    const isAfterwards = way === "afterwards";
    await request(
      organization.projects({ project_id: id }).post({
        billed_afterwards: isAfterwards,
        ...(isAfterwards && { budget_usd: budget_usd.trim(), budget_period }),
      }),
    );
    await Promise.all([refreshAccounts(), mutate(["budget", id])]);
    toast(isAfterwards ? `${label} is billed afterwards` : `${label} pays from its wallet`);
  });
  const { way, budget_usd, budget_period } = form.values;
  const isAfterwards = way === "afterwards";
  const isChanged =
    way !== initial.way ||
    (isAfterwards && (budget_usd.trim() !== initial.budget_usd || budget_period !== initial.budget_period));
  return (
    <Form form={form} className="stack card-body is-ruled-off">
      <SelectField
        label="Pays"
        options={ways}
        value={way}
        onText={(chosen) => form.set({ way: chosen })}
        hint={
          isAfterwards
            ? "The balance goes below zero and shows what the account owes. The budget is the most that it can spend in its period."
            : money.billed_afterwards
              ? "What it owes stays: paid requests are refused until credit covers it. Its budget stays too."
              : "Paid requests need credit."
        }
      />
      {isAfterwards && <BudgetFields form={form} periods={budgetPeriods} whose="account" />}
      <div className="row">
        <Submit
          form={form}
          label="Set payment"
          look=""
          isComplete={isChanged && !(isAfterwards && budget_usd.trim() === "")}
        />
      </div>
    </Form>
  );
}

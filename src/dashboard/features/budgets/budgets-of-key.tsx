import { Link } from "wouter";
import { formatUsd } from "../../format.ts";
import { type Key, maskKey } from "../keys/api.ts";
import { useModelNames } from "../models/api.ts";
import { useBudgets } from "./api.ts";
import { toBudgetText, toLimit, toPeriodText } from "./budget-columns.tsx";

/**
 * Budgets that count the calls of a single key, for administrators. They are set together with the budgets of the
 * account.
 */
export function BudgetsOfKey({ account, apiKey }: { account: string; apiKey: Key }) {
  const { data: budgets } = useBudgets(account);
  const nameOfModel = useModelNames();
  const own = budgets?.filter(
    ({ subject, name, api_key_id: key }) =>
      key === apiKey.id || (subject === "key" && (name ?? apiKey.id) === apiKey.id),
  );
  return (
    <div className="field">
      <span className="soft">
        {own?.length === 0 ? "This key has no budget." : "Budgets of this key:"}{" "}
        <Link className="link" href={`/admin/accounts/${account}?tab=budgets`}>
          Budgets of its account
        </Link>
      </span>
      <ul>
        {own?.map((budget) => (
          <li key={budget.id}>
            {toBudgetText(budget, (subject, name) => {
              if (subject === "model") return nameOfModel(name);
              return name === apiKey.id ? apiKey.name : maskKey(name);
            })}
            : {formatUsd(toLimit(budget).usd)} {toPeriodText(budget.budget_period)}
          </li>
        ))}
      </ul>
    </div>
  );
}

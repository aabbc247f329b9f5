import { useState } from "react";
import { useAccountKeys } from "../../data/admin.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { getKeyState, type Key, maskKey } from "../keys/api.ts";
import { useModelNames } from "../models/api.ts";
import { type Budget, deleteBudget, eachAccount, useBudgets } from "./api.ts";
import { type ToName, toBudgetColumns, toBudgetText } from "./budget-columns.tsx";
import { EditBudgetDialog, NewBudgetDialog, SpendingDialog } from "./budget-dialogs.tsx";

type Act = "edit" | "delete" | "spending";

/** The budgets of the gateway, over each account by itself. */
export function GatewayBudgetsSection({ mayManage }: { mayManage: boolean }) {
  return <Budgets account={eachAccount} keys={[]} mayManage={mayManage} title="Budgets over each account" />;
}

/** All budgets of an account, for administrators: of itself, its keys, and the names of calls. */
export function BudgetsPart({ account, mayManage }: { account: string; mayManage: boolean }) {
  const { data: keys } = useAccountKeys(account);
  return <Budgets account={account} keys={keys?.data ?? []} mayManage={mayManage} title="Budgets" />;
}

interface BudgetsProps {
  readonly account: string;
  readonly keys: readonly Key[];
  readonly mayManage: boolean;
  readonly title: string;
}

function Budgets({ account, keys, mayManage, title }: BudgetsProps) {
  const budgets = useBudgets(account);
  const nameOfModel = useModelNames();
  const [isCreating, setCreating] = useState(false);
  const [chosen, setChosen] = useState<{ act: Act; budget: Budget }>();
  const toName: ToName = (subject, name) =>
    subject === "model" ? nameOfModel(name) : (keys.find(({ id }) => id === name)?.name ?? maskKey(name));
  const close = () => setChosen(undefined);
  const remove = async ({ id }: Budget) => {
    await deleteBudget(account, id);
    toast("The budget is deleted");
  };
  const common = chosen && {
    account,
    budget: chosen.budget,
    title: toBudgetText(chosen.budget, toName),
    onClose: close,
  };
  return (
    <Section
      title={title}
      actions={
        mayManage && (
          <Button look="small" icon="plus" onClick={() => setCreating(true)}>
            New budget
          </Button>
        )
      }
    >
      <Loaded state={budgets} lines={3}>
        {(rows) => (
          <Table
            rows={rows}
            rowKey={({ id }) => id}
            columns={[
              ...toBudgetColumns(toName),
              toActions(mayManage, toName, (act, budget) => setChosen({ act, budget })),
            ]}
            sortName="budgets"
            empty={
              <Empty icon="billing" title="No budgets">
                {account === eachAccount ? (
                  <p>
                    Limit the spend of each account, team, end user or session, in addition to the accounts' own
                    budgets.
                  </p>
                ) : (
                  <p>Limit the spend of the account, or of each or one end user, tag, session, model or key.</p>
                )}
              </Empty>
            }
          />
        )}
      </Loaded>
      {isCreating && (
        <NewBudgetDialog
          account={account}
          keys={keys.filter((key) => getKeyState(key) === "active")}
          onClose={() => setCreating(false)}
        />
      )}
      {common !== undefined && chosen?.act === "edit" && <EditBudgetDialog {...common} />}
      {common !== undefined && chosen?.act === "spending" && <SpendingDialog {...common} toName={toName} />}
      {common !== undefined && chosen?.act === "delete" && (
        <Confirm title="Delete this budget?" action="Delete budget" act={() => remove(common.budget)} onClose={close}>
          <p>
            The budget of <strong>{common.title}</strong> no longer limits any call, and its recorded spend is deleted.
          </p>
        </Confirm>
      )}
    </Section>
  );
}

function toActions(mayManage: boolean, toName: ToName, onAct: (act: Act, budget: Budget) => void): Column<Budget> {
  const toLabel = (act: string, budget: Budget) => `${act} ${toBudgetText(budget, toName)}`;
  return actionsColumn((budget) => (
    <>
      {budget.used_usd === null && (
        <Button
          look="plain small"
          aria-label={toLabel("Spenders of", budget)}
          onClick={() => onAct("spending", budget)}
        >
          Spenders
        </Button>
      )}
      {mayManage && (
        <>
          <Button look="plain small" aria-label={toLabel("Edit", budget)} onClick={() => onAct("edit", budget)}>
            Edit
          </Button>
          <Button look="plain small bad" aria-label={toLabel("Delete", budget)} onClick={() => onAct("delete", budget)}>
            Delete
          </Button>
        </>
      )}
    </>
  ));
}

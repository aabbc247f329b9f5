import { useState } from "react";
import { useAccountKeys } from "../../data/admin.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { getKeyState, maskKey } from "../keys/api.ts";
import { useModelNames } from "../models/api.ts";
import { useResources } from "../resources/api.ts";
import { type Budget, deleteBudget, useBudgets } from "./api.ts";
import { type ToName, toBudgetColumns, toBudgetText } from "./budget-columns.tsx";
import { EditBudgetDialog, NewBudgetDialog, SpendingDialog } from "./budget-dialogs.tsx";

/** All budgets of an account, for administrators: of itself, its keys, and the names of calls. */
export function BudgetsPart({
  account,
  isBilledAfterwards,
  mayManage,
}: {
  account: string;
  /** Its own budget then stands in for the wallet. */
  isBilledAfterwards: boolean;
  mayManage: boolean;
}) {
  const { data: ofAccount } = useAccountKeys(account);
  const keys = ofAccount?.data ?? [];
  const budgets = useBudgets(account);
  useResources();
  const nameOfModel = useModelNames();
  const [isCreating, setCreating] = useState(false);
  const [act, setAct] = useState<BudgetAct>();
  const toName: ToName = (subject, name) =>
    subject === "model" ? nameOfModel(name) : (keys.find(({ id }) => id === name)?.name ?? maskKey(name));
  const toAct = (kind: BudgetAct["kind"], budget: Budget): BudgetAct => {
    return { kind, budget, account, title: toBudgetText(budget, toName), toName, others: budgets.data ?? [] };
  };
  return (
    <Section
      title="Budgets"
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
              toBudgetActions({
                mayManage,
                toTitle: (budget) => toBudgetText(budget, toName),
                isNeeded: ({ id }) => isBilledAfterwards && id === `bud_${account}`,
                onAct: (kind, budget) => setAct(toAct(kind, budget)),
              }),
            ]}
            sortName="budgets"
            empty={
              <Empty icon="billing" title="No budgets">
                <p>Limit the spend of the account, or of each or one end user, tag, session, model or key.</p>
              </Empty>
            }
          />
        )}
      </Loaded>
      {isCreating && (
        <NewBudgetDialog
          account={account}
          keys={keys.filter((key) => getKeyState(key) === "active")}
          present={budgets.data ?? []}
          onClose={() => setCreating(false)}
        />
      )}
      {act !== undefined && <BudgetActDialog act={act} onClose={() => setAct(undefined)} />}
    </Section>
  );
}

/** An action on a budget of a list. */
export interface BudgetAct {
  readonly kind: "edit" | "delete" | "spending";
  readonly budget: Budget;
  readonly account: string;
  /** The owner of the budget, in words. */
  readonly title: string;
  readonly toName: ToName;
  /** The budgets of the same account, or of the gateway. */
  readonly others: readonly Budget[];
}

export function BudgetActDialog({
  act: { kind, others, toName, ...common },
  onClose,
}: {
  act: BudgetAct;
  onClose: () => void;
}) {
  const { account, budget, title } = common;
  if (kind === "edit") return <EditBudgetDialog {...common} others={others} onClose={onClose} />;
  if (kind === "spending") return <SpendingDialog {...common} toName={toName} onClose={onClose} />;
  const remove = async () => {
    await deleteBudget(account, budget.id);
    toast("The budget is deleted");
  };
  return (
    <Confirm title="Delete this budget?" action="Delete budget" act={remove} onClose={onClose}>
      <p>
        The budget of <strong>{title}</strong> no longer limits any call, and its recorded spend is deleted.
      </p>
    </Confirm>
  );
}

export function toBudgetActions<Row extends Budget>({
  mayManage,
  toTitle,
  isNeeded,
  onAct,
}: {
  mayManage: boolean;
  toTitle: (budget: Row) => string;
  /** Whether its account is billed afterwards: nothing else bounds it then. */
  isNeeded: (budget: Row) => boolean;
  onAct: (kind: BudgetAct["kind"], budget: Row) => void;
}): Column<Row> {
  return actionsColumn((budget) => (
    <>
      {budget.used_usd === null && (
        <Button
          look="plain small"
          aria-label={`Spenders of ${toTitle(budget)}`}
          onClick={() => onAct("spending", budget)}
        >
          Spenders
        </Button>
      )}
      {mayManage && (
        <>
          <Button
            look="plain small"
            aria-label={`Edit the budget of ${toTitle(budget)}`}
            onClick={() => onAct("edit", budget)}
          >
            Edit
          </Button>
          {isNeeded(budget) ? (
            <span className="faint" title="An account that is billed afterwards needs a budget">
              in place of the wallet
            </span>
          ) : (
            <Button
              look="plain small bad"
              aria-label={`Delete the budget of ${toTitle(budget)}`}
              onClick={() => onAct("delete", budget)}
            >
              Delete
            </Button>
          )}
        </>
      )}
    </>
  ));
}

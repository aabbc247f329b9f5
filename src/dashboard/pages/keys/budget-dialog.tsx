import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { changeBudget, type Key } from "../../data/keys.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** What a key may spend in a month. */
export function BudgetDialog({ of: { id, name, budget_usd }, onClose }: { of: Key; onClose: () => void }) {
  const [budget, setBudget] = useState(budget_usd ?? "");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const wanted = budget.trim();
    await changeBudget(id, wanted === "" ? null : wanted);
    await mutate("keys");
    toast(wanted === "" ? `“${name}” has no budget of its own any more` : `“${name}” may spend $${wanted} a month`);
    onClose();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan("budget_usd");
  return (
    <Dialog title="Monthly budget" onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <p className="soft break">
            What premium calls by <strong>{name}</strong> may cost in a calendar month (UTC). Calls beyond it are
            refused; those that draw on the free quota are not counted.
          </p>
          <TextField
            label="US dollars a month"
            inputMode="decimal"
            placeholder="no bound of its own"
            autoFocus
            value={budget}
            onText={setBudget}
            wrong={wrongOf("budget_usd")}
          />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy}>
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

import { type FormEvent, useState } from "react";
import { type AdminAccount, refreshAccounts } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { formatUsd } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Adds to a wallet. */
export function CreditForm({ account: { id, email } }: { account: AdminAccount }) {
  const [usd, setUsd] = useState("");
  const [note, setNote] = useState("");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const { balance_usd } = await told(api.admin.accounts({ id }).credit.post({ usd: usd.trim(), note: note.trim() }));
    setUsd("");
    setNote("");
    await refreshAccounts();
    toast(`The balance of ${email} is ${formatUsd(balance_usd)}`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan("usd", "note");
  return (
    <form className="stack stack-tight" onSubmit={submit} noValidate>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <TextField
        label="Credit in US dollars"
        inputMode="decimal"
        autoComplete="off"
        placeholder="25.00"
        value={usd}
        onText={setUsd}
        wrong={wrongOf("usd")}
        hint="To take away: modelgate wallet debit"
      />
      <TextField
        label="Why, for the account's statement"
        autoComplete="off"
        maxLength={500}
        value={note}
        onText={setNote}
        wrong={wrongOf("note")}
      />
      <div className="row">
        <button type="submit" className="btn" disabled={isBusy || usd.trim() === "" || note.trim() === ""}>
          Credit
        </button>
      </div>
    </form>
  );
}

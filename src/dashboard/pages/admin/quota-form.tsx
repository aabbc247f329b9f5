import { type FormEvent, useState } from "react";
import { type AdminAccount, refreshAccounts } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { Callout } from "../../ui/callout.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Gives an account a daily free quota of its own, or the one of everybody. */
export function QuotaForm({ account: { id, email, free_tokens_per_day } }: { account: AdminAccount }) {
  const [text, setText] = useState(free_tokens_per_day === null ? "" : String(free_tokens_per_day));
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const tokens = text.trim() === "" ? null : Number(text);
    await told(api.admin.accounts({ id }).quota.post({ tokens }));
    await refreshAccounts();
    toast(tokens === null ? `${email} has the quota of everybody` : `${email} has a quota of its own`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const isWhole = /^\d{0,15}$/.test(text.trim());
  const wrong = otherThan("tokens");
  return (
    <form className="stack stack-tight" onSubmit={submit} noValidate>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <TextField
        label="Free tokens a day"
        inputMode="numeric"
        autoComplete="off"
        value={text}
        onText={setText}
        wrong={isWhole ? wrongOf("tokens") : "A whole number of tokens"}
        hint="Empty: the quota that everybody has"
      />
      <div className="row">
        <button type="submit" className="btn" disabled={isBusy || !isWhole}>
          Set quota
        </button>
      </div>
    </form>
  );
}

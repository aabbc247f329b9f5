import { useState } from "react";
import { type AdminAccount, refreshAccounts } from "../../data/admin.ts";
import { api, request } from "../../data/api.ts";
import { useMe } from "../../data/session.ts";
import { formatDay, formatUsd } from "../../format.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Callout } from "../../ui/feedback.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { InviteSection } from "./invite-section.tsx";

/** The admin actions on an account; each is recorded in the audit log. */
export function AccountDialog({ account, onClose }: { account: AdminAccount; onClose: () => void }) {
  const { data: me } = useMe();
  return (
    <Dialog title={account.email} description={account.name ?? undefined} isWide onClose={onClose}>
      <div className="dialog-body stack">
        <dl className="facts">
          <dt>Account ID</dt>
          <dd className="mono">{account.id}</dd>
          <dt>Balance</dt>
          <dd title={`$${account.balance_usd}`}>{formatUsd(account.balance_usd)}</dd>
          <dt>Created</dt>
          <dd>{formatDay(account.created_at)}</dd>
        </dl>
        <CreditForm account={account} />
        <QuotaForm account={account} />
        <InviteSection accountId={account.id} />
      </div>
      <footer className="dialog-foot">
        <button type="button" className="btn" onClick={onClose}>
          Done
        </button>
        {me !== undefined && me.account !== account.id && <DisableButton account={account} />}
      </footer>
    </Dialog>
  );
}

/** Adds credit to the wallet. */
function CreditForm({ account: { id, email } }: { account: AdminAccount }) {
  const [usd, setUsd] = useState("");
  const [note, setNote] = useState("");
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    const { balance_usd } = await request(
      api.admin.accounts({ id }).credit.post({ usd: usd.trim(), note: note.trim() }),
    );
    setUsd("");
    setNote("");
    await refreshAccounts();
    toast(`The balance of ${email} is ${formatUsd(balance_usd)}`);
  });
  return (
    <form className="stack stack-tight" onSubmit={submit} noValidate>
      <Callout tone="bad">{formError("usd", "note")}</Callout>
      <TextField
        label="Credit (USD)"
        inputMode="decimal"
        autoComplete="off"
        placeholder="25.00"
        value={usd}
        onText={setUsd}
        error={fieldError("usd")}
        hint="To deduct, use the command: modelgate wallet debit"
      />
      <TextField
        label="Note (shown on the statement)"
        autoComplete="off"
        maxLength={500}
        value={note}
        onText={setNote}
        error={fieldError("note")}
      />
      <div className="row">
        <button type="submit" className="btn" disabled={isBusy || usd.trim() === "" || note.trim() === ""}>
          Add credit
        </button>
      </div>
    </form>
  );
}

/** Sets the daily free quota of the account, or resets it to the default. */
function QuotaForm({ account: { id, email, free_tokens_per_day } }: { account: AdminAccount }) {
  const [text, setText] = useState(free_tokens_per_day === null ? "" : String(free_tokens_per_day));
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    const tokens = text.trim() === "" ? null : Number(text);
    await request(api.admin.accounts({ id }).quota.post({ tokens }));
    await refreshAccounts();
    toast(tokens === null ? `${email} uses the default quota` : `${email} has a custom quota`);
  });
  const isValid = /^\d{0,15}$/.test(text.trim());
  return (
    <form className="stack stack-tight" onSubmit={submit} noValidate>
      <Callout tone="bad">{formError("tokens")}</Callout>
      <TextField
        label="Free tokens per day"
        inputMode="numeric"
        autoComplete="off"
        value={text}
        onText={setText}
        error={isValid ? fieldError("tokens") : "Enter a whole number of tokens"}
        hint="Leave empty for the default quota"
      />
      <div className="row">
        <button type="submit" className="btn" disabled={isBusy || !isValid}>
          Set quota
        </button>
      </div>
    </form>
  );
}

function DisableButton({ account: { id, email, disabled_at } }: { account: AdminAccount }) {
  const isDisabled = disabled_at !== null;
  const { run, isBusy, formError } = useAction(async () => {
    await request(api.admin.accounts({ id }).disabled.post({ disabled: !isDisabled }));
    await refreshAccounts();
    toast(isDisabled ? `${email} is enabled` : `${email} is disabled; its keys no longer work`);
  });
  return (
    <>
      <Callout tone="bad">{formError()}</Callout>
      <button
        type="button"
        className={isDisabled ? "btn btn-primary" : "btn btn-danger"}
        disabled={isBusy}
        onClick={() => void run()}
      >
        {isDisabled ? "Enable account" : "Disable account"}
      </button>
    </>
  );
}

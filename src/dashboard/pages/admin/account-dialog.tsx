import { useState } from "react";
import { type AdminAccount, refreshAccounts } from "../../data/admin.ts";
import { api, request } from "../../data/api.ts";
import { useMe } from "../../data/session.ts";
import { formatDay, formatUsd } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Callout } from "../../ui/feedback.tsx";
import { TextField } from "../../ui/field.tsx";
import { Form, Submit, useForm } from "../../ui/form.tsx";
import { Usd } from "../../ui/page.tsx";
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
          <dd>
            <Usd value={account.balance_usd} />
          </dd>
          <dt>Created</dt>
          <dd>{formatDay(account.created_at)}</dd>
        </dl>
        <CreditForm account={account} />
        <QuotaForm account={account} />
        <InviteSection accountId={account.id} />
      </div>
      <footer className="dialog-foot">
        {me !== undefined && me.account !== account.id && <DisableButton account={account} />}
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  );
}

function CreditForm({ account: { id, email } }: { account: AdminAccount }) {
  const form = useForm({ usd: "", note: "" }, async ({ usd, note }) => {
    const credit = { usd: usd.trim(), note: note.trim() };
    const { balance_usd } = await request(api.admin.accounts({ id }).credit.post(credit));
    form.reset();
    await refreshAccounts();
    toast(`The balance of ${email} is ${formatUsd(balance_usd)}`);
  });
  const { usd, note } = form.values;
  return (
    <Form form={form} className="stack stack-tight">
      <TextField
        label="Credit (USD)"
        inputMode="decimal"
        autoComplete="off"
        placeholder="25.00"
        {...form.field("usd")}
        hint="To deduct, use the command: modelgate wallet debit"
      />
      <TextField label="Note (shown on the statement)" autoComplete="off" maxLength={500} {...form.field("note")} />
      <div className="row">
        <Submit form={form} label="Add credit" look="" isComplete={usd.trim() !== "" && note.trim() !== ""} />
      </div>
    </Form>
  );
}

/** Sets the daily free quota of the account, or resets it to the default. */
function QuotaForm({ account: { id, email, free_tokens_per_day } }: { account: AdminAccount }) {
  const form = useForm({ tokens: String(free_tokens_per_day ?? "") }, async (values) => {
    const tokens = values.tokens.trim() === "" ? null : Number(values.tokens);
    await request(api.admin.accounts({ id }).quota.post({ tokens }));
    await refreshAccounts();
    toast(tokens === null ? `${email} uses the default quota` : `${email} has a custom quota`);
  });
  const isValid = /^\d{0,15}$/.test(form.values.tokens.trim());
  return (
    <Form form={form} className="stack stack-tight">
      <TextField
        label="Free tokens per day"
        inputMode="numeric"
        autoComplete="off"
        {...form.field("tokens")}
        {...(!isValid && { error: "Enter a whole number of tokens" })}
        hint="Leave empty for the default quota"
      />
      <div className="row">
        <Submit form={form} label="Set quota" look="" isComplete={isValid} />
      </div>
    </Form>
  );
}

function DisableButton({ account: { id, email, disabled_at } }: { account: AdminAccount }) {
  const isDisabled = disabled_at !== null;
  const [isAsking, setAsking] = useState(false);
  const change = async () => {
    await request(api.admin.accounts({ id }).disabled.post({ disabled: !isDisabled }));
    await refreshAccounts();
    toast(isDisabled ? `${email} is enabled` : `${email} is disabled; its keys no longer work`);
  };
  const { run, isBusy, formError } = useAction(change);
  return (
    <>
      <Callout tone="bad">{formError()}</Callout>
      {isDisabled ? (
        <Button disabled={isBusy} onClick={() => void run()}>
          Enable account
        </Button>
      ) : (
        <Button look="plain bad" onClick={() => setAsking(true)}>
          Disable account…
        </Button>
      )}
      {isAsking && (
        <Confirm title={`Disable ${email}?`} action="Disable account" act={change} onClose={() => setAsking(false)}>
          All API keys of this account stop working at once, and nobody can sign in to it until it is enabled again.
        </Confirm>
      )}
    </>
  );
}

import { type AdminAccount, refreshAccounts } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { useMe } from "../../data/session.ts";
import { formatDay, formatUsd } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { CreditForm } from "./credit-form.tsx";
import { InvitePart } from "./invite-part.tsx";
import { QuotaForm } from "./quota-form.tsx";

/** What can be done with an account. Each deed is on record. */
export function AccountDialog({ account, onClose }: { account: AdminAccount; onClose: () => void }) {
  const { data: me } = useMe();
  return (
    <Dialog title={account.email} about={account.name ?? undefined} isWide onClose={onClose}>
      <div className="dialog-body stack">
        <dl className="facts">
          <dt>Account</dt>
          <dd className="mono">{account.id}</dd>
          <dt>Balance</dt>
          <dd title={`$${account.balance_usd}`}>{formatUsd(account.balance_usd)}</dd>
          <dt>Since</dt>
          <dd>{formatDay(account.created_at)}</dd>
        </dl>
        <CreditForm account={account} />
        <QuotaForm account={account} />
        <InvitePart accountId={account.id} />
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

function DisableButton({ account: { id, email, disabled_at } }: { account: AdminAccount }) {
  const isDisabled = disabled_at !== null;
  const { run, isBusy, otherThan } = useAction(async () => {
    await told(api.admin.accounts({ id }).disabled.post({ disabled: !isDisabled }));
    await refreshAccounts();
    toast(isDisabled ? `${email} is let in again` : `${email} is shut out, with all keys`);
  });
  const wrong = otherThan();
  return (
    <>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <button
        type="button"
        className={isDisabled ? "btn btn-primary" : "btn btn-danger"}
        disabled={isBusy}
        onClick={() => void run()}
      >
        {isDisabled ? "Let in again" : "Disable account"}
      </button>
    </>
  );
}

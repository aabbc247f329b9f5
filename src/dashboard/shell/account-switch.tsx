import type { Me } from "../data/session.ts";
import { accountMismatch } from "../data/shown-account.ts";
import { switchAccount, switchBack, useTeams } from "../features/team/api.ts";
import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Callout } from "../kit/feedback.tsx";
import { Select } from "../kit/field.tsx";
import { toastError } from "../kit/toast.tsx";
import { useAction } from "../kit/use-action.ts";

/** Chooses the account to work in, for people who belong to several. */
export function AccountSwitch({ me }: { me: Me }) {
  const { data: teams } = useTeams();
  if (teams === undefined || teams.data.length < 2) return null;
  const options = teams.data.map(
    ({ account, name, email, is_own }) =>
      [account, is_own ? `${name ?? email} (own)` : (name ?? email ?? account)] as const,
  );
  return (
    <div className="account-switch">
      <Select
        isSmall
        aria-label="Account"
        options={options}
        value={me.account}
        onText={(account) => void switchAccount(account).catch(toastError)}
      />
    </div>
  );
}

/** Tells that another tab has switched the account: what this one shows is not where its changes would land. */
export function SwitchedAwayDialog() {
  const switched = accountMismatch.use();
  const { run, isBusy, formError } = useAction(() => switchBack(switched?.from.account ?? ""));
  if (switched === undefined) return null;
  const { from, to } = switched;
  return (
    <Dialog title="Account switched elsewhere" isPersistent onClose={() => location.reload()}>
      <div className="dialog-body">
        <Callout tone="bad">{formError()}</Callout>
        <p className="soft">
          You are now working in <strong className="break">{to.account_name}</strong>. This tab still shows{" "}
          <strong className="break">{from.account_name}</strong>, so you can't change anything here.
        </p>
      </div>
      <footer className="dialog-foot">
        {from.own_account === to.own_account && (
          <Button disabled={isBusy} onClick={() => void run()}>
            Switch back
          </Button>
        )}
        <Button look="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </footer>
    </Dialog>
  );
}

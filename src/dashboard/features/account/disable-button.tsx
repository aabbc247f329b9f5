import { useState } from "react";
import { Link } from "wouter";
import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { Check } from "../../kit/field.tsx";
import { toast } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";

/** Disables an account or enables it. Disabling asks first, because it ends all keys of a customer at once. */
export function DisableButton({ account }: { account: AccountDetail }) {
  const { id, label, disabled_at } = account;
  const [isAsking, setAsking] = useState(false);
  const enable = async () => {
    await request(organization.projects({ project_id: id }).post({ status: "active" }));
    await refreshAccounts();
    toast(`${label} is enabled`);
  };
  const { run, isBusy, formError } = useAction(enable);
  if (disabled_at !== null) {
    return (
      <>
        <Callout tone="bad">{formError()}</Callout>
        <Button look="primary" disabled={isBusy} onClick={() => void run()}>
          Enable account
        </Button>
      </>
    );
  }
  return (
    <>
      <Button look="plain bad" onClick={() => setAsking(true)}>
        Disable account…
      </Button>
      {isAsking && <DisableDialog account={account} onClose={() => setAsking(false)} />}
    </>
  );
}

function DisableDialog({
  account: { id, label, role, teams, admin_keys: adminKeys, keys_elsewhere: elsewhere },
  onClose,
}: {
  account: AccountDetail;
  onClose: () => void;
}) {
  const [revokes, setRevokes] = useState(true);
  const disable = async () => {
    // Nobody signs in to a team, or to the account of a program.
    if (role === null) await request(organization.projects({ project_id: id }).post({ status: "archived" }));
    else {
      const query = revokes && elsewhere.count > 0 ? { revoke_keys: "true" } : {};
      const ended = await request(organization.users({ user_id: id }).delete(undefined, { query }));
      if (ended.revoked_keys > 0) {
        await refreshAccounts();
        return toast(`${label} is disabled, and ${toKeyCount(ended.revoked_keys)} in other accounts revoked`);
      }
    }
    await refreshAccounts();
    toast(`${label} is disabled; its keys no longer work`);
  };
  const others = elsewhere.count - elsewhere.data.length;
  const orphaned = teams.filter((team) => team.is_only_admin);
  return (
    <Confirm title={`Disable ${label}?`} action="Disable account" act={disable} onClose={onClose}>
      <p>All its API keys are rejected immediately, and its user is signed out. You can enable it again.</p>
      {orphaned.length > 0 && (
        <Callout tone="warn">
          Nobody else who can sign in is admin of <TeamLinks teams={orphaned} />: make another member admin there.
        </Callout>
      )}
      {teams.length > 0 && (
        <p>
          Stays a member of <TeamLinks teams={teams} />, without access while disabled.
        </p>
      )}
      {adminKeys.length > 0 && (
        <p>
          {adminKeys.length === 1 ? "This admin key is" : "These admin keys are"} refused while {label} is disabled:{" "}
          {adminKeys.map(({ name }) => name).join(", ")}.
        </p>
      )}
      {elsewhere.count > 0 && (
        <>
          <p>Keys that {label} made in other accounts:</p>
          <ul>
            {elsewhere.data.map((key) => (
              <li key={key.id}>
                {key.name} ({key.account_name})
              </li>
            ))}
            {others > 0 && <li>{others} more</li>}
          </ul>
          <Check checked={revokes} onCheck={setRevokes}>
            Revoke {elsewhere.count === 1 ? "this key" : `these ${toKeyCount(elsewhere.count)}`}
          </Check>
        </>
      )}
    </Confirm>
  );
}

/** Leads to where another member of a team is made admin. */
function TeamLinks({ teams }: { teams: AccountDetail["teams"] }) {
  return teams.map(({ id, name }, place) => (
    <span key={id}>
      {place > 0 && ", "}
      <Link className="link" href={`/admin/accounts/${id}?tab=account#team`}>
        {name}
      </Link>
    </span>
  ));
}

function toKeyCount(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}

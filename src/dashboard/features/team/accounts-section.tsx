import { useState } from "react";
import { useMayChange } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { NameDialog } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toastError } from "../../kit/toast.tsx";
import { createTeam, switchAccount, useTeams } from "./api.ts";

/** Accounts that the user can work in: their own and the accounts of their teams. */
export function AccountsSection() {
  const { data: teams } = useTeams();
  const mayChange = useMayChange();
  const [isCreating, setCreating] = useState(false);
  if (teams === undefined) return null;
  const canCreate = teams.can_create && mayChange;
  if (teams.data.length < 2 && !canCreate) return null;
  return (
    <Section
      title="Your accounts"
      actions={
        canCreate && (
          <Button look="small" icon="plus" onClick={() => setCreating(true)}>
            Create team
          </Button>
        )
      }
    >
      <ul className="rows">
        {teams.data.map(({ account, name, email, is_own, is_current, team_role }) => (
          <li key={account} className="row row-apart">
            <span>
              <strong className="break">{name ?? email}</strong>{" "}
              {is_current && <span className="badge is-accent">current</span>}
              <span className="sub">
                {is_own ? "Your own account" : team_role === "admin" ? "Team admin" : "Member"}
              </span>
            </span>
            {!is_current && (
              <Button
                look="small"
                aria-label={`Switch to ${name ?? email}`}
                onClick={() => void switchAccount(account).catch(toastError)}
              >
                Switch
              </Button>
            )}
          </li>
        ))}
      </ul>
      {isCreating && (
        <NameDialog
          title="Create team"
          description="A team has its own wallet, API keys, budget and requests, which its people share. You become its admin and can switch between your accounts."
          label="Create team"
          busyLabel="Creating…"
          lengthMax={60}
          act={createTeam}
          onClose={() => setCreating(false)}
        />
      )}
    </Section>
  );
}

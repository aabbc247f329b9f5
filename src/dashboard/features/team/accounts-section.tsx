import { useState } from "react";
import { useMayChange } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { createTeam, renameTeam, switchAccount, useTeams } from "./api.ts";

/** The accounts in which the user can work: their own and their teams'. */
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
      {isCreating && <CreateTeamDialog onClose={() => setCreating(false)} />}
    </Section>
  );
}

function CreateTeamDialog({ onClose }: { onClose: () => void }) {
  const form = useForm({ name: "" }, ({ name }) => createTeam(name));
  return (
    <FormDialog
      title="Create team"
      description="A team has its own wallet, API keys, budget and requests, which its people share. You become its admin and can switch between your accounts."
      form={form}
      label="Create team"
      busyLabel="Creating…"
      isComplete={form.values.name.trim() !== ""}
      onClose={onClose}
    >
      <TextField label="Name" autoComplete="off" maxLength={60} {...form.field("name")} />
    </FormDialog>
  );
}

export function RenameTeamDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const form = useForm({ name }, async (values) => {
    await renameTeam(values.name);
    toast("The team is renamed");
    onClose();
  });
  return (
    <FormDialog title="Rename team" form={form} isComplete={form.values.name.trim() !== ""} onClose={onClose}>
      <TextField label="Name" autoComplete="off" maxLength={60} {...form.field("name")} />
    </FormDialog>
  );
}

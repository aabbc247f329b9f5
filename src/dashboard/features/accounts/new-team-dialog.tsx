import { useLocation } from "wouter";
import { refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";

/** Creates a team that nobody is in yet, and opens its page, where people are invited to it. */
export function NewTeamDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const form = useForm({ name: "" }, async ({ name }) => {
    const { id } = await request(organization.projects.post({ name: name.trim() }));
    await refreshAccounts();
    navigate(`/admin/accounts/${id}`);
  });
  return (
    <FormDialog
      title="New team"
      description="An account with its own wallet, limits and keys, in which several people work. You invite them next."
      form={form}
      label="Create team"
      busyLabel="Creating…"
      isComplete={form.values.name.trim() !== ""}
      onClose={onClose}
    >
      <TextField label="Name" autoComplete="off" maxLength={200} autoFocus {...form.field("name")} />
    </FormDialog>
  );
}

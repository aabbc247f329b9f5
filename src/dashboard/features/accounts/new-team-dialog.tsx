import { useLocation } from "wouter";
import { refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { NameDialog } from "../../kit/form.tsx";

/** Creates a team that nobody is in yet, and opens its page, where people are invited to it. */
export function NewTeamDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const create = async (name: string) => {
    const { id } = await request(organization.projects.post({ name }));
    await refreshAccounts();
    navigate(`/admin/accounts/${id}`);
  };
  return (
    <NameDialog
      title="New team"
      description="An account with its own wallet, limits and keys for several people. You invite them next."
      label="Create team"
      busyLabel="Creating…"
      lengthMax={200}
      act={create}
      onClose={onClose}
    />
  );
}

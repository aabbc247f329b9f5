import { useState } from "react";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Check, SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { type Created, inviteToTeam, type Person, removeFromTeam, type TeamRole, teamRoles } from "./api.ts";
import { CreatedLink } from "./created-link.tsx";

const lifetimes = [
  ["1", "1 day"],
  ["7", "7 days"],
  ["30", "30 days"],
] as const;

/** Creates a link that lets one person join, and shows it once. */
export function InviteDialog({
  account,
  canMail,
  onClose,
}: {
  account: string | undefined;
  canMail: boolean;
  onClose: () => void;
}) {
  const [created, setCreated] = useState<Created>();
  const initial = { role: "member" as TeamRole, email: "", days: "7", sends: true };
  const form = useForm(initial, async ({ role, email: text, days, sends }) => {
    const email = text.trim();
    setCreated(
      await inviteToTeam(account, { role, email, days: Number(days), isMailed: canMail && sends && email !== "" }),
    );
  });
  const hasEmail = form.values.email.trim() !== "";
  if (created !== undefined) {
    return (
      <Dialog title="Invitation created" isPersistent onClose={onClose}>
        <DialogContent label="Done" onClose={onClose}>
          <CreatedLink created={created} />
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Invite to team"
      description="Creates an invitation link for one person, who will share its balance, keys and requests."
      form={form}
      label="Create link"
      busyLabel="Creating…"
      onClose={onClose}
    >
      <TextField
        label="Email (optional)"
        inputMode="email"
        autoComplete="off"
        maxLength={254}
        hint="Only the person with this address can use the link. Without an address, anyone with the link can."
        {...form.field("email")}
      />
      {canMail && hasEmail && (
        <Check checked={form.values.sends} onCheck={(isChecked) => form.set({ sends: isChecked })}>
          Send the link to this address
        </Check>
      )}
      <SelectField
        label="Role in the team"
        options={teamRoles}
        value={form.values.role}
        onText={(role) => form.set({ role })}
        hint="Members use the account and manage the keys that they created. Team admins also manage people, alerts and all keys."
      />
      <SelectField
        label="Valid for"
        options={lifetimes}
        value={form.values.days as "7"}
        onText={(days) => form.set({ days })}
      />
    </FormDialog>
  );
}

/** Asks whether the keys that the person made, and may have kept, end too. */
export function RemoveDialog({
  account,
  person: { id, email },
  onClose,
}: {
  account: string | undefined;
  person: Person;
  onClose: () => void;
}) {
  const form = useForm({ revokes: true }, async ({ revokes }) => {
    await removeFromTeam(account, id, revokes);
    toast(`${email} is removed from the team`);
    onClose();
  });
  return (
    <FormDialog title={`Remove ${email}?`} form={form} label="Remove" busyLabel="Removing…" onClose={onClose}>
      <p className="soft">
        They are signed out of this account, and their open invitations end. Their own account stays.
      </p>
      <Check checked={form.values.revokes} onCheck={(isChecked) => form.set({ revokes: isChecked })}>
        Revoke the API keys that they created
      </Check>
    </FormDialog>
  );
}

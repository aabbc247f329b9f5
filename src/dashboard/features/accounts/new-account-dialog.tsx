import { useState } from "react";
import { refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { InviteSection } from "./invite-section.tsx";

/** Creates an account, then offers to invite its holder. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const [created, setCreated] = useState<{ id: string; email: string }>();
  const form = useForm({ email: "", name: "" }, async (values) => {
    const [email, name] = [values.email.trim(), values.name.trim()];
    const { id } = await request(organization.projects.post({ email, ...(name !== "" && { name }) }));
    setCreated({ id, email });
    await refreshAccounts();
  });
  if (created !== undefined) {
    return (
      <Dialog title={`Account ${created.email} created`} isPersistent onClose={onClose}>
        <DialogContent label="Done" onClose={onClose}>
          <InviteSection accountId={created.id} email={created.email} />
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="New account"
      form={form}
      label="Create account"
      busyLabel="Creating…"
      isComplete={form.values.email.trim() !== ""}
      onClose={onClose}
    >
      <TextField label="Email" inputMode="email" autoComplete="off" autoFocus {...form.field("email")} />
      <TextField label="Name (optional)" autoComplete="off" maxLength={200} {...form.field("name")} />
    </FormDialog>
  );
}

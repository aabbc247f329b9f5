import { useState } from "react";
import { refreshAccounts } from "../../data/admin.ts";
import { api, request } from "../../data/api.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { InviteSection } from "./invite-section.tsx";

/** Creates an account, then offers to invite its holder. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [created, setCreated] = useState<{ id: string; email: string }>();
  const action = useAction(async () => {
    const fields = { email: email.trim(), ...(name.trim() !== "" && { name: name.trim() }) };
    setCreated(await request(api.admin.accounts.post(fields)));
    await refreshAccounts();
  });
  if (created !== undefined) {
    return (
      <Dialog title={`Account ${created.email} created`} isPersistent onClose={onClose}>
        <div className="dialog-body">
          <InviteSection accountId={created.id} />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn btn-primary" onClick={onClose}>
            Done
          </button>
        </footer>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="New account"
      labels={["Create account", "Creating…"]}
      action={action}
      isComplete={email.trim() !== ""}
      error={action.formError("email", "name")}
      onClose={onClose}
    >
      <TextField
        label="Email"
        inputMode="email"
        autoComplete="off"
        autoFocus
        value={email}
        onText={setEmail}
        error={action.fieldError("email")}
      />
      <TextField
        label="Name (optional)"
        autoComplete="off"
        maxLength={200}
        value={name}
        onText={setName}
        error={action.fieldError("name")}
      />
    </FormDialog>
  );
}

import { useState } from "react";
import { refreshAccounts } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { InvitePart } from "./invite-part.tsx";

/** Makes an account; then its holder can be invited. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [made, setMade] = useState<{ id: string; email: string }>();
  const action = useAction(async () => {
    const fields = { email: email.trim(), ...(name.trim() !== "" && { name: name.trim() }) };
    setMade(await told(api.admin.accounts.post(fields)));
    await refreshAccounts();
  });
  if (made !== undefined) {
    return (
      <Dialog title={`${made.email} has an account`} isConfirmed onClose={onClose}>
        <div className="dialog-body">
          <InvitePart accountId={made.id} />
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
      verbs={["Make account", "Making…"]}
      action={action}
      isWhole={email.trim() !== ""}
      wrong={action.otherThan("email", "name")}
      onClose={onClose}
    >
      <TextField
        label="E-mail"
        inputMode="email"
        autoComplete="off"
        autoFocus
        value={email}
        onText={setEmail}
        wrong={action.wrongOf("email")}
      />
      <TextField
        label="Name, if it is known"
        autoComplete="off"
        maxLength={200}
        value={name}
        onText={setName}
        wrong={action.wrongOf("name")}
      />
    </FormDialog>
  );
}

import { type FormEvent, useState } from "react";
import { refreshAccounts } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { useAction } from "../../ui/use-action.ts";
import { InvitePart } from "./invite-part.tsx";

/** Makes an account; then its holder can be invited. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [made, setMade] = useState<{ id: string; email: string }>();
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const fields = { email: email.trim(), ...(name.trim() !== "" && { name: name.trim() }) };
    setMade(await told(api.admin.accounts.post(fields)));
    await refreshAccounts();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  if (made !== undefined) {
    return (
      <Dialog title={`${made.email} has an account`} isFirm onClose={onClose}>
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
  const wrong = otherThan("email", "name");
  return (
    <Dialog title="New account" onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <TextField
            label="E-mail"
            inputMode="email"
            autoComplete="off"
            autoFocus
            value={email}
            onText={setEmail}
            wrong={wrongOf("email")}
          />
          <TextField
            label="Name, if it is known"
            autoComplete="off"
            maxLength={200}
            value={name}
            onText={setName}
            wrong={wrongOf("name")}
          />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || email.trim() === ""}>
            {isBusy ? "Making…" : "Make account"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

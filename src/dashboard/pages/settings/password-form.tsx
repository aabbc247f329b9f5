import { useState } from "react";
import { changePassword } from "../../data/session.ts";
import { Callout } from "../../ui/feedback.tsx";
import { NewPasswordField, PasswordField } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Changes the password and signs out all other sessions. */
export function PasswordForm({ email }: { email: string }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { submit, isBusy, formError } = useAction(async () => {
    await changePassword(current, next);
    setCurrent("");
    setNext("");
    toast("Password changed; other devices are signed out");
  });
  return (
    <Section title="Password">
      <form className="stack card-body" onSubmit={submit}>
        <Callout tone="bad">{formError()}</Callout>
        <input type="text" name="email" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          label="Current password"
          name="current"
          autoComplete="current-password"
          required
          value={current}
          onText={setCurrent}
        />
        <NewPasswordField value={next} onText={setNext} />
        <div className="row">
          <button type="submit" className="btn btn-primary" disabled={isBusy || current === "" || next === ""}>
            {isBusy ? "Changing…" : "Change password"}
          </button>
        </div>
      </form>
    </Section>
  );
}

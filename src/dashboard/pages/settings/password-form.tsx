import { type FormEvent, useState } from "react";
import { passwordHint } from "../../auth/password-hint.ts";
import { changePassword } from "../../data/session.ts";
import { Callout } from "../../ui/callout.tsx";
import { PasswordField } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Changes the password; whoever is signed in elsewhere is signed out. */
export function PasswordForm({ email }: { email: string }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { run, isBusy, otherThan } = useAction(async () => {
    await changePassword(current, next);
    setCurrent("");
    setNext("");
    toast("The password is changed; other devices are signed out");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan();
  return (
    <Section title="Password">
      <form className="stack card-body" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        <input type="text" name="email" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          label="Current password"
          name="current"
          autoComplete="current-password"
          required
          value={current}
          onText={setCurrent}
        />
        <PasswordField
          label="New password"
          name="new"
          autoComplete="new-password"
          required
          hint={passwordHint}
          value={next}
          onText={setNext}
        />
        <div className="row">
          <button type="submit" className="btn btn-primary" disabled={isBusy || current === "" || next === ""}>
            {isBusy ? "Changing…" : "Change password"}
          </button>
        </div>
      </form>
    </Section>
  );
}

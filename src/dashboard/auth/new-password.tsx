import { useState } from "react";
import { changePassword, type Me, reloadSession, signOut } from "../data/session.ts";
import { Callout } from "../ui/feedback.tsx";
import { NewPasswordField, PasswordField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { AuthCard } from "./auth-card.tsx";

/** Shown after signing in with a generated password. */
export function NewPassword({ me }: { me: Me }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { submit, isBusy, formError } = useAction(async () => {
    await changePassword(current, next);
    await reloadSession();
  });
  return (
    <AuthCard
      title="Choose a new password"
      description={`You are signed in as ${me.email} with a generated password. Replace it to continue.`}
      foot={
        <button type="button" className="link" onClick={() => void signOut().then(reloadSession)}>
          Sign out
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        <Callout tone="bad">{formError()}</Callout>
        <input type="text" name="email" autoComplete="username" value={me.email} readOnly hidden />
        <PasswordField
          label="Current password"
          name="current"
          autoComplete="current-password"
          required
          autoFocus
          value={current}
          onText={setCurrent}
        />
        <NewPasswordField value={next} onText={setNext} />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Changing…" : "Change password"}
        </button>
      </form>
    </AuthCard>
  );
}

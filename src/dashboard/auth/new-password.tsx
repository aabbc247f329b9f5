import { type FormEvent, useState } from "react";
import { changePassword, changeVisitor, type Me, signOut } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { PasswordField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";
import { passwordHint } from "./password-hint.ts";

/** After the first sign-in with a password that somebody else has seen. */
export function NewPassword({ me }: { me: Me }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { run, isBusy, otherThan } = useAction(async () => {
    await changePassword(current, next);
    await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan();
  return (
    <GateCard
      title="Choose your own password"
      about={`The one you came with was made for you and has been on a screen. You are signed in as ${me.email}.`}
      foot={
        <button type="button" className="link" onClick={() => void signOut().then(changeVisitor)}>
          Sign out
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
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
        <PasswordField
          label="New password"
          name="new"
          autoComplete="new-password"
          required
          hint={passwordHint}
          value={next}
          onText={setNext}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Changing…" : "Change password"}
        </button>
      </form>
    </GateCard>
  );
}

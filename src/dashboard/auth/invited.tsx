import { type FormEvent, useState } from "react";
import { api, told } from "../data/api.ts";
import { changeVisitor, signIn } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { PasswordField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";
import { passwordHint } from "./password-hint.ts";

/** Takes up an invitation: its link is good once, for a password. */
export function InvitationPage({ token, onLeave }: { token: string; onLeave: () => void }) {
  const [password, setPassword] = useState("");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const { email } = await told(api.invitations.accept.post({ token, password }));
    // Whoever has a second step is asked for it by the sign-in.
    await signIn(email, password);
    onLeave();
    await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan("password");
  return (
    <GateCard
      title="Welcome"
      about="You were invited. Choose a password, and you are in."
      foot={
        <button type="button" className="link" onClick={onLeave}>
          Go on without it
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        <PasswordField
          label="New password"
          name="password"
          autoComplete="new-password"
          required
          autoFocus
          hint={passwordHint}
          value={password}
          onText={setPassword}
          wrong={wrongOf("password")}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Setting…" : "Set password and sign in"}
        </button>
      </form>
    </GateCard>
  );
}

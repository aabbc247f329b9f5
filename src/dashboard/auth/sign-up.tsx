import { type FormEvent, useState } from "react";
import { changeVisitor, signUp } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";
import { passwordHint } from "./password-hint.ts";

/** An account of one's own, where the gateway is open for that. */
export function SignUp({ onSignIn }: { onSignIn: () => void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    await signUp({ name, email, password });
    await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan("email", "password", "name");
  return (
    <GateCard
      title="Create an account"
      foot={
        <>
          Have one already?{" "}
          <button type="button" className="link" onClick={onSignIn}>
            Sign in
          </button>
        </>
      }
    >
      <form className="stack" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        <TextField
          label="Name"
          name="name"
          autoComplete="name"
          required
          autoFocus
          value={name}
          onText={setName}
          wrong={wrongOf("name")}
        />
        <TextField
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onText={setEmail}
          wrong={wrongOf("email")}
        />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="new-password"
          required
          hint={passwordHint}
          value={password}
          onText={setPassword}
          wrong={wrongOf("password")}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Creating…" : "Create account"}
        </button>
      </form>
    </GateCard>
  );
}

import { type FormEvent, useState } from "react";
import { useGateway } from "../data/gateway.ts";
import { changeVisitor, signIn } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";

/** The ways to get in that this gateway offers. */
export function SignIn({ onSignUp }: { onSignUp: () => void }) {
  const { data: gateway } = useGateway();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { run, isBusy, otherThan } = useAction(async () => {
    await signIn(email, password);
    await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan();
  return (
    <GateCard
      title="Sign in"
      about="to your keys, usage and billing"
      foot={
        gateway?.sign_up === "open" ? (
          <>
            New here?{" "}
            <button type="button" className="link" onClick={onSignUp}>
              Create an account
            </button>
          </>
        ) : (
          "No account yet? Whoever runs this gateway can invite you."
        )
      }
    >
      <form className="stack" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        <TextField
          label="E-mail"
          name="email"
          type="text"
          inputMode="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          autoFocus
          maxLength={254}
          value={email}
          onText={setEmail}
        />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          maxLength={1000}
          value={password}
          onText={setPassword}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </GateCard>
  );
}

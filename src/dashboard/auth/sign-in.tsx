import { type FormEvent, useState } from "react";
import { useGateway } from "../data/gateway.ts";
import { changeVisitor, signIn, signInElsewhere } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";
import { handleError } from "./handle-error.ts";
import { SecondStep } from "./second-step.tsx";

/** The ways to get in that this gateway offers. */
export function SignIn({ onSignUp }: { onSignUp: () => void }) {
  const { data: gateway } = useGateway();
  const [failure, setFailure] = useState(handleError);
  const [isHalfway, setHalfway] = useState(false);
  if (isHalfway) return <SecondStep onBack={() => setHalfway(false)} />;
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
      {failure !== undefined && <Callout tone="bad">{failure}</Callout>}
      <PasswordForm onBegin={() => setFailure(undefined)} onCode={() => setHalfway(true)} />
      {gateway?.oidc === true && <Elsewhere />}
    </GateCard>
  );
}

function PasswordForm({ onBegin, onCode }: { onBegin: () => void; onCode: () => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { run, isBusy, otherThan } = useAction(async () => {
    onBegin();
    if ((await signIn(email, password)) === "code") onCode();
    else await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan();
  return (
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
  );
}

/** By the provider of identities of whoever runs the gateway. */
function Elsewhere() {
  const { run, isBusy, otherThan } = useAction(signInElsewhere);
  const wrong = otherThan();
  return (
    <>
      <span className="or">or</span>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <button type="button" className="btn btn-wide" disabled={isBusy} onClick={() => void run()}>
        Single sign-on
      </button>
    </>
  );
}

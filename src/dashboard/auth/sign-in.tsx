import { useState } from "react";
import { useGateway } from "../data/api.ts";
import { reloadSession, signIn, signInWithSso } from "../data/session.ts";
import { Callout } from "../ui/feedback.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { AuthCard } from "./auth-card.tsx";
import { CodeForm } from "./code-form.tsx";

const ssoErrors = new Map([
  ["access_denied", "Single sign-on was cancelled or denied."],
  ["signup_disabled", "You don't have an account here yet. Ask an administrator for an invitation."],
  ["unavailable", "The identity provider is not responding. Try again."],
]);

/** The sign-in methods that this gateway offers. */
export function SignIn({ onSignUp }: { onSignUp: () => void }) {
  const { data: gateway } = useGateway();
  const [failure, setFailure] = useState(consumeSignInError);
  const [needsCode, setNeedsCode] = useState(false);
  if (needsCode) return <CodeForm onBack={() => setNeedsCode(false)} />;
  return (
    <AuthCard
      title="Sign in"
      description="Manage your API keys, usage and billing"
      foot={
        gateway?.sign_up === "open" ? (
          <>
            New here?{" "}
            <button type="button" className="link" onClick={onSignUp}>
              Create an account
            </button>
          </>
        ) : (
          "No account yet? Ask an administrator for an invitation."
        )
      }
    >
      <Callout tone="bad">{failure}</Callout>
      <PasswordForm onStart={() => setFailure(undefined)} onCodeRequired={() => setNeedsCode(true)} />
      {gateway?.oidc === true && <SsoButton />}
    </AuthCard>
  );
}

function PasswordForm({ onStart, onCodeRequired }: { onStart: () => void; onCodeRequired: () => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { submit, isBusy, formError } = useAction(async () => {
    onStart();
    if ((await signIn(email, password)) === "code") onCodeRequired();
    else await reloadSession();
  });
  return (
    <form className="stack" onSubmit={submit}>
      <Callout tone="bad">{formError()}</Callout>
      <TextField
        label="Email"
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

/** Sign-in through the configured identity provider. */
function SsoButton() {
  const { run, isBusy, formError } = useAction(signInWithSso);
  return (
    <>
      <span className="or">or</span>
      <Callout tone="bad">{formError()}</Callout>
      <button type="button" className="btn btn-wide" disabled={isBusy} onClick={() => void run()}>
        Single sign-on
      </button>
    </>
  );
}

/** The error of a failed single sign-on, read from the URL hash and removed from it. */
function consumeSignInError(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("sign-in-error");
  if (code === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return ssoErrors.get(code) ?? `Single sign-on failed with “${code.slice(0, 80)}”.`;
}

import { useState } from "react";
import { useGateway } from "../../data/api.ts";
import { getMe } from "../../data/calls.ts";
import { type Me, reloadSession, signIn, signInWithSso } from "../../data/session.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { PasswordField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { useAction } from "../../kit/use-action.ts";
import { AuthCard } from "./auth-card.tsx";
import { CodeForm } from "./code-form.tsx";
import { takeFromHash } from "./link-token.ts";

const ssoErrors = new Map([
  ["access_denied", "Single sign-on was cancelled or denied."],
  ["signup_disabled", "You don't have an account here yet. Ask an administrator for an invitation."],
  ["unavailable", "The identity provider is not responding. Try again."],
]);

/** A sign-in with a generated password, which has to be replaced first. */
export interface TemporarySignIn {
  readonly me: Me;
  readonly password: string;
}

interface SignInProps {
  onSignUp: () => void;
  /** Absent: the page is loaded again, as after any other sign-in. */
  onTemporary?: ((signedIn: TemporarySignIn) => void) | undefined;
}

export function SignIn({ onSignUp, onTemporary }: SignInProps) {
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
            New here? <LinkButton onClick={onSignUp}>Create an account</LinkButton>
            <br />
            Forgot your password? Ask an administrator for an invitation.
          </>
        ) : (
          "No account yet, or forgot your password? Ask an administrator for an invitation."
        )
      }
    >
      <Callout tone="bad">{failure}</Callout>
      <PasswordForm
        onStart={() => setFailure(undefined)}
        onCodeRequired={() => setNeedsCode(true)}
        onTemporary={onTemporary}
      />
      {gateway?.oidc === true && <SsoButton />}
    </AuthCard>
  );
}

function PasswordForm({
  onStart,
  onCodeRequired,
  onTemporary,
}: {
  onStart: () => void;
  onCodeRequired: () => void;
} & Pick<SignInProps, "onTemporary">) {
  const form = useForm({ email: "", password: "" }, async ({ email, password }) => {
    onStart();
    if ((await signIn(email, password)) === "code") return onCodeRequired();
    const me = onTemporary && (await getMe().catch(() => undefined));
    if (me?.password_is_temporary !== true) return await reloadSession();
    onTemporary?.({ me, password });
  });
  return (
    <Form form={form} isNative>
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
        {...form.field("email")}
      />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        maxLength={1000}
        {...form.field("password")}
      />
      <Submit form={form} label="Sign in" busyLabel="Signing in…" look="primary wide" />
    </Form>
  );
}

/** Sign-in through the configured identity provider. */
function SsoButton() {
  const { run, isBusy, formError } = useAction(signInWithSso);
  return (
    <>
      <span className="or">or</span>
      <Callout tone="bad">{formError()}</Callout>
      <Button look="wide" disabled={isBusy} onClick={() => void run()}>
        Single sign-on
      </Button>
    </>
  );
}

/** The error of a failed single sign-on, read from the URL hash and removed from it. */
function consumeSignInError(): string | undefined {
  const code = takeFromHash("sign-in-error");
  if (code === undefined) return undefined;
  return ssoErrors.get(code) ?? `Single sign-on failed with “${code.slice(0, 80)}”.`;
}

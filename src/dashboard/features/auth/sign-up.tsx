import { isUnauthorized } from "../../data/api.ts";
import { reloadSession, signIn, signUp } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { NewPasswordField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";

/** Registration, where `SIGNUP=open`. */
export function SignUp({ onSignIn }: { onSignIn: () => void }) {
  return (
    <SignUpForm
      title="Create an account"
      labels={["Create account", "Creating…"]}
      onSignIn={onSignIn}
      onSignedIn={reloadSession}
    />
  );
}

/** The form of somebody who has no sign-in yet, or says so. */
export function SignUpForm({
  title,
  description,
  email = null,
  invitation,
  labels: [label, busyLabel],
  onSignIn,
  onSignedIn,
}: {
  title: string;
  description?: string;
  /** The only one that may be used; `null`: any. */
  email?: string | null;
  /** The token of an invitation to a team. */
  invitation?: string;
  labels: readonly [label: string, busyLabel: string];
  onSignIn: () => void;
  onSignedIn: () => Promise<unknown>;
}) {
  const form = useForm({ name: "", email: email ?? "", password: "" }, async (fields) => {
    await signUp({ ...fields, ...(invitation !== undefined && { invitation }) });
    if ((await signInAfterSignUp(fields)) === "code") onSignIn();
    else await onSignedIn();
  });
  return (
    <AuthCard
      title={title}
      description={description}
      foot={
        <>
          Already have an account? <LinkButton onClick={onSignIn}>Sign in</LinkButton>
        </>
      }
    >
      <Form form={form} isNative>
        <TextField label="Name" name="name" autoComplete="name" required autoFocus {...form.field("name")} />
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          required
          readOnly={email !== null}
          {...form.field("email")}
        />
        <NewPasswordField label="Password" name="password" {...form.field("password")} />
        <Submit form={form} label={label} busyLabel={busyLabel} look="primary wide" />
      </Form>
    </AuthCard>
  );
}

/** Whether the e-mail had an account already, the answer of a registration does not tell. */
async function signInAfterSignUp({ email, password }: { email: string; password: string }): Promise<"in" | "code"> {
  try {
    return await signIn(email, password);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    throw new Error("You can't be signed in with this email and password. If you have an account, sign in to it.");
  }
}

import { isUnauthorized } from "../../data/api.ts";
import { reloadSession, signIn, signUp } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { NewPasswordField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";

export async function signInAfterSignUp({
  email,
  password,
}: {
  email: string;
  password: string;
}): Promise<"in" | "code"> {
  try {
    return await signIn(email, password);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    throw new Error("You can't be signed in with this email and password. If you have an account, sign in to it.");
  }
}

/** Registration, where `SIGNUP=open`. */
export function SignUp({ onSignIn }: { onSignIn: () => void }) {
  const form = useForm({ name: "", email: "", password: "" }, async (fields) => {
    await signUp(fields);
    if ((await signInAfterSignUp(fields)) === "code") onSignIn();
    else await reloadSession();
  });
  return (
    <AuthCard
      title="Create an account"
      foot={
        <>
          Already have an account? <LinkButton onClick={onSignIn}>Sign in</LinkButton>
        </>
      }
    >
      <Form form={form} isNative>
        <TextField label="Name" name="name" autoComplete="name" required autoFocus {...form.field("name")} />
        <TextField label="Email" name="email" type="email" autoComplete="username" required {...form.field("email")} />
        <NewPasswordField label="Password" name="password" {...form.field("password")} />
        <Submit form={form} label="Create account" busyLabel="Creating…" look="primary wide" />
      </Form>
    </AuthCard>
  );
}

import { useState } from "react";
import { isUnauthorized } from "../data/api.ts";
import { reloadSession, signIn, signUp } from "../data/session.ts";
import { Callout } from "../ui/feedback.tsx";
import { NewPasswordField, TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { AuthCard } from "./auth-card.tsx";

async function signInAfterSignUp(email: string, password: string): Promise<"in" | "code"> {
  try {
    return await signIn(email, password);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    throw new Error("You can't be signed in with this email and password. If you have an account, sign in to it.");
  }
}

/** Registration, where `SIGNUP=open`. */
export function SignUp({ onSignIn }: { onSignIn: () => void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    await signUp({ name, email, password });
    if ((await signInAfterSignUp(email, password)) === "code") onSignIn();
    else await reloadSession();
  });
  return (
    <AuthCard
      title="Create an account"
      foot={
        <>
          Already have an account?{" "}
          <button type="button" className="link" onClick={onSignIn}>
            Sign in
          </button>
        </>
      }
    >
      <form className="stack" onSubmit={submit}>
        <Callout tone="bad">{formError("email", "password", "name")}</Callout>
        <TextField
          label="Name"
          name="name"
          autoComplete="name"
          required
          autoFocus
          value={name}
          onText={setName}
          error={fieldError("name")}
        />
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onText={setEmail}
          error={fieldError("email")}
        />
        <NewPasswordField
          label="Password"
          name="password"
          value={password}
          onText={setPassword}
          error={fieldError("password")}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Creating…" : "Create account"}
        </button>
      </form>
    </AuthCard>
  );
}

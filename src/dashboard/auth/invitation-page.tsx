import { useEffect, useState } from "react";
import { api, request } from "../data/api.ts";
import { reloadSession, signIn } from "../data/session.ts";
import { Callout } from "../ui/feedback.tsx";
import { NewPasswordField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { AuthCard } from "./auth-card.tsx";

/** Accepts an invitation: its link sets a password, once. */
export function InvitationPage({ token, onDismiss }: { token: string; onDismiss: () => void }) {
  const [password, setPassword] = useState("");
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    const { email } = await request(api.invitations.accept.post({ token, password }));
    // With two-step sign-in on, this continues at the sign-in form.
    await signIn(email, password);
    onDismiss();
    await reloadSession();
  });
  return (
    <AuthCard
      title="Welcome"
      description="You've been invited. Choose a password to sign in."
      foot={
        <button type="button" className="link" onClick={onDismiss}>
          Skip
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        <Callout tone="bad">{formError("password")}</Callout>
        <NewPasswordField
          name="password"
          autoFocus
          value={password}
          onText={setPassword}
          error={fieldError("password")}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Setting…" : "Set password and sign in"}
        </button>
      </form>
    </AuthCard>
  );
}

/**
 * The token of a link such as `/#invitation=…`. It is in the hash so that it never reaches a server log, and it is
 * removed from the URL at once. Also works for a link that is opened while the page is open.
 */
export function useInvitation(): [token: string | undefined, dismiss: () => void] {
  const [token, setToken] = useState(consumeToken);
  useEffect(() => {
    const onHash = () => setToken((known) => consumeToken() ?? known);
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  return [token, () => setToken(undefined)];
}

function consumeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? undefined;
  if (token !== undefined) history.replaceState(null, "", location.pathname);
  return token;
}

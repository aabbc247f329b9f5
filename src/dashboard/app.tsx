import { useEffect, useState } from "react";
import { isUnauthorized } from "./data/api.ts";
import { extendSession, useMe } from "./data/session.ts";
import { InvitationPage, useInvitation } from "./features/auth/invitation-page.tsx";
import { JoinPage, useTeamInvitation } from "./features/auth/join-page.tsx";
import { NewPassword } from "./features/auth/new-password.tsx";
import { SignIn } from "./features/auth/sign-in.tsx";
import { SignUp } from "./features/auth/sign-up.tsx";
import { useEmailLink } from "./features/auth/verify-email.tsx";
import { LoadError } from "./kit/feedback.tsx";
import { Toasts } from "./kit/toast.tsx";
import { SwitchedAwayDialog } from "./shell/account-switch.tsx";
import { Shell } from "./shell/shell.tsx";

/** Extends the session first, so that somebody who visits daily stays signed in. */
export function App() {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    void extendSession().then(() => setReady(true));
  }, []);
  return (
    <>
      {isReady && <Session />}
      <SwitchedAwayDialog />
      <Toasts />
    </>
  );
}

function Session() {
  const { data: me, error, mutate } = useMe();
  const [invitation, dismissInvitation] = useInvitation();
  const [team, dismissTeam] = useTeamInvitation();
  useEmailLink(error === undefined ? me : undefined);
  if (invitation !== undefined) return <InvitationPage token={invitation} onDismiss={dismissInvitation} />;
  if (team !== undefined && (isUnauthorized(error) || me?.password_is_temporary === false)) {
    return <JoinPage token={team} me={isUnauthorized(error) ? undefined : me} onDismiss={dismissTeam} />;
  }
  if (isUnauthorized(error)) return <SignedOut />;
  if (me !== undefined) return me.password_is_temporary ? <NewPassword me={me} /> : <Shell me={me} />;
  if (error === undefined) return null;
  return (
    <main className="auth">
      <LoadError error={error} onRetry={mutate} />
    </main>
  );
}

function SignedOut() {
  const [isSigningUp, setSigningUp] = useState(false);
  return isSigningUp ? <SignUp onSignIn={() => setSigningUp(false)} /> : <SignIn onSignUp={() => setSigningUp(true)} />;
}

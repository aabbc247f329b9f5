import { useEffect, useState } from "react";
import { isUnauthorized } from "./data/api.ts";
import { extendSession, useMe } from "./data/session.ts";
import { InvitationPage } from "./features/auth/invitation-page.tsx";
import { JoinPage } from "./features/auth/join-page.tsx";
import { useLinkToken } from "./features/auth/link-token.ts";
import { NewPassword } from "./features/auth/new-password.tsx";
import { useProgramRequest } from "./features/auth/program-request.ts";
import { SignIn, type TemporarySignIn } from "./features/auth/sign-in.tsx";
import { SignUp } from "./features/auth/sign-up.tsx";
import { useEmailLink } from "./features/auth/verify-email.tsx";
import { LoadError } from "./kit/feedback.tsx";
import { Toasts } from "./kit/toast.tsx";
import { SwitchedAwayDialog } from "./shell/account-switch.tsx";
import { LazyPage } from "./shell/lazy-page.tsx";
import { Shell } from "./shell/shell.tsx";

/** Extends the session before anything else, so people who visit daily stay signed in. */
export function App() {
  const [session, setSession] = useState<{ isIn: boolean | undefined }>();
  useEffect(() => {
    void extendSession().then((isIn) => setSession({ isIn }));
  }, []);
  return (
    <>
      {session !== undefined && <Session isOut={session.isIn === false} />}
      <SwitchedAwayDialog />
      <Toasts />
    </>
  );
}

/** `isOut`: not signed in, so there is no account to ask for. */
function Session({ isOut }: { isOut: boolean }) {
  const { data: me, error, mutate } = useMe(!isOut);
  const isSignedOut = isOut || isUnauthorized(error);
  const [invitation, dismissInvitation] = useLinkToken("invitation");
  const [team, dismissTeam] = useLinkToken("team", true);
  const [program, dismissProgram] = useProgramRequest();
  const [temporary, setTemporary] = useState<TemporarySignIn>();
  useEmailLink(error === undefined ? me : undefined);
  if (invitation !== undefined) return <InvitationPage token={invitation} onDismiss={dismissInvitation} />;
  if (team !== undefined && (isSignedOut || me?.password_is_temporary === false)) {
    return <JoinPage token={team} me={isSignedOut ? undefined : me} onDismiss={dismissTeam} />;
  }
  if (temporary !== undefined) return <NewPassword me={temporary.me} typedPassword={temporary.password} />;
  if (isSignedOut) return <SignedOut onTemporary={setTemporary} />;
  if (me?.password_is_temporary === true) return <NewPassword me={me} />;
  if (me !== undefined && program !== undefined) {
    const props = { me, asked: program, onDismiss: dismissProgram };
    return <LazyPage path="/program" load={() => import("./features/auth/program-page.tsx")} props={props} />;
  }
  if (me !== undefined) return <Shell me={me} />;
  if (error === undefined) return null;
  return (
    <main className="auth">
      <LoadError error={error} onRetry={mutate} />
    </main>
  );
}

function SignedOut({ onTemporary }: { onTemporary: (signedIn: TemporarySignIn) => void }) {
  const [isSigningUp, setSigningUp] = useState(false);
  if (isSigningUp) return <SignUp onSignIn={() => setSigningUp(false)} />;
  return <SignIn onSignUp={() => setSigningUp(true)} onTemporary={onTemporary} />;
}

import { useEffect, useState } from "react";
import { LoadShedder } from "./auth/gate.tsx";
import { InvitationPage } from "./auth/invited.tsx";
import { useInvitation } from "./auth/use-invitation.ts";
import { isSignedOut } from "./data/api.ts";
import { touchSession, useMe } from "./data/session.ts";
import { Shell } from "./shell/shell.tsx";
import { Failed } from "./ui/states.tsx";
import { Toasts } from "./ui/toast.tsx";

/** Before all else the session is extended, so that one who comes each day stays signed in. */
export function App() {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    void touchSession().then(() => setReady(true));
  }, []);
  return (
    <>
      {isReady && <Visited />}
      <Toasts />
    </>
  );
}

function Visited() {
  const { data: me, error, mutate } = useMe();
  const [invitation, leaveInvitation] = useInvitation();
  if (invitation !== undefined) return <InvitationPage token={invitation} onLeave={leaveInvitation} />;
  if (isSignedOut(error)) return <LoadShedder />;
  if (me !== undefined) return me.password_is_temporary ? <LoadShedder me={me} /> : <Shell me={me} />;
  if (error === undefined) return null;
  return (
    <main className="gate">
      <Failed error={error} again={mutate} />
    </main>
  );
}

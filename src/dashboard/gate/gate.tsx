import { useState } from "react";
import type { Me } from "../data/session.ts";
import { Invited } from "./invited.tsx";
import { NewPassword } from "./new-password.tsx";
import { SignIn } from "./sign-in.tsx";
import { SignUp } from "./sign-up.tsx";

/** What stands before the page: sign in, sign up, take up an invitation, or choose a password of one's own. */
export function Gate({ me }: { me?: Me }) {
  const [invitation, setInvitation] = useState(readInvitation);
  const [isSigningUp, setSigningUp] = useState(false);
  if (me !== undefined) return <NewPassword me={me} />;
  if (invitation !== undefined) return <Invited token={invitation} onLeave={() => setInvitation(undefined)} />;
  return isSigningUp ? <SignUp onSignIn={() => setSigningUp(false)} /> : <SignIn onSignUp={() => setSigningUp(true)} />;
}

/** The token of a link such as `/#invitation=…`: behind the hash, so that it is in no log of a server. */
function readInvitation(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? undefined;
  if (token !== undefined) history.replaceState(null, "", location.pathname);
  return token;
}

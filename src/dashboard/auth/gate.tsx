import { useState } from "react";
import type { Me } from "../data/session.ts";
import { NewPassword } from "./new-password.tsx";
import { SignIn } from "./sign-in.tsx";
import { SignUp } from "./sign-up.tsx";

/** What stands before the page: sign in, sign up, or choose a password of one's own. */
export function LoadShedder({ me }: { me?: Me }) {
  const [isSigningUp, setSigningUp] = useState(false);
  if (me !== undefined) return <NewPassword me={me} />;
  return isSigningUp ? <SignUp onSignIn={() => setSigningUp(false)} /> : <SignIn onSignUp={() => setSigningUp(true)} />;
}

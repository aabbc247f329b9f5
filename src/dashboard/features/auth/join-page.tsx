import { useEffect, useState } from "react";
import { toMessage } from "../../data/api.ts";
import { type Me, reloadSession } from "../../data/session.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { useAction } from "../../kit/use-action.ts";
import { joinTeam, readTeamInvitation } from "../team/api.ts";
import { AuthCard } from "./auth-card.tsx";
import { SignIn } from "./sign-in.tsx";
import { SignUpForm } from "./sign-up.tsx";

type Invitation = Awaited<ReturnType<typeof readTeamInvitation>>;

interface JoinProps {
  token: string;
  /** The signed-in user; absent when nobody is. */
  me: Me | undefined;
  onDismiss: () => void;
}

/** An invitation to a team: for a new person it is the sign-up, for others a question. */
export function JoinPage({ token, me, onDismiss }: JoinProps) {
  const [invitation, setInvitation] = useState<Invitation>();
  const [failure, setFailure] = useState<unknown>();
  const [isSigningIn, setSigningIn] = useState(false);
  useEffect(() => {
    readTeamInvitation(token).then(setInvitation, setFailure);
  }, [token]);
  if (failure !== undefined) {
    return (
      <AuthCard title="Invitation" foot={<LinkButton onClick={onDismiss}>Continue without it</LinkButton>}>
        <Callout tone="bad">{toMessage(failure)}</Callout>
      </AuthCard>
    );
  }
  if (invitation === undefined) return null;
  if (me !== undefined) return <JoinAs me={me} token={token} invitation={invitation} onDismiss={onDismiss} />;
  if (isSigningIn) return <SignIn onSignUp={() => setSigningIn(false)} />;
  return <JoinAsNew token={token} invitation={invitation} onDismiss={onDismiss} onSignIn={() => setSigningIn(true)} />;
}

function JoinAs({ token, me, invitation, onDismiss }: JoinProps & { me: Me; invitation: Invitation }) {
  const { run, isBusy, formError } = useAction(async () => {
    await joinTeam(token);
    onDismiss();
    location.assign("/");
  });
  return (
    <AuthCard
      title={`Join ${invitation.team}`}
      description={`You are signed in as ${me.email}. You keep your own account and can switch at any time.`}
      foot={<LinkButton onClick={onDismiss}>Not now</LinkButton>}
    >
      <div className="stack">
        <Callout tone="bad">{formError()}</Callout>
        <Button look="primary wide" disabled={isBusy} onClick={() => void run()}>
          {isBusy ? "Joining…" : "Join team"}
        </Button>
      </div>
    </AuthCard>
  );
}

function JoinAsNew({
  token,
  invitation: { team, email },
  onDismiss,
  onSignIn,
}: Omit<JoinProps, "me"> & { invitation: Invitation; onSignIn: () => void }) {
  const join = async () => {
    // A person who already had an account is signed in by now, but has not joined the team yet.
    await joinTeam(token);
    onDismiss();
    await reloadSession();
  };
  return (
    <SignUpForm
      title={`Join ${team}`}
      description="You've been invited to a team. Create your sign-in to join it."
      email={email}
      invitation={token}
      labels={["Create and join", "Joining…"]}
      onSignIn={onSignIn}
      onSignedIn={join}
    />
  );
}

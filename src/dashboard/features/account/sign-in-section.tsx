import { useState } from "react";
import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { InviteSection } from "../accounts/invite-section.tsx";
import { SessionFacts, toBrowserName } from "../settings/sessions-section.tsx";

/** How the account's user signs in, and where they are signed in now. */
export function SignInSection({ account, mayManage }: { account: AccountDetail; mayManage: boolean }) {
  const [isAsking, setAsking] = useState(false);
  const { id, email, label, sessions } = account;
  const signOut = async () => {
    await request(organization.users({ user_id: id }).sessions.delete());
    await refreshAccounts();
    toast(`${label} is signed out everywhere`);
  };
  return (
    <Section
      title="Sign-in and sessions"
      actions={
        mayManage &&
        sessions.length > 0 && (
          <Button look="small" onClick={() => setAsking(true)}>
            Sign out everywhere
          </Button>
        )
      }
    >
      <div className="card-body stack">
        <span className="soft">{describeSignIn(account)}</span>
        {mayManage && email !== null && <InviteSection accountId={id} email={email} />}
      </div>
      {sessions.length > 0 && (
        <ul className="rows">
          {sessions.map(({ id: session, ...facts }) => (
            <li key={session}>
              <strong>{toBrowserName(facts.user_agent)}</strong>
              <SessionFacts session={facts} />
            </li>
          ))}
        </ul>
      )}
      {isAsking && (
        <Confirm title={`Sign ${label} out?`} action="Sign out" act={signOut} onClose={() => setAsking(false)}>
          <p>All sessions of this user end. API keys keep working.</p>
        </Confirm>
      )}
    </Section>
  );
}

function describeSignIn({ role, second_factor: isOn, sessions, email_verified, is_team }: AccountDetail): string {
  if (is_team) return "Nobody signs in as a team: its people sign in to their own accounts, and switch to it.";
  if (role === null) return "No one has signed in to this account yet. Send an invitation to its holder.";
  const count = sessions.length === 1 ? "1 active session" : `${sessions.length} active sessions`;
  const claim =
    "Someone signed up with this email without verifying it. Accepting an invitation verifies the address, " +
    "and ends the API keys, team and alert channels created before that.";
  return `Two-step sign-in is ${isOn ? "on" : "off"}. ${count}.${email_verified === false ? ` ${claim}` : ""}`;
}

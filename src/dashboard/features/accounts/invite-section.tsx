import { useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { Check } from "../../kit/field.tsx";
import { useAction } from "../../kit/use-action.ts";
import { type Created, inviteHolder, useTeam } from "../team/api.ts";
import { CreatedLink } from "../team/created-link.tsx";

/** Creates an invitation link for setting a password, shown once. */
export function InviteSection({ accountId, email }: { accountId: string; email: string }) {
  const { data: team } = useTeam(accountId);
  const canMail = team?.can_mail === true;
  const [sends, setSends] = useState(true);
  const [created, setCreated] = useState<Created>();
  const { run, isBusy, formError } = useAction(async () => {
    setCreated(await inviteHolder(accountId, email, canMail && sends));
  });
  return (
    <div className="stack stack-tight">
      <Callout tone="bad">{formError()}</Callout>
      {created === undefined ? (
        <>
          <div className="row">
            <Button disabled={isBusy} onClick={() => void run()}>
              Create invitation
            </Button>
            <span className="faint">A single-use link for setting a password, valid for 48 hours</span>
          </div>
          {canMail && (
            <Check checked={sends} onCheck={setSends}>
              Send the link to {email}
            </Check>
          )}
        </>
      ) : (
        <CreatedLink created={created} />
      )}
    </div>
  );
}

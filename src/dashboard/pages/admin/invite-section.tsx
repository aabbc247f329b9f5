import { useState } from "react";
import { api, request } from "../../data/api.ts";
import { formatMoment } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/copy.tsx";
import { Callout } from "../../ui/feedback.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Creates an invitation link for setting a password, shown once. */
export function InviteSection({ accountId }: { accountId: string }) {
  const [created, setCreated] = useState<{ url: string; until: string }>();
  const { run, isBusy, formError } = useAction(async () => {
    const { token, expires_at } = await request(api.admin.accounts({ id: accountId }).invite.post());
    setCreated({ url: `${location.origin}/#invitation=${token}`, until: expires_at });
  });
  return (
    <div className="stack stack-tight">
      <Callout tone="bad">{formError()}</Callout>
      {created === undefined ? (
        <div className="row">
          <Button disabled={isBusy} onClick={() => void run()}>
            Create invitation
          </Button>
          <span className="faint">A single-use link for setting a password, valid for 48 hours</span>
        </div>
      ) : (
        <>
          <Code text={created.url} label="invitation link" />
          <span className="faint">
            Single use, valid until {formatMoment(created.until)}. It will not be shown again.
          </span>
        </>
      )}
    </div>
  );
}

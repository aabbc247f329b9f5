import { useState } from "react";
import { api, told } from "../../data/api.ts";
import { formatMoment } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { Code } from "../../ui/copy.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Makes a link by which the holder of an account sets a password. It is shown once. */
export function InvitePart({ accountId }: { accountId: string }) {
  const [made, setMade] = useState<{ url: string; until: string }>();
  const { run, isBusy, otherThan } = useAction(async () => {
    const { token, expires_at } = await told(api.admin.accounts({ id: accountId }).invite.post());
    setMade({ url: `${location.origin}/#invitation=${token}`, until: expires_at });
  });
  const wrong = otherThan();
  return (
    <div className="stack stack-tight">
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      {made === undefined ? (
        <div className="row">
          <button type="button" className="btn" disabled={isBusy} onClick={() => void run()}>
            Make an invitation
          </button>
          <span className="faint">A link for setting a password, good once and for 48 hours</span>
        </div>
      ) : (
        <>
          <Code text={made.url} label="the invitation" />
          <span className="faint">Good once, until {formatMoment(made.until)}. It is not shown again.</span>
        </>
      )}
    </div>
  );
}

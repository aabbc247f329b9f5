import { formatMoment } from "../../format.ts";
import { Code } from "../../kit/copy.tsx";
import { Callout } from "../../kit/feedback.tsx";
import type { Created } from "./api.ts";

/** The link of an invitation, shown once, also when it was sent. */
export function CreatedLink({ created: { url, until, mail } }: { created: Created }) {
  return (
    <>
      {mail?.error === null && <Callout tone="good">Sent to {mail.to}.</Callout>}
      {typeof mail?.error === "string" && (
        <Callout tone="warn">
          The link was not sent to {mail.to}. {mail.error}.
        </Callout>
      )}
      <p className="soft">
        {mail?.error === null ? "You can also send this link yourself." : "Send this link to the person."} It works
        once, until {formatMoment(until)}, and will not be shown again.
      </p>
      <Code text={url} label="invitation link" />
    </>
  );
}

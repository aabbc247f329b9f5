import { useState } from "react";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { Fact, Section } from "../../kit/page.tsx";
import { removeSmtp, type SmtpServer, useMailServer } from "./api.ts";
import { MailServerDialog } from "./mail-server-dialog.tsx";

/** The mail server of invitations and alerts. */
export function MailSection() {
  const server = useMailServer();
  return (
    <Loaded state={server} lines={3}>
      {({ smtp }) => <MailServer smtp={smtp} />}
    </Loaded>
  );
}

function MailServer({ smtp }: { smtp: SmtpServer | null }) {
  const { data: me } = useMe();
  const [open, setOpen] = useState<"edit" | "remove">();
  const close = () => setOpen(undefined);
  // Only owners may change the server: it delivers the links that owners set their passwords with.
  const isOwner = me?.role === "owner";
  const isEditable = isOwner && smtp?.from_environment !== true;
  return (
    <Section
      title="Mail server"
      actions={
        isEditable && (
          <div className="row">
            {smtp !== null && (
              <Button look="small" onClick={() => setOpen("remove")}>
                Remove
              </Button>
            )}
            <Button look="small" onClick={() => setOpen("edit")}>
              {smtp === null ? "Set mail server" : "Edit mail server"}
            </Button>
          </div>
        )
      }
    >
      {smtp === null ? (
        <p className="card-body soft">
          Email alerts and invitations by email need a mail server (SMTP){!isOwner && ", which an owner sets"}.
        </p>
      ) : (
        <dl className="facts card-body">
          <Fact name="Server">
            {smtp.host}:{smtp.port}
          </Fact>
          <Fact name="Encryption">{smtp.tls ? "TLS" : "STARTTLS"}</Fact>
          <Fact name="User">{smtp.user ?? "–"}</Fact>
          <Fact name="Password">{smtp.has_password ? "set" : "not set"}</Fact>
          <Fact name="Sender">{smtp.from}</Fact>
          <Fact name="Source">{smtp.from_environment ? "SMTP_URL and SMTP_FROM" : "the dashboard"}</Fact>
        </dl>
      )}
      {open === "edit" && <MailServerDialog smtp={smtp} onClose={close} />}
      {open === "remove" && (
        <Confirm title="Remove the mail server?" action="Remove" act={removeSmtp} onClose={close}>
          Invitations and alerts are no longer sent by email, including alerts to account holders.
        </Confirm>
      )}
    </Section>
  );
}

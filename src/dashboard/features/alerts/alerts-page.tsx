import { useState } from "react";
import { useMe } from "../../data/session.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { Table } from "../../kit/table.tsx";
import { type AdminAlerts, type Alert, removeSmtp, type SmtpServer, useAdminAlerts } from "./api.ts";
import { ChannelsSection } from "./channels-section.tsx";
import { ruleTitles } from "./rule-titles.ts";
import { RulesSection } from "./rules-section.tsx";
import { SmtpDialog } from "./smtp-dialog.tsx";

export default function AlertsPage() {
  const alerts = useAdminAlerts();
  return (
    <>
      <PageHead
        title="Alerts"
        description="Messages when money runs low, a provider fails or the gateway needs attention. An alert is sent once, again after a day, and when it is resolved."
      />
      <Loaded state={alerts} lines={8}>
        {(data) => <Alerts data={data} />}
      </Loaded>
    </>
  );
}

function Alerts({ data: { active, rules, channels, smtp } }: { data: AdminAlerts }) {
  return (
    <div className="stack">
      <Section title="Active alerts">
        <ActiveAlerts alerts={active} />
      </Section>
      <ChannelsSection scope="admin" channels={channels} hasMail={smtp !== null} />
      <RulesSection scope="admin" rules={rules} />
      <MailSection smtp={smtp} />
    </div>
  );
}

function ActiveAlerts({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <Table
      rows={alerts}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="check" title="No active alerts">
          <p>The rules below are checked every minute.</p>
        </Empty>
      }
      columns={[
        { name: "Alert", className: "lead", cell: ({ rule }) => ruleTitles[rule]?.title ?? rule },
        { name: "Details", className: "break", cell: ({ text }) => text },
        { name: "Since", cell: ({ since }) => formatAge(since) },
        { name: "Last sent", cell: ({ notified_at }) => formatAge(notified_at) },
      ]}
    />
  );
}

function MailSection({ smtp }: { smtp: SmtpServer | null }) {
  const { data: me } = useMe();
  const [open, setOpen] = useState<"edit" | "remove">();
  const close = () => setOpen(undefined);
  // It carries the links by which owners set their passwords.
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
          <dt>Server</dt>
          <dd>
            {smtp.host}:{smtp.port}
          </dd>
          <dt>Encryption</dt>
          <dd>{smtp.tls ? "TLS" : "STARTTLS"}</dd>
          <dt>User</dt>
          <dd>{smtp.user ?? "–"}</dd>
          <dt>Password</dt>
          <dd>{smtp.has_password ? "set" : "not set"}</dd>
          <dt>Sender</dt>
          <dd>{smtp.from}</dd>
          <dt>Source</dt>
          <dd>{smtp.from_environment ? "SMTP_URL and SMTP_FROM" : "this page"}</dd>
        </dl>
      )}
      {open === "edit" && <SmtpDialog smtp={smtp} onClose={close} />}
      {open === "remove" && (
        <Confirm title="Remove the mail server?" action="Remove" act={removeSmtp} onClose={close}>
          Email alerts are no longer sent, also those of account holders.
        </Confirm>
      )}
    </Section>
  );
}

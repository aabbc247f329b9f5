import { useState } from "react";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, Table } from "../../kit/table.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { type AlertChannel, type AlertScope, deleteChannel, testChannel } from "./api.ts";
import { ChannelDialog } from "./channel-dialog.tsx";

interface ChannelsProps {
  scope: AlertScope;
  channels: readonly AlertChannel[];
  /** Whether the gateway can send e-mails. */
  hasMail: boolean;
}

/** Where alerts are sent, and whether the last message was accepted. */
export function ChannelsSection({ scope, channels, hasMail }: ChannelsProps) {
  const [isAdding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<AlertChannel>();
  return (
    <Section
      title={scope === "admin" ? "Channels" : "Alert channels"}
      actions={
        <Button look="small" icon="plus" onClick={() => setAdding(true)}>
          Add channel
        </Button>
      }
    >
      <ChannelsTable scope={scope} channels={channels} onDelete={setDeleting} />
      {isAdding && <ChannelDialog scope={scope} hasMail={hasMail} onClose={() => setAdding(false)} />}
      {deleting !== undefined && (
        <Confirm
          title="Delete this channel?"
          action="Delete channel"
          act={() => deleteChannel(scope, deleting.id)}
          onClose={() => setDeleting(undefined)}
        >
          Alerts are no longer sent to {deleting.label}.
        </Confirm>
      )}
    </Section>
  );
}

function ChannelsTable({
  scope,
  channels,
  onDelete,
}: Pick<ChannelsProps, "scope" | "channels"> & { onDelete: (channel: AlertChannel) => void }) {
  const [testing, setTesting] = useState<string>();
  const test = async ({ id, label }: AlertChannel) => {
    setTesting(id);
    try {
      const error = await testChannel(scope, id);
      if (error === null) toast(`Test message sent to ${label}`);
      else toastError(new Error(error));
    } catch (error) {
      toastError(error);
    } finally {
      setTesting(undefined);
    }
  };
  return (
    <Table
      rows={channels}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="send" title="No channels yet">
          <p>
            {scope === "admin"
              ? "Add a webhook, or email addresses once a mail server is set up, to receive alerts."
              : "Add one to be notified when your wallet runs low or an API key has spent its budget."}
          </p>
        </Empty>
      }
      columns={[
        {
          name: "Channel",
          className: "lead break",
          cell: ({ kind, label }) => (
            <>
              {label}
              <span className="sub">{kind === "webhook" ? "Webhook" : "Email"}</span>
            </>
          ),
        },
        { name: "Last message", className: "break", cell: (channel) => <Outcome channel={channel} /> },
        actionsColumn<AlertChannel>((channel) => (
          <>
            <Button
              look="plain small"
              disabled={testing !== undefined}
              aria-label={`Send test to ${channel.label}`}
              onClick={() => void test(channel)}
            >
              {testing === channel.id ? "Sending…" : "Send test"}
            </Button>
            <Button look="plain small" aria-label={`Delete ${channel.label}`} onClick={() => onDelete(channel)}>
              Delete
            </Button>
          </>
        )),
      ]}
    />
  );
}

function Outcome({ channel: { error, error_at, sent_at } }: { channel: AlertChannel }) {
  if (error !== null) {
    return (
      <span>
        <span className="badge is-bad">failed</span> {error}
        <span className="sub">{formatAge(error_at)}</span>
      </span>
    );
  }
  if (sent_at === null) return <span className="soft">none yet</span>;
  return (
    <span>
      <span className="badge is-good">sent</span> <span className="soft">{formatAge(sent_at)}</span>
    </span>
  );
}

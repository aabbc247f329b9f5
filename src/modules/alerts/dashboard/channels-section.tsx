import { useState } from "react";
import { formatAge } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Confirm } from "../../../dashboard/kit/confirm.tsx";
import { Empty } from "../../../dashboard/kit/feedback.tsx";
import { FormDialog, useForm } from "../../../dashboard/kit/form.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { actionsColumn, Table } from "../../../dashboard/kit/table.tsx";
import { toast, toastError } from "../../../dashboard/kit/toast.tsx";
import {
  type AlertChannel,
  type AlertScope,
  type ChannelFilter,
  changeChannel,
  deleteChannel,
  type MetricRule,
  testChannel,
} from "./api.ts";
import { ChannelDialog, kindNames, NameField, toName } from "./channel-dialog.tsx";
import { FilterFields, toFilter, toFilterValues } from "./filter-fields.tsx";
import { titleOfRule } from "./rule-titles.ts";

interface ChannelsProps {
  scope: AlertScope;
  channels: readonly AlertChannel[];
  /** Whether the gateway can send e-mails. */
  hasMail: boolean;
  /** Custom rules, which channels of the gateway may choose. */
  metricRules?: readonly MetricRule[];
}

/** Where alerts are sent, and whether the last message was accepted. */
export function ChannelsSection({ scope, channels, hasMail, metricRules = [] }: ChannelsProps) {
  const [isAdding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<AlertChannel>();
  const [editing, setEditing] = useState<AlertChannel>();
  return (
    <Section
      title={scope === "admin" ? "Channels" : "Alert channels"}
      actions={
        <Button look="small" icon="plus" onClick={() => setAdding(true)}>
          Add channel
        </Button>
      }
    >
      <ChannelsTable
        scope={scope}
        channels={channels}
        metricRules={metricRules}
        onDelete={setDeleting}
        onEdit={setEditing}
      />
      {isAdding && (
        <ChannelDialog scope={scope} hasMail={hasMail} metricRules={metricRules} onClose={() => setAdding(false)} />
      )}
      {editing !== undefined && (
        <EditDialog channel={editing} metricRules={metricRules} onClose={() => setEditing(undefined)} />
      )}
      {deleting !== undefined && (
        <Confirm
          title="Delete this channel?"
          action="Delete channel"
          act={() => deleteChannel(scope, deleting.id)}
          onClose={() => setDeleting(undefined)}
        >
          Alerts are no longer sent to {deleting.name}.
        </Confirm>
      )}
    </Section>
  );
}

function ChannelsTable({
  scope,
  channels,
  metricRules,
  onDelete,
  onEdit,
}: Pick<ChannelsProps, "scope" | "channels"> & {
  metricRules: readonly MetricRule[];
  onDelete: (channel: AlertChannel) => void;
  onEdit: (channel: AlertChannel) => void;
}) {
  const [testing, setTesting] = useState<string>();
  const test = async ({ id, name }: AlertChannel) => {
    setTesting(id);
    try {
      const error = await testChannel(scope, id);
      if (error === null) toast(`Test alert sent to ${name}`);
      else toastError(new Error(error));
    } catch (error) {
      toastError(error);
    } finally {
      setTesting(undefined);
    }
  };
  const describeGets = (channel: AlertChannel) => <Gets channel={channel} metricRules={metricRules} />;
  return (
    <Table
      rows={channels}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="send" title="No channels yet">
          <p>
            {scope === "admin"
              ? "Add Slack, PagerDuty, Teams, Discord or a webhook, or email addresses once a mail server is set up."
              : "Add one to be notified when your wallet runs low or an API key has spent its budget."}
          </p>
        </Empty>
      }
      columns={[
        {
          name: "Channel",
          className: "lead break",
          cell: ({ kind, name, label }) => (
            <>
              {name}
              <span className="sub">
                {kindNames[kind]}, {label}
              </span>
            </>
          ),
        },
        ...(scope === "admin" ? [{ name: "Gets", className: "break", cell: describeGets }] : []),
        { name: "Last message", className: "break", cell: (channel) => <Outcome channel={channel} /> },
        actionsColumn<AlertChannel>((channel) => (
          <>
            <Button
              look="plain small"
              disabled={testing !== undefined}
              aria-label={`Send test to ${channel.name}`}
              onClick={() => void test(channel)}
            >
              {testing === channel.id ? "Sending…" : "Send test"}
            </Button>
            {scope === "admin" && (
              <Button look="plain small" aria-label={`Edit ${channel.name}`} onClick={() => onEdit(channel)}>
                Edit
              </Button>
            )}
            <Button look="plain small" aria-label={`Delete ${channel.name}`} onClick={() => onDelete(channel)}>
              Delete
            </Button>
          </>
        )),
      ]}
    />
  );
}

const severityWords = { info: "All alerts", warning: "Warning and critical", critical: "Critical" } as const;

/** The alerts and digests that a channel gets. */
function Gets({ channel, metricRules }: { channel: ChannelFilter; metricRules: readonly MetricRule[] }) {
  const { rules, severity, digest, digest_hour: hour } = channel;
  const nameOf = (rule: string) => metricRules.find(({ id }) => id === rule)?.name ?? titleOfRule(rule);
  return (
    <>
      {severityWords[severity]}
      {rules !== null && <span className="sub">{rules.map(nameOf).join(", ")}</span>}
      {digest !== "off" && (
        <span className="sub">
          {digest} digest at {String(hour).padStart(2, "0")}:00 UTC
        </span>
      )}
    </>
  );
}

function EditDialog({
  channel,
  metricRules,
  onClose,
}: {
  channel: AlertChannel;
  metricRules: readonly MetricRule[];
  onClose: () => void;
}) {
  const { id, kind, name } = channel;
  const form = useForm({ ...toFilterValues(channel), name }, async (values) => {
    await changeChannel(id, { ...toFilter(values, kind), name: toName(values.name) });
    onClose();
  });
  return (
    <FormDialog title={name} form={form} onClose={onClose}>
      <NameField {...form.field("name")} />
      <FilterFields form={form} kind={kind} metricRules={metricRules} />
    </FormDialog>
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

import { Link } from "wouter";
import { useMayAdminister } from "../../../dashboard/data/roles.ts";
import { useMailServer } from "../../../dashboard/features/mail/api.ts";
import { MailSection } from "../../../dashboard/features/mail/mail-section.tsx";
import { formatAge, formatMoment } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Empty, Loaded } from "../../../dashboard/kit/feedback.tsx";
import { Select } from "../../../dashboard/kit/field.tsx";
import { PageHead, Section } from "../../../dashboard/kit/page.tsx";
import { Segmented } from "../../../dashboard/kit/segmented.tsx";
import { actionsColumn, type Column, Table } from "../../../dashboard/kit/table.tsx";
import { toastError } from "../../../dashboard/kit/toast.tsx";
import { useChoice } from "../../../dashboard/kit/url-state.ts";
import { type AdminAlerts, type Alert, muteAlert, type PastAlert, severityBadges, useAdminAlerts } from "./api.ts";
import { ChannelsSection } from "./channels-section.tsx";
import { MetricRulesSection } from "./metric-rules-section.tsx";
import { titleOfRule } from "./rule-titles.ts";
import { RulesSection } from "./rules-section.tsx";

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

function Alerts({ data }: { data: AdminAlerts }) {
  const { active, history, rules, metric_rules: metricRules, channels } = data;
  const { data: mail } = useMailServer();
  const hasMail = (mail?.smtp ?? null) !== null;
  const [tab, setTab] = useChoice("tab", tabs);
  return (
    <div className="stack">
      <Segmented label="Part" value={tab} options={tabs} onChoose={setTab} />
      {tab === "active" && (
        <Section title="Active alerts">
          <ActiveAlerts alerts={active} hasChannel={channels.length > 0} />
        </Section>
      )}
      {tab === "history" && <HistorySection history={history} />}
      {tab === "rules" && (
        <>
          <MetricRulesSection rules={metricRules} channels={channels} />
          <RulesSection scope="admin" rules={rules} channels={channels} />
        </>
      )}
      {tab === "channels" && (
        <>
          <ChannelsSection scope="admin" channels={channels} hasMail={hasMail} metricRules={metricRules} />
          <MailSection />
        </>
      )}
    </div>
  );
}

const tabs = [
  ["active", "Active"],
  ["history", "History"],
  ["rules", "Rules"],
  ["channels", "Channels"],
] as const;
function ActiveAlerts({ alerts, hasChannel }: { alerts: readonly Alert[]; hasChannel: boolean }) {
  const mayChange = useMayAdminister();
  return (
    <>
      {!hasChannel && (
        <p className="card-body soft">No one is notified yet: add a channel, such as a webhook or an email address.</p>
      )}
      <Table
        rows={alerts}
        rowKey={({ id }) => id}
        fileName="alerts"
        empty={
          <Empty icon="check" title="No active alerts">
            <p>The rules are checked every minute.</p>
          </Empty>
        }
        columns={[
          ...alertColumns,
          { name: "Since", className: "nowrap", sort: ({ since }) => since, cell: ({ since }) => formatAge(since) },
          {
            name: "Last sent",
            sort: ({ notified_at }) => notified_at,
            cell: ({ notified_at, muted, muted_until }) =>
              muted ? (
                <>
                  <span className="badge">muted</span>
                  {muted_until !== null && <span className="sub">until {formatMoment(muted_until)}</span>}
                </>
              ) : (
                formatAge(notified_at)
              ),
          },
          actionsColumn<Alert>((alert) => mayChange && <MuteControl alert={alert} />),
        ]}
      />
    </>
  );
}

/** The columns that say what an alert is about. */
const alertColumns: readonly Column<Pick<Alert, "rule" | "severity" | "text" | "page">>[] = [
  {
    name: "Alert",
    className: "lead",
    sort: ({ rule }) => titleOfRule(rule),
    cell: ({ rule }) => titleOfRule(rule),
  },
  {
    name: "Severity",
    sort: ({ severity }) => severity,
    cell: ({ severity }) => <span className={severityBadges[severity]}>{severity}</span>,
  },
  {
    name: "Details",
    className: "break",
    sort: ({ text }) => text,
    cell: ({ text, page }) => (
      <>
        {text}
        {page !== "" && (
          <Link className="sub link" href={page}>
            Open the page about it
          </Link>
        )}
      </>
    ),
  },
];

const muteHours: Readonly<Record<string, number | null>> = { "1": 1, "24": 24, "168": 168, always: null };
const muteOptions = [
  ["", "Mute…"],
  ["1", "for an hour"],
  ["24", "for a day"],
  ["168", "for a week"],
  ["always", "until I unmute it"],
] as const;

/** Sends no messages about an alert for a while. */
function MuteControl({ alert: { id, rule, muted } }: { alert: Alert }) {
  const act = (hours?: number | null) => void muteAlert(id, hours).catch(toastError);
  if (muted) {
    return (
      <Button look="plain small" aria-label={`Unmute ${titleOfRule(rule)}`} onClick={() => act()}>
        Unmute
      </Button>
    );
  }
  return (
    <Select
      isSmall
      aria-label={`Mute ${titleOfRule(rule)}`}
      options={muteOptions}
      value=""
      onText={(chosen: string) => chosen !== "" && act(muteHours[chosen])}
    />
  );
}

function HistorySection({ history }: { history: readonly PastAlert[] }) {
  return (
    <Section title="Past alerts">
      <Table
        rows={history}
        rowKey={({ id }) => id}
        shownMax={50}
        fileName="past-alerts"
        sortName="history"
        empty={
          <Empty icon="history" title="No past alerts">
            <p>Alerts that are over are listed here for 90 days.</p>
          </Empty>
        }
        columns={[
          ...alertColumns,
          { name: "Began", className: "nowrap", sort: ({ since }) => since, cell: ({ since }) => formatMoment(since) },
          { name: "Ended", className: "nowrap", sort: ({ ended }) => ended, cell: ({ ended }) => formatMoment(ended) },
        ]}
      />
    </Section>
  );
}

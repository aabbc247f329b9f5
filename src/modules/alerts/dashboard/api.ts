import useSWR, { mutate } from "swr";
import {
  fromSeconds,
  managementClient,
  pageClient,
  readPages,
  request,
  slowRefresh,
} from "../../../dashboard/data/api.ts";
import type { OrganizationAlerts } from "../organization-routes.ts";
import type { OwnAlertsApi } from "../page-routes.ts";

const { alerts } = managementClient<OrganizationAlerts>().organization;
const { api } = pageClient<OwnAlertsApi>().dashboard;

/** The badges of severities. */
export const severityBadges = { info: "badge", warning: "badge is-warn", critical: "badge is-bad" } as const;

const listAlerts = (state: "active" | "ended") =>
  readPages((query) => request(alerts.get({ query: { ...query, state } })));

export async function getActiveAlerts() {
  return (await listAlerts("active")).map((alert) => ({
    ...alert,
    since: fromSeconds(alert.started_at),
    notified_at: fromSeconds(alert.notified_at),
    muted_until: fromSeconds(alert.muted_until),
  }));
}

const getOwnAlerts = () => request(api.alerts.get());

/** Alerts of the gateway, in the same form as an account's alerts. */
async function getAdminAlerts() {
  const [active, ended, rules, metricRules, channels] = await Promise.all([
    getActiveAlerts(),
    listAlerts("ended"),
    readPages((query) => request(alerts.rules.get({ query }))),
    readPages((query) => request(alerts.metric_rules.get({ query }))),
    readPages((query) => request(alerts.channels.get({ query }))),
  ]);
  return {
    active,
    history: ended.map((alert) => ({
      ...alert,
      since: fromSeconds(alert.started_at),
      ended: fromSeconds(alert.resolved_at),
    })),
    rules: rules.map(({ id, ...rule }) => ({ rule: id, ...rule })),
    metric_rules: metricRules,
    channels: channels.map((channel) => ({
      ...channel,
      created_at: fromSeconds(channel.created_at),
      sent_at: fromSeconds(channel.sent_at),
      error_at: fromSeconds(channel.error_at),
    })),
  };
}

export type AdminAlerts = Awaited<ReturnType<typeof getAdminAlerts>>;
type OwnAlerts = Awaited<ReturnType<typeof getOwnAlerts>>;
export type Alert = AdminAlerts["active"][number];
export type AlertRule = Omit<OwnAlerts["rules"][number], "rule"> & { readonly rule: string };
export type AlertChannel = OwnAlerts["channels"][number];
export type PastAlert = AdminAlerts["history"][number];
export type MetricRule = AdminAlerts["metric_rules"][number];

export const useAdminAlerts = () => useSWR("alerts-admin", getAdminAlerts, slowRefresh);
export const useOwnAlerts = () => useSWR("alerts-own", getOwnAlerts, slowRefresh);

/** The rules and channels of the gateway, or of the own account. */
export type AlertScope = "admin" | "own";

export const refresh = (scope: AlertScope) => mutate(`alerts-${scope}`);

export async function setRule(
  scope: AlertScope,
  rule: string,
  change: { enabled: boolean; threshold?: string },
): Promise<void> {
  await (scope === "admin"
    ? request(alerts.rules({ rule_id: rule }).post(change))
    : request(api.alerts.rules({ id: rule }).put(change)));
  await refresh(scope);
}

/** Sends no messages about an alert for some hours; `null`: until somebody ends it; absent: sends them again. */
export async function muteAlert(id: string, hours?: number | null): Promise<void> {
  // Eden leaves a segment of the path as it is, and the id has the name of what the alert is about.
  const alert = alerts({ alert_id: encodeURIComponent(id) });
  await request(hours === undefined ? alert.unmute.post() : alert.mute.post({ hours }));
  await Promise.all([refresh("admin"), mutate("alerts-active"), mutate("admin-attention")]);
}

/** Turns a custom rule on or off. */
export async function turnMetricRule(id: string, enabled: boolean): Promise<void> {
  await request(alerts.metric_rules({ metric_rule_id: id }).post({ enabled }));
  await refresh("admin");
}

export async function deleteMetricRule(id: string): Promise<void> {
  await request(alerts.metric_rules({ metric_rule_id: id }).delete());
  await refresh("admin");
}

type NewChannel = Parameters<typeof alerts.channels.post>[0];
export type ChannelKind = NewChannel["kind"];

/** Adds a channel of the gateway. */
export async function addChannel(channel: NewChannel): Promise<void> {
  await request(alerts.channels.post(channel));
  await refresh("admin");
}

/** Adds a channel of the own account: a webhook, or its own e-mail address. */
export async function addOwnChannel(
  webhook: { name: string | null; url: string; secret: string } | undefined,
): Promise<void> {
  await (webhook === undefined ? request(api.alerts.emails.post()) : request(api.alerts.webhooks.post(webhook)));
  await refresh("own");
}

export type ChannelFilter = Required<Pick<AlertChannel, "rules" | "severity" | "digest" | "digest_hour">>;

/** Changes the name of a channel of the gateway, and which alerts and digests it gets. */
export async function changeChannel(
  id: string,
  { rules, ...others }: ChannelFilter & { name: string | null },
): Promise<void> {
  const body = { ...others, rules: rules === null ? null : [...rules] };
  await request(alerts.channels({ channel_id: id }).post(body));
  await refresh("admin");
}

export async function deleteChannel(scope: AlertScope, id: string): Promise<void> {
  await (scope === "admin"
    ? request(alerts.channels({ channel_id: id }).delete())
    : request(api.alerts.channels({ id }).delete()));
  await refresh(scope);
}

/** Sends a test message. Returns why it failed, `null` when it was accepted. */
export async function testChannel(scope: AlertScope, id: string): Promise<string | null> {
  const { error } = await (scope === "admin"
    ? request(alerts.channels({ channel_id: id }).test.post())
    : request(api.alerts.channels({ id }).test.post()));
  await refresh(scope);
  return error;
}

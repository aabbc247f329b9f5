import useSWR, { mutate } from "swr";
import { api, request, slowRefresh } from "../../data/api.ts";

const getAdminAlerts = () => request(api.admin.alerts.get());
const getOwnAlerts = () => request(api.alerts.get());

export type AdminAlerts = Awaited<ReturnType<typeof getAdminAlerts>>;
export type Alert = AdminAlerts["active"][number];
export type AlertRule = AdminAlerts["rules"][number];
export type AlertChannel = AdminAlerts["channels"][number];
export type PastAlert = AdminAlerts["history"][number];
export type MetricRule = AdminAlerts["metric_rules"][number];
export type SmtpServer = NonNullable<AdminAlerts["smtp"]>;

export const useAdminAlerts = () => useSWR("alerts-admin", getAdminAlerts, slowRefresh);
export const useOwnAlerts = () => useSWR("alerts-own", getOwnAlerts, slowRefresh);

/** The rules and channels of the gateway, or of the own account. */
export type AlertScope = "admin" | "own";

const rootOf = (scope: AlertScope) => (scope === "admin" ? api.admin.alerts : api.alerts);
const refresh = (scope: AlertScope) => mutate(`alerts-${scope}`);

export async function setRule(
  scope: AlertScope,
  rule: string,
  change: { enabled: boolean; threshold?: string },
): Promise<void> {
  await request(rootOf(scope).rules({ id: rule }).put(change));
  await refresh(scope);
}

/** Sends no messages about an alert for some hours; `null`: until somebody ends it; absent: sends them again. */
export async function muteAlert(id: string, hours?: number | null): Promise<void> {
  await request(api.admin.alerts.mute.post({ id, ...(hours !== undefined && { hours }) }));
  await Promise.all([refresh("admin"), mutate("admin-attention")]);
}

type MetricRuleBody = Parameters<(typeof api.admin.alerts)["metric-rules"]["post"]>[0];

/** Adds a rule, or changes the one with the id. */
export async function saveMetricRule(rule: MetricRuleBody, id?: string): Promise<void> {
  const rules = api.admin.alerts["metric-rules"];
  await request(id === undefined ? rules.post(rule) : rules({ id }).put(rule));
  await refresh("admin");
}

export async function deleteMetricRule(id: string): Promise<void> {
  await request(api.admin.alerts["metric-rules"]({ id }).delete());
  await refresh("admin");
}

export async function addWebhook(scope: AlertScope, webhook: { url: string; secret?: string }): Promise<void> {
  await request(rootOf(scope).webhooks.post(webhook));
  await refresh(scope);
}

/** For an account, `to` is its own address. */
export async function addEmail(scope: AlertScope, to: string[]): Promise<void> {
  await request(scope === "admin" ? api.admin.alerts.emails.post({ to }) : api.alerts.emails.post());
  await refresh(scope);
}

export async function deleteChannel(scope: AlertScope, id: string): Promise<void> {
  await request(rootOf(scope).channels({ id }).delete());
  await refresh(scope);
}

/** Sends a test message. Returns why it failed, `null` when it was accepted. */
export async function testChannel(scope: AlertScope, id: string): Promise<string | null> {
  const { error } = await request(rootOf(scope).channels({ id }).test.post());
  await refresh(scope);
  return error;
}

export async function setSmtp(smtp: Parameters<typeof api.admin.alerts.smtp.put>[0]): Promise<void> {
  await request(api.admin.alerts.smtp.put(smtp));
  await refresh("admin");
}

export async function removeSmtp(): Promise<void> {
  await request(api.admin.alerts.smtp.delete());
  await refresh("admin");
}

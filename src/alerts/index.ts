export {
  addChannel,
  type Channel,
  type ChannelFilter,
  changeChannel,
  channelKinds,
  deleteChannel,
  filterDefault,
  listChannels,
  type Target,
} from "./channels.ts";
export { createDelivery } from "./deliver.ts";
export type { VerifyLedger } from "./ledger-check.ts";
export {
  addMetricRule,
  baselineDays,
  baselineMinutes,
  changeMetricRule,
  deleteMetricRule,
  listMetricRules,
  type MetricRule,
  metricUnits,
  ruleMinutes,
} from "./metric-rules.ts";
export { openAlerts } from "./open-alerts.ts";
export { type FiringAlert, muteAlert, readFiring, readHistory } from "./record-findings.ts";
export { getRuleInfo, type Rule, ruleNames } from "./rules.ts";
export { ServiceHealth } from "./service-health.ts";
export { gatewayOwner, getRulesOf, type RuleSetting, readRules, writeRule } from "./settings.ts";
export { type AlertSubject, type Severity, severities } from "./subject.ts";
export { checkWebhookUrl } from "./webhook.ts";

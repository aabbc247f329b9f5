export { addChannel, type Channel, deleteChannel, listChannels } from "./channels.ts";
export { createDelivery, findSmtp } from "./deliver.ts";
export { sendEmail } from "./email.ts";
export type { VerifyLedger } from "./ledger-check.ts";
export {
  addMetricRule,
  changeMetricRule,
  deleteMetricRule,
  listMetricRules,
  type MetricRule,
  metricUnits,
  ruleMinutes,
} from "./metric-rules.ts";
export { openAlerts } from "./open-alerts.ts";
export { muteAlert, readFiring, readHistory, readMutes } from "./record-findings.ts";
export { getRuleInfo, type Rule, ruleNames } from "./rules.ts";
export { ServiceHealth } from "./service-health.ts";
export { gatewayOwner, getRulesOf, type RuleSetting, readRules, type Smtp, writeRule, writeSmtp } from "./settings.ts";
export { checkWebhookUrl } from "./webhook.ts";

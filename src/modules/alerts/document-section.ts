import { type Static, Type } from "@sinclair/typebox";
import { optional, quoteValue } from "../../contract/index.ts";
import { closed, diff, expectOnce, isSame, Status, Text, toLower } from "../../http/admin-api/document/plan-entries.ts";
import { defineSection, type Planning, type Step } from "../../http/admin-api/document/section.ts";
import { invalid } from "../../http/admin-api/lists.ts";
import { toResourceDeps } from "../../http/admin-api/resource-routes.ts";
import { bodyFields } from "../../lib/fields.ts";
import { emailsOf } from "../../tenants/index.ts";
import { readThreshold, toRuleJson, writeAuditedRule } from "./alert-actions.ts";
import {
  type MetricRuleBody,
  metricRuleActions,
  metricRuleFields,
  readMetricRule,
  toMetricRuleJson,
} from "./metric-rule-fields.ts";
import { listMetricRules, type MetricRule } from "./metric-rules.ts";
import { gatewayOwner, getRulesOf, type RuleSetting, readRules } from "./rule-settings.ts";

const { name, metric, scope, subject, comparison, minutes, baseline_days, minimum, min_calls, severity } =
  bodyFields(metricRuleFields);
/** One of the gateway's rules, or one of the operator's own for a metric, which has a name and the fields after it. */
const RuleEntry = Type.Object(
  {
    rule: { ...Text(60), description: "`metric`: a custom rule" },
    enabled: Type.Optional(Type.Boolean()),
    threshold: optional(Type.String({ maxLength: 30 })),
    id: Type.Optional(Text(100)),
    name: Type.Optional({
      ...name,
      description: "Identifies a rule for a metric without an id",
    }),
    status: Status,
    metric: Type.Optional(metric),
    scope: Type.Optional(scope),
    subject,
    comparison: Type.Optional(comparison),
    minutes: Type.Optional(minutes),
    baseline_days,
    minimum,
    min_calls,
    severity,
  },
  closed,
);
type RuleEntry = Static<typeof RuleEntry>;

/** The rules of alerts: the gateway's, and the operator's own for metrics. */
export const alertSection = defineSection({
  schema: Type.Array(RuleEntry, { maxItems: 100 }),
  area: "alerts",
  async read({ store }) {
    const rules = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
    const metricRules = await listMetricRules(store);
    const emails = await emailsOf(
      store,
      metricRules.map(({ subject }) => subject),
    );
    return [
      ...rules.map(toRuleJson).map(({ rule, enabled, threshold }) => ({ rule, enabled, threshold })),
      ...metricRules.map((rule) => toMetricEntry(rule, emails)),
    ];
  },
  plan: planAlerts,
});

/** The account of a rule is named by its e-mail, which it has on another gateway too. */
function toMetricEntry(rule: MetricRule, emails: ReadonlyMap<string, string>): RuleEntry {
  const { unit: _, subject, ...fields } = toMetricRuleJson(rule);
  return { rule: "metric", ...fields, subject: emails.get(subject) ?? subject };
}

async function planAlerts(planning: Planning, entries: readonly RuleEntry[]): Promise<Step[]> {
  const { store } = planning.deps;
  if (entries.length === 0) return [];
  expectOnce(
    "alerts",
    entries.map(({ rule, id, name }) => (rule === "metric" ? `metric ${id ?? name}` : rule)),
  );
  const settings = (await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? [];
  const metricRules = await listMetricRules(store);
  const steps: Step[] = [];
  for (const entry of entries) {
    const step =
      entry.rule === "metric"
        ? await planMetricRule(planning, entry, metricRules)
        : planRule(planning, entry, settings);
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** One of the gateway's own rules. @throws {GatewayError} `invalid_request` */
function planRule(
  { deps, admin }: Planning,
  { rule: name, enabled, threshold: text }: RuleEntry,
  settings: readonly RuleSetting[],
): Step | undefined {
  const names = getRulesOf(gatewayOwner);
  const rule = names.find((one) => one === name);
  const setting = settings.find((one) => one.rule === rule);
  if (rule === undefined || setting === undefined) {
    const expected = ["metric", ...names].join(", ");
    throw invalid("alerts", `alerts has the rule ${quoteValue(name)}, expected one of ${expected}`);
  }
  const threshold = text === undefined ? setting.threshold : readThreshold(rule, text ?? undefined);
  const target = { rule, isEnabled: enabled ?? setting.isEnabled, threshold };
  const fields = diff(toRuleJson(setting), toRuleJson(target));
  if (isSame(fields)) return undefined;
  return {
    id: rule,
    action: "change",
    fields,
    run: () => writeAuditedRule(deps, { owner: gatewayOwner, by: admin.accountId }, target),
  };
}

/** A rule of the operator's own. @throws {GatewayError} `invalid_request` */
async function planMetricRule(
  planning: Planning,
  { rule: _, id, status, ...ruleEntry }: RuleEntry,
  rules: readonly MetricRule[],
): Promise<Step | undefined> {
  const { deps, admin, keyIds } = planning;
  const named = rules.filter(({ name }) => name === ruleEntry.name);
  const present = rules.find((one) => one.id === id) ?? (named.length === 1 ? named[0] : undefined);
  const label = quoteValue(ruleEntry.name ?? id ?? "");
  if (present === undefined && named.length > 1) {
    throw invalid("alerts", `There are ${named.length} rules called ${label}; identify one by its id`);
  }
  const actions = metricRuleActions(deps);
  const subjects = toResourceDeps(deps);
  if (status === "removed") {
    if (present === undefined) return undefined;
    return {
      id: present.name,
      action: "remove",
      fields: {},
      run: () => actions.remove(admin, present.id),
    };
  }
  const current = present && toMetricRuleJson(present);
  const whole = { ...current, ...ruleEntry };
  const missing = (["name", "metric", "scope", "comparison", "threshold", "minutes"] as const).find(
    (field) => whole[field] == null,
  );
  if (missing !== undefined) throw invalid("alerts", `The rule ${label} for a metric has no ${missing}`);
  const { subject = "", ...body } = whole as MetricRuleBody;
  // An entry of the same document may be what the rule is about.
  const isComing = body.scope !== "gateway" && !keyIds.has(subject) && isNamed(planning, body.scope, subject);
  // The subject may have ended before the document was exported.
  const onUnknown = (message: string) =>
    planning.warnings.add(
      `The rule ${label} of alerts is kept as it is, but ${message.replace("There is", "there is")}`,
    );
  const read = () => readMetricRule(subjects, { ...body, subject: keyIds.get(subject) ?? subject }, onUnknown);
  const target = isComing
    ? { ...(await readMetricRule(subjects, { ...body, scope: "gateway" })), scope: body.scope, subject }
    : await read();
  const { id: ownId, unit, ...shown } = toMetricRuleJson({ ...target, id: present?.id ?? "" });
  const fields = diff(current ?? {}, shown);
  if (isSame(fields)) return undefined;
  return {
    id: shown.name,
    action: present === undefined ? "create" : "change",
    fields,
    async run() {
      const rule = await read();
      return present === undefined ? actions.add(admin, rule) : actions.change(admin, { ...rule, id: ownId });
    },
  };
}

/** Whether the document makes an account, key, provider or model of this name that is not here yet. */
function isNamed(
  { accounts, addedModels, deps, entries }: Planning,
  scope: MetricRule["scope"],
  name: string,
): boolean {
  switch (scope) {
    case "account":
      return !accounts.has(name) && entries.accounts.has(toLower(name));
    case "key":
      return entries.keys.has(name);
    case "provider":
      return !deps.snapshot().plugins.some((plugin) => plugin.name === name) && entries.providers.has(name);
    case "model":
      return deps.kernel.registry.byName(name) === undefined && addedModels.has(name);
    default:
      return false;
  }
}

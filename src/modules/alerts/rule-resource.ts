import { Type } from "@sinclair/typebox";
import { GatewayError } from "../../contract/index.ts";
import { defineResource, pageOf, type ResourceDeps } from "../../http/resources/resource.ts";
import { eachAccount } from "../../tenants/index.ts";
import {
  type MetricRuleBody,
  metricRuleActions,
  metricRuleFields,
  readMetricRule,
  type ShownRule,
  toMetricRuleJson,
} from "./metric-rule-fields.ts";
import { listMetricRules, metricUnits } from "./metric-rules.ts";

interface DerivedOfRule {
  readonly object: "organization.alert.metric_rule";
  readonly unit: string;
}

async function readRule({ store }: Pick<ResourceDeps, "store">, id: string): Promise<ShownRule> {
  const rule = (await listMetricRules(store)).find((one) => one.id === id);
  if (rule === undefined) throw new GatewayError("not_found", `There is no custom rule ${id}`);
  return toMetricRuleJson(rule);
}

/** Rules of the operator's own for alerts. The document has them among all rules, in a section that is written by hand. */
export const alertRules = defineResource<ShownRule, typeof metricRuleFields, DerivedOfRule>()({
  name: "custom rule",
  area: "alerts",
  idName: "metric_rule_id",
  fields: metricRuleFields,
  derived: { object: Type.Literal("organization.alert.metric_rule"), unit: Type.String() },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.alert.metric_rule.deleted",
  mounts: [
    {
      path: "/organization/alerts/metric_rules",
      owner: "gateway",
      example: {
        name: "Errors at Anthropic",
        metric: "error_rate",
        scope: "provider",
        subject: "anthropic",
        comparison: "above",
        threshold: "5",
        minutes: 15,
      },
      changeExample: {
        name: "Spend tripled",
        metric: "spend",
        scope: "gateway",
        comparison: "above",
        threshold: "3",
        baseline_days: 7,
        minimum: "5",
        minutes: 1440,
      },
    },
  ],
  commands: {
    group: "alert-rule",
    create:
      '--name "Errors of GPT-4.1" --metric error_rate --scope model --subject gpt-4.1 --comparison above --threshold 5 --minutes 15',
    change: "ID --enabled no",
  },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: () => eachAccount,
  list: async ({ store }, _, page) => pageOf((await listMetricRules(store)).map(toMetricRuleJson), page),
  read: (deps, _, id) => readRule(deps, id),
  async create(deps, by, _, body) {
    return toMetricRuleJson(await metricRuleActions(deps).add(by, await readMetricRule(deps, body as MetricRuleBody)));
  },
  async change(deps, by, { id }, changes) {
    const present = await readRule(deps, id);
    const { scope, subject } = present;
    const body = { ...present, ...changes };
    // A rule whose threshold becomes a fixed one has no minimum.
    if (changes.baseline_days === 0 && changes.minimum === undefined) Object.assign(body, { minimum: "" });
    if ((body.baseline_days === 0) !== (present.baseline_days === 0) && changes.threshold === undefined) {
      const message = "threshold is missing: it is how many times the baseline, or fixed without baseline_days";
      throw new GatewayError("invalid_request", message, { param: "threshold" });
    }
    if (metricUnits[body.metric] !== present.unit && changes.threshold === undefined) {
      const message = `threshold is missing: that of ${body.metric} is in ${metricUnits[body.metric]}, not in ${present.unit}`;
      throw new GatewayError("invalid_request", message, { param: "threshold" });
    }
    const isAboutOther = body.scope !== scope || body.subject !== subject;
    // The subject of a rule may have ended, and the rule can still be turned off.
    const rule = isAboutOther
      ? { ...(await readMetricRule(deps, body)), id }
      : { ...(await readMetricRule(deps, { ...body, scope: "gateway", subject: "" })), scope, subject, id };
    await metricRuleActions(deps).change(by, rule);
    return toMetricRuleJson(rule);
  },
  remove: (deps, by, { id }) => metricRuleActions(deps).remove(by, id),
  derive: async () => (rule) => ({ object: "organization.alert.metric_rule", unit: rule.unit }),
});

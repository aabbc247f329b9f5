import { Type } from "@sinclair/typebox";
import { type Administrator, createQuietlyAudited } from "../../audit/index.ts";
import { DisplayName, formatUsd, GatewayError, parseUsd, quoteValue } from "../../contract/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { defineFields } from "../../lib/fields.ts";
import {
  addMetricRule,
  baselineDays,
  baselineMinutes,
  changeMetricRule,
  deleteMetricRule,
  type MetricRule,
  metricUnits,
  ruleMinutes,
} from "./metric-rules.ts";
import { severities } from "./subject.ts";

const oneOf = <const Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name>(Type.Union(names.map((name) => Type.Literal(name))));

/** Default of the calls that a rule on shares or durations needs. */
const callsMinDefault = 20;

/** Shares and durations say little of a few calls. */
const shares = ["error_rate", "first_byte_p95", "duration_p95"] as const;

export const metricRuleFields = defineFields<ShownRule>()({
  name: {
    schema: { ...DisplayName, maxLength: 80 },
    column: "name",
    changes: true,
    form: { empty: "Spend tripled", isHalf: true },
  },
  severity: {
    schema: Type.Optional({ ...oneOf(severities), description: "`warning` by default" }),
    column: "severity",
    changes: true,
    form: { initial: "warning", isHalf: true },
  },
  metric: {
    schema: oneOf([...shares, "spend", "calls"]),
    column: "metric",
    changes: true,
    form: {
      choices: {
        error_rate: "Error rate (calls with 500 or above)",
        first_byte_p95: "Time to first token (p95)",
        duration_p95: "Duration (p95)",
      },
    },
  },
  scope: {
    schema: oneOf(["gateway", "provider", "model", "account", "key"]),
    column: "scope",
    changes: true,
    form: {
      choices: {
        gateway: "All calls",
        provider: "A provider",
        model: "A model",
        account: "An account or team",
        key: "An API key",
      },
    },
  },
  subject: {
    schema: Type.Optional(
      Type.String({
        maxLength: 254,
        description:
          "The id or name of what the scope is, or the e-mail of an account or the name of a team; empty for the gateway",
      }),
    ),
    column: "subject",
    changes: true,
    form: { when: { scope: ["provider", "model", "account", "key"] }, isHalf: true },
  },
  comparison: {
    schema: oneOf(["above", "below"]),
    column: "comparison",
    changes: true,
    form: { label: "Condition", choices: { above: "is above", below: "is below" }, isHalf: true },
  },
  threshold: {
    schema: Type.String({
      minLength: 1,
      maxLength: 30,
      description:
        "In percent, milliseconds, US dollars or calls; with `baseline_days` how many times the baseline, such as 3",
    }),
    column: "threshold",
    changes: true,
    form: { isDecimal: true },
  },
  baseline_days: {
    schema: Type.Optional(
      Type.Integer({
        description: `Compare with the average of the same hours of so many days before: ${baselineDays.join(", ")}; 0 by default: the threshold is fixed`,
      }),
    ),
    column: "baseline_days",
    changes: true,
    form: {
      label: "Compared with",
      choices: {
        0: "a fixed value",
        1: "same hours, day before",
        7: "same hours, last 7 days",
        28: "same hours, last 28 days",
      },
      initial: "0",
    },
  },
  minimum: {
    schema: Type.Optional(
      Type.String({
        maxLength: 30,
        description: "With `baseline_days`: smaller values raise no alert; in the unit of the metric, required with it",
      }),
    ),
    column: "minimum",
    changes: true,
    form: { hint: "Smaller values raise no alert", when: { baseline_days: ["1", "7", "28"] }, isDecimal: true },
  },
  minutes: {
    schema: Type.Integer({ description: `The calls of this many minutes: ${ruleMinutes.join(", ")}` }),
    column: "minutes",
    changes: true,
    form: {
      label: "Over the last",
      choices: {
        5: "5 minutes",
        15: "15 minutes",
        60: "an hour",
        1440: "24 hours",
        10080: "7 days",
        43200: "30 days",
      },
      initial: "15",
    },
  },
  min_calls: {
    schema: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        description: "With fewer calls a rule for a share or a duration finds nothing; 20 by default",
      }),
    ),
    column: "min_calls",
    changes: true,
    form: {
      label: "At least this many calls",
      hint: "With fewer, no alert is sent",
      when: { metric: shares },
      initial: String(callsMinDefault),
    },
  },
  enabled: { schema: Type.Optional(Type.Boolean()), column: "enabled", changes: true },
});

/** A rule as answers have it. */
export type ShownRule = Omit<MetricRule, "threshold" | "baselineDays" | "minimum" | "callsMin" | "isEnabled"> & {
  readonly threshold: string;
  readonly baseline_days: number;
  /** Empty without a baseline. */
  readonly minimum: string;
  readonly unit: (typeof metricUnits)[MetricRule["metric"]];
  readonly min_calls: number;
  readonly enabled: boolean;
};

/** Finds what a rule can be about by the name that people write; `undefined` for an unknown one. */
interface RuleSubjects extends Pick<HttpDeps, "store"> {
  findModel(name: string): Promise<string | undefined> | string | undefined;
  findProvider(name: string): string | undefined;
}

/** A custom rule, in the words of the API. */
export interface MetricRuleBody extends Pick<MetricRule, "name" | "metric" | "scope" | "comparison" | "minutes"> {
  readonly subject?: string;
  readonly threshold: string;
  readonly baseline_days?: number;
  readonly minimum?: string;
  readonly min_calls?: number;
  readonly severity?: MetricRule["severity"];
  readonly enabled?: boolean;
}

/** Changes of custom rules for metrics. */
export function metricRuleActions({ store, now }: Pick<HttpDeps, "store" | "now">) {
  const audited = createQuietlyAudited(store, now);
  return {
    add: ({ accountId }: Administrator, rule: Omit<MetricRule, "id">) =>
      audited(
        (scope) => addMetricRule(scope, rule, now()),
        ({ id, name }) => ({ accountId, action: "alert.metric_rule", subject: id, detail: { name } }),
      ),
    change: ({ accountId }: Administrator, rule: MetricRule) =>
      audited(
        (scope) => changeMetricRule(scope, rule),
        () => {
          const detail = { name: rule.name, enabled: rule.isEnabled };
          return { accountId, action: "alert.metric_rule", subject: rule.id, detail };
        },
      ),
    remove: ({ accountId }: Administrator, id: string) =>
      audited(
        (scope) => deleteMetricRule(scope, id),
        () => ({ accountId, action: "alert.metric_rule_delete", subject: id, detail: {} }),
      ),
  };
}

/**
 * @param onUnknown Called for a model, provider or key that is not here, about which the rule is kept; absent: it is refused.
 * @throws {GatewayError} `invalid_request`
 */
export async function readMetricRule(
  { store, findModel, findProvider }: RuleSubjects,
  { name, metric, scope, subject = "", comparison, threshold, minutes, ...more }: MetricRuleBody,
  onUnknown?: (message: string) => void,
): Promise<Omit<MetricRule, "id">> {
  if (!ruleMinutes.some((span) => span === minutes)) {
    throw invalid("minutes", `minutes is ${minutes}, expected one of ${ruleMinutes.join(", ")}`);
  }
  let id = await findSubject(scope, subject.trim());
  if (id === undefined) {
    const message = `There is no ${scope} ${quoteValue(subject)} here`;
    if (onUnknown === undefined || scope === "account") throw invalid("subject", message);
    onUnknown(message);
    id = subject.trim();
  }
  return {
    name: name.trim(),
    metric,
    scope,
    subject: id,
    comparison,
    minutes,
    ...readCondition({ metric, minutes, threshold, ...more }),
    callsMin: more.min_calls ?? callsMinDefault,
    severity: more.severity ?? "warning",
    isEnabled: more.enabled ?? true,
  };

  async function findSubject(kind: MetricRule["scope"], text: string): Promise<string | undefined> {
    if (kind === "gateway") return "";
    if (kind === "model") return await findModel(text);
    if (kind === "provider") return findProvider(text);
    const { db } = store;
    if (kind === "key") return (await db.selectFrom("keys").select("id").where("id", "=", text).executeTakeFirst())?.id;
    const accounts = db.selectFrom("accounts").select("id");
    const own = await accounts
      .where(({ or, eb }) => or([eb("id", "=", text), eb("email", "=", text.toLowerCase())]))
      .executeTakeFirst();
    if (own !== undefined) return own.id;
    // Those that have no address of their own are teams.
    const teams = await accounts.where("name", "=", text).where("email", "like", "%.invalid").execute();
    if (teams.length < 2) return teams[0]?.id;
    const ids = teams.map(({ id }) => id).join(", ");
    throw invalid("subject", `${teams.length} teams have the name ${quoteValue(text)}: ${ids}`);
  }
}

type ConditionBody = Pick<MetricRuleBody, "metric" | "minutes" | "threshold" | "baseline_days" | "minimum">;

/** A fixed threshold, or how many times a baseline. @throws {GatewayError} `invalid_request` */
function readCondition({
  metric,
  minutes,
  threshold,
  baseline_days: days = 0,
  minimum = "",
}: ConditionBody): Pick<MetricRule, "threshold" | "baselineDays" | "minimum"> {
  const unit = metricUnits[metric];
  if (!baselineDays.some((one) => one === days)) {
    throw invalid("baseline_days", `baseline_days is ${days}, expected one of ${baselineDays.join(", ")}`);
  }
  if (days === 0) {
    if (minimum.trim() !== "") throw invalid("minimum", "minimum needs baseline_days; a fixed threshold has none");
    return { threshold: readMetric(unit, threshold.trim(), "threshold"), baselineDays: 0, minimum: 0 };
  }
  if (!baselineMinutes.includes(minutes)) {
    const expected = baselineMinutes.join(" or ");
    throw invalid(
      "minutes",
      `minutes is ${minutes}, expected ${expected} with baseline_days, which compares whole hours`,
    );
  }
  const times = /^\d{1,4}(\.\d{1,2})?$/.test(threshold.trim()) ? Math.round(Number(threshold) * 100) : 0;
  if (times === 0) throw invalid("threshold", "threshold is not how many times the baseline, such as 3 or 1.5");
  const least = minimum.trim() === "" ? 0 : readMetric(unit, minimum.trim(), "minimum");
  if (least === 0) throw invalid("minimum", "minimum is missing; with baseline_days it is above 0, such as 5.00");
  return { threshold: times, baselineDays: days, minimum: least };
}

function readMetric(
  unit: (typeof metricUnits)[keyof typeof metricUnits],
  text: string,
  param: "threshold" | "minimum",
): number {
  const value = unit === "usd" ? parseUsd(text) : /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  const isValid = value !== undefined && (unit === "percent" ? value <= 100 : value >= 0);
  if (isValid) return value;
  const expected = {
    usd: "US dollars such as 5.00",
    percent: "a whole number from 0 to 100",
    ms: "milliseconds",
    calls: "a whole number",
  };
  throw invalid(param, `${param} is not ${expected[unit]}`);
}

export function toMetricRuleJson(metricRule: MetricRule): ShownRule {
  const { callsMin, isEnabled, threshold, baselineDays: baseline_days, minimum, ...rule } = metricRule;
  const unit = metricUnits[rule.metric];
  const toText = (value: number) => (unit === "usd" ? formatUsd(value) : String(value));
  const isFixed = baseline_days === 0;
  return {
    ...rule,
    unit,
    threshold: isFixed ? toText(threshold) : String(threshold / 100),
    baseline_days,
    minimum: isFixed ? "" : toText(minimum),
    min_calls: callsMin,
    enabled: isEnabled,
  };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

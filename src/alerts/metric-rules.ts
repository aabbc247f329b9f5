import { checkName, GatewayError } from "../contract/index.ts";
import type { Database, Store } from "../db/index.ts";
import { type Finding, toDollars } from "./rules.ts";

/** Rules of the operator's own: a metric of some calls, over a while, above or below a threshold. */
export interface MetricRule {
  readonly id: string;
  readonly name: string;
  readonly metric: Database["metric_rules"]["metric"];
  readonly scope: Database["metric_rules"]["scope"];
  /** The account, key, model or provider; empty for the gateway. */
  readonly subject: string;
  readonly comparison: "above" | "below";
  /** In percent, milliseconds, nanodollars or calls. */
  readonly threshold: number;
  readonly minutes: number;
  /** With fewer calls nothing is said about a share or a duration. */
  readonly callsMin: number;
  readonly isEnabled: boolean;
}

/** Measurement of the calls that a rule is about. */
export interface Measurement {
  readonly calls: number;
  /** Calls with a status of 500 or above. */
  readonly failed: number;
  readonly costNanodollars: number;
  readonly durationMs: number | undefined;
  readonly firstByteMs: number | undefined;
}

export interface MeasuredCalls {
  readonly filter: { accountId?: string; keyId?: string; model?: string; plugin?: string };
  readonly minutes: number;
  readonly now: number;
}

/** Measures calls; the database's reports do so. */
export type MeasureCalls = (calls: MeasuredCalls) => Promise<Measurement>;

/** Unit of each metric. */
export const metricUnits = {
  error_rate: "percent",
  duration_p95: "ms",
  first_byte_p95: "ms",
  spend: "usd",
  calls: "calls",
} as const satisfies Record<MetricRule["metric"], string>;

/** The windows that a rule can look at, in minutes. */
export const ruleMinutes = [5, 15, 60, 1440, 7 * 1440, 30 * 1440] as const;
const rulesMax = 50;
const minutesPerDay = 1440;

const metricNames: Record<MetricRule["metric"], string> = {
  error_rate: "error rate",
  duration_p95: "duration (p95)",
  first_byte_p95: "time to first token (p95)",
  spend: "spend",
  calls: "calls",
};

export async function listMetricRules({ db }: Pick<Store, "db">): Promise<MetricRule[]> {
  const rows = await db.selectFrom("metric_rules").selectAll().orderBy("created_at").orderBy("id").execute();
  return rows.map(({ calls_min: callsMin, enabled, created_at: _, ...rule }) => ({
    ...rule,
    callsMin,
    isEnabled: enabled !== 0,
  }));
}

/** @throws {GatewayError} `conflict` when there are as many as are allowed. */
export async function addMetricRule(
  { db }: Pick<Store, "db">,
  rule: Omit<MetricRule, "id">,
  now: number,
): Promise<MetricRule> {
  checkName(rule.name, "name of the rule");
  const { count } = await db
    .selectFrom("metric_rules")
    .select(({ fn }) => fn.countAll().as("count"))
    .executeTakeFirstOrThrow();
  if (Number(count) >= rulesMax)
    throw new GatewayError("conflict", `There are ${rulesMax} rules already: delete one first`);
  const added = { ...rule, id: `rule_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}` };
  await db
    .insertInto("metric_rules")
    .values({ ...toRow(added), id: added.id, created_at: now })
    .execute();
  return added;
}

/** @throws {GatewayError} `not_found` */
export async function changeMetricRule({ db }: Pick<Store, "db">, rule: MetricRule): Promise<void> {
  checkName(rule.name, "name of the rule");
  const { numUpdatedRows } = await db
    .updateTable("metric_rules")
    .set(toRow(rule))
    .where("id", "=", rule.id)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw unknownRule();
}

/** @throws {GatewayError} `not_found` */
export async function deleteMetricRule({ db }: Pick<Store, "db">, id: string): Promise<void> {
  const { numDeletedRows } = await db.deleteFrom("metric_rules").where("id", "=", id).executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw unknownRule();
}

function toRow({ id: _, callsMin, isEnabled, ...rule }: MetricRule) {
  return { ...rule, calls_min: callsMin, enabled: isEnabled ? 1 : 0 };
}

const unknownRule = () => new GatewayError("not_found", "No rule has this id; it may have been deleted");

/** Findings of the enabled rules. */
export async function checkMetricRules(
  rules: readonly MetricRule[],
  measure: MeasureCalls,
  now: number,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const rule of rules.filter(({ isEnabled }) => isEnabled)) {
    const measured = await measure({ filter: toFilter(rule), minutes: rule.minutes, now });
    const value = toValue(rule, measured);
    if (value === undefined) continue;
    const isBeyond = rule.comparison === "above" ? value > rule.threshold : value < rule.threshold;
    if (isBeyond) findings.push({ rule: "metric", subject: rule.id, level: 1, text: describe(rule, value) });
  }
  return findings;
}

function toFilter({ scope, subject }: MetricRule): MeasuredCalls["filter"] {
  if (scope === "gateway") return {};
  const names = { account: "accountId", key: "keyId", model: "model", provider: "plugin" } as const;
  return { [names[scope]]: subject };
}

/** The value of the metric; `undefined` where too few calls say nothing. */
function toValue({ metric, callsMin }: MetricRule, { calls, failed, ...measured }: Measurement): number | undefined {
  if (metric === "calls") return calls;
  if (metric === "spend") return measured.costNanodollars;
  if (calls === 0 || calls < callsMin) return undefined;
  if (metric === "error_rate") return (failed / calls) * 100;
  return metric === "duration_p95" ? measured.durationMs : measured.firstByteMs;
}

function describe({ name, metric, scope, subject, comparison, threshold, minutes }: MetricRule, value: number): string {
  const unit = metricUnits[metric];
  const of = scope === "gateway" ? "" : ` of ${scope} ${subject}`;
  const values = `${formatMetric(unit, value)} in ${formatMinutes(minutes)}, ${comparison} ${formatMetric(unit, threshold)}`;
  return `${name}: ${metricNames[metric]}${of} ${values}`;
}

function formatMetric(unit: (typeof metricUnits)[MetricRule["metric"]], value: number): string {
  if (unit === "usd") return toDollars(Math.round(value));
  if (unit === "percent") return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} %`;
  return unit === "ms" ? `${Math.round(value)} ms` : String(value);
}

function formatMinutes(minutes: number): string {
  if (minutes < 60) return `${minutes} minutes`;
  if (minutes < minutesPerDay) return minutes === 60 ? "an hour" : `${minutes / 60} hours`;
  return minutes === minutesPerDay ? "24 hours" : `${minutes / minutesPerDay} days`;
}

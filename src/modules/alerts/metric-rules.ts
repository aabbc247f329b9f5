import { checkName, GatewayError } from "../../contract/index.ts";
import type { Database, Store } from "../../db/index.ts";
import { readKeyNames } from "../../keys/index.ts";
import { type MeasureQuery, type Measures, measureCalls, measureSameHours } from "../../reports/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import { type Finding, toDollars, toName } from "./rules.ts";
import { gatewaySubject, type OwnedSubject, type Severity } from "./subject.ts";

/** Rules of the operator's own: a metric of some calls, over a while, above or below a threshold. */
export interface MetricRule {
  readonly id: string;
  readonly name: string;
  readonly metric: Database["metric_rules"]["metric"];
  readonly scope: Database["metric_rules"]["scope"];
  /** The account, key, model or provider; empty for the gateway. */
  readonly subject: string;
  readonly comparison: "above" | "below";
  /** In percent, milliseconds, nanodollars or calls; with a baseline, in hundredths of the baseline. */
  readonly threshold: number;
  /** The days before whose same hours are compared with; 0: none, the threshold is fixed. */
  readonly baselineDays: number;
  /** With a baseline: the least that raises an alert, in the unit of the metric. */
  readonly minimum: number;
  readonly minutes: number;
  /** With fewer calls nothing is said about a share or a duration. */
  readonly callsMin: number;
  readonly severity: Severity;
  readonly isEnabled: boolean;
}

/** The days that a rule can compare with, and the windows for which it can. */
export const baselineDays = [0, 1, 7, 28] as const;
export const baselineMinutes: readonly number[] = [60, 1440];

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
  return rows.map(({ calls_min: callsMin, baseline_days: days, enabled, created_at: _, ...rule }) => ({
    ...rule,
    callsMin,
    baselineDays: days,
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

function toRow({ id: _, callsMin, baselineDays: days, isEnabled, ...rule }: MetricRule) {
  return { ...rule, calls_min: callsMin, baseline_days: days, enabled: isEnabled ? 1 : 0 };
}

const unknownRule = () => new GatewayError("not_found", "No rule has this id; it may have been deleted");

/** A rule with what it measured beyond its threshold. */
interface Beyond {
  readonly rule: MetricRule;
  readonly value: number;
  /** The value of the same hours before; absent where the threshold is fixed. */
  readonly average: number | undefined;
}

/** Findings of the enabled rules. */
export async function checkMetricRules(store: Store, rules: readonly MetricRule[], now: number): Promise<Finding[]> {
  const beyond: Beyond[] = [];
  for (const rule of rules.filter(({ isEnabled }) => isEnabled)) {
    const one = rule.baselineDays === 0 ? await checkFixed(store, rule, now) : await checkRelative(store, rule, now);
    if (one !== undefined) beyond.push(one);
  }
  const names = await readNames(
    store.db,
    beyond.map(({ rule }) => rule),
  );
  return beyond.map(({ rule, value, average }) => {
    const about = toSubject(rule, names.get(rule.subject));
    const { id: subject, severity } = rule;
    return { rule: "metric", subject, about, level: 1, severity, text: describe(rule, about, value, average) };
  });
}

async function checkFixed(store: Store, rule: MetricRule, now: number): Promise<Beyond | undefined> {
  const value = toValue(rule, await measureCalls(store, { filter: toFilter(rule), minutes: rule.minutes, now }));
  if (value === undefined || !isBeyond(rule, value, rule.threshold)) return undefined;
  return { rule, value, average: undefined };
}

/**
 * Compares the hours until now with the same hours of the days before. An alert above needs the hour that is running, and
 * one below would be raised at the start of each hour, so it is about whole hours. Without calls before the average is 0,
 * and the minimum alone decides.
 */
async function checkRelative(store: Store, rule: MetricRule, now: number): Promise<Beyond | undefined> {
  const { comparison, minutes, baselineDays: days, minimum, threshold } = rule;
  const isAbove = comparison === "above";
  const measured = await measureSameHours(store, { filter: toFilter(rule), minutes, days, isWhole: !isAbove, now });
  const value = toValue(rule, measured.current);
  if (value === undefined) return undefined;
  const average = toAverage(rule, measured);
  if ((isAbove ? value : average) < minimum) return undefined;
  return isBeyond(rule, value, (average * threshold) / hundredth) ? { rule, value, average } : undefined;
}

const hundredth = 100;

/** The value of a day on average; shares and durations are of the calls of all days together. */
function toAverage(rule: MetricRule, { before, days }: { before: Measures; days: number }): number {
  const value = toValue(rule, before) ?? 0;
  return rule.metric === "spend" || rule.metric === "calls" ? value / Math.max(1, days) : value;
}

function isBeyond({ comparison }: MetricRule, value: number, threshold: number): boolean {
  return comparison === "above" ? value > threshold : value < threshold;
}

/** The names of the accounts and keys that rules are about, by their ids. */
async function readNames(db: Store["db"], rules: readonly MetricRule[]): Promise<ReadonlyMap<string, string>> {
  const idsOf = (scope: MetricRule["scope"]) =>
    rules.filter((rule) => rule.scope === scope).map((rule) => rule.subject);
  const ofAccounts = await labelsOf({ db }, idsOf("account"));
  const ofKeys = await readKeyNames({ db }, idsOf("key"));
  return new Map([...ofAccounts, ...ofKeys]);
}

function toSubject({ scope, subject }: MetricRule, name = subject): OwnedSubject {
  return scope === "gateway" ? gatewaySubject : { type: scope, id: subject, name };
}

function toFilter({ scope, subject }: MetricRule): MeasureQuery["filter"] {
  if (scope === "gateway") return {};
  const names = { account: "accountId", key: "keyId", model: "model", provider: "plugin" } as const;
  return { [names[scope]]: subject };
}

/** The value of the metric; `undefined` where too few calls say nothing. */
function toValue({ metric, callsMin }: MetricRule, { calls, failed, ...measured }: Measures): number | undefined {
  if (metric === "calls") return calls;
  if (metric === "spend") return measured.costNanodollars;
  if (calls === 0 || calls < callsMin) return undefined;
  if (metric === "error_rate") return (failed / calls) * 100;
  return metric === "duration_p95" ? measured.durationMs : measured.firstByteMs;
}

function describe(rule: MetricRule, about: OwnedSubject, value: number, average: number | undefined): string {
  const { name, metric, scope, comparison, threshold, minutes } = rule;
  const unit = metricUnits[metric];
  const named = about.name === about.id ? about.id : `${toName(about.name)} (${about.id})`;
  const of = scope === "gateway" ? "" : ` of ${scope} ${named}`;
  const measured = `${toName(name)}: ${metricNames[metric]}${of} ${formatMetric(unit, value)} in ${formatMinutes(minutes)}`;
  if (average === undefined) return `${measured}, ${comparison} ${formatMetric(unit, threshold)}`;
  return `${measured}, ${comparison} ${threshold / hundredth} × the ${formatMetric(unit, average)} ${describeBaseline(rule)}`;
}

function describeBaseline({ baselineDays: days }: MetricRule): string {
  return days === 1
    ? "of the same hours of the day before"
    : `of the same hours of the ${days} days before, on average`;
}

function formatMetric(unit: (typeof metricUnits)[MetricRule["metric"]], value: number): string {
  if (unit === "usd") return toDollars(Math.round(value));
  if (unit === "percent") return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} %`;
  return unit === "ms" ? `${Math.round(value)} ms` : String(Math.round(value * 10) / 10);
}

function formatMinutes(minutes: number): string {
  if (minutes < 60) return `${minutes} minutes`;
  if (minutes < minutesPerDay) return minutes === 60 ? "an hour" : `${minutes / 60} hours`;
  return minutes === minutesPerDay ? "24 hours" : `${minutes / minutesPerDay} days`;
}

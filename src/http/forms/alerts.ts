import { type Static, Type } from "@sinclair/typebox";
import {
  addChannel,
  addMetricRule,
  type Channel,
  changeMetricRule,
  createDelivery,
  deleteChannel,
  deleteMetricRule,
  getRuleInfo,
  getRulesOf,
  listChannels,
  type MetricRule,
  metricUnits,
  muteAlert,
  type Rule,
  type RuleSetting,
  readHistory,
  readMutes,
  readRules,
  ruleMinutes,
  ruleNames,
  writeRule,
} from "../../alerts/index.ts";
import { type Administrator, type AuditEntry, createQuietlyAudited } from "../../audit/index.ts";
import { DisplayName, formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
import { takeAttempt } from "../../identity/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { toIso } from "./serializers.ts";

export const RuleChange = formBody({
  enabled: Type.Boolean(),
  threshold: Type.Optional(Type.String({ minLength: 1, maxLength: 30 })),
});

export const webhookFields = {
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  secret: Type.Optional(
    Type.String({ pattern: "^whsec_[A-Za-z0-9+/]{32,100}={0,2}$", title: "whsec_…", maxLength: 110 }),
  ),
};

const Address = Type.String({ pattern: "^[^\\s@<>,]{1,64}@[^\\s@<>,]{1,189}$", title: "name@host", maxLength: 254 });

export const emailFields = { to: Type.Array(Address, { minItems: 1, maxItems: 10 }) };

export const smtpFields = {
  host: Type.String({ pattern: "^[A-Za-z0-9._:-]{1,253}$", title: "mail.example.com" }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  tls: Type.Boolean(),
  user: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  password: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  from: Address,
};

const oneOf = <Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name>(Type.Union(names.map((name) => Type.Literal(name))));

export const metricRuleFields = {
  name: { ...DisplayName, maxLength: 80 },
  metric: oneOf(["error_rate", "duration_p95", "first_byte_p95", "spend", "calls"]),
  scope: oneOf(["gateway", "account", "key", "model", "provider"]),
  /** The id or name of what the scope is; the e-mail of an account will do. Absent for the gateway. */
  subject: Type.Optional(Type.String({ maxLength: 254 })),
  comparison: oneOf(["above", "below"]),
  /** In percent, milliseconds, US dollars or calls. */
  threshold: Type.String({ minLength: 1, maxLength: 30 }),
  minutes: Type.Integer(),
  min_calls: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  enabled: Type.Optional(Type.Boolean()),
};

/** A custom rule, in the words of the API. */
export interface MetricRuleBody extends Pick<MetricRule, "name" | "metric" | "scope" | "comparison" | "minutes"> {
  readonly subject?: string;
  readonly threshold: string;
  readonly min_calls?: number;
  readonly enabled?: boolean;
}

const hourMs = 3_600_000;

/** Alerts that are over, on the page. */
const historyMax = 100;

/** Default of the calls that a rule on shares or durations needs. */
const callsMinDefault = 20;

/** Each change is written to the database, each test makes a connection. */
const changesPerMinuteMax = 30;

const testsPerMinuteMax = 6;

/** Limit over all processes, in addition to the limit of each. */
const testMailLimit = { max: 20, windowMs: 3_600_000, what: "test messages by e-mail" };

/** The alerts of an owner: what is wrong, the rules and the channels. Changes that an administrator makes are audited. */
export function alertActions(deps: HttpDeps) {
  const { store, secrets: box, now } = deps;
  const audited = createQuietlyAudited(store, now);
  const delivery = createDelivery(deps);
  const changes = new RateLimiter(changesPerMinuteMax, now, { what: "changes of alerts" });
  const tests = new RateLimiter(testsPerMinuteMax, now, { what: "test messages" });
  return {
    read: async (owner: string) => {
      const active = await store.db
        .selectFrom("alerts")
        .select(["id", "rule", "text", "level", "since_at", "notified_at"])
        .where("owner", "=", owner)
        .orderBy("since_at", "desc")
        .limit(200)
        .execute();
      const muted = await readMutes(store, now());
      const history = await readHistory(store, owner, historyMax);
      const settings = (await readRules(store, [owner])).get(owner) ?? [];
      return {
        active: active.map(({ since_at, notified_at, ...alert }) => {
          const until = muted.get(alert.id);
          return {
            ...alert,
            since: toIso(since_at),
            notified_at: toIso(notified_at),
            /** No messages are sent; `muted_until` is `null` until somebody ends it. */
            muted: until !== undefined,
            muted_until: toIso(until),
          };
        }),
        history: history.map(({ since_at, ended_at, ...alert }) => {
          return { ...alert, since: toIso(since_at), ended: toIso(ended_at) };
        }),
        rules: settings.map(toRuleJson),
        channels: (await listChannels(store, owner)).map(toChannelJson),
      };
    },
    setRule: async ({ owner, by }: AlertChange, name: string, { enabled, threshold }: Static<typeof RuleChange>) => {
      changes.take(owner);
      const rule = findRule(owner, name);
      return await writeAuditedRule(
        deps,
        { owner, by },
        { rule, isEnabled: enabled, threshold: readThreshold(rule, threshold) },
      );
    },
    /** Mutes an alert for some hours, or until somebody ends it, or ends that. */
    mute: async (
      { owner, by }: AlertChange & { readonly by: string },
      { id, hours }: { id: string; hours: number | null | undefined },
    ) => {
      changes.take(owner);
      const until = hours === null || hours === undefined ? null : now() + hours * hourMs;
      const isMuted = hours !== undefined;
      const entry = isMuted
        ? toEntry(by, "alert.mute", id, { until: toIso(until) ?? "" })
        : toEntry(by, "alert.unmute", id, {});
      await audited(
        (scope) => muteAlert(scope, owner, id, isMuted ? { until, by } : undefined),
        () => entry,
      );
      return { id, muted: isMuted };
    },
    add: async (
      { owner, by }: AlertChange,
      kind: Channel["kind"],
      target: Parameters<typeof addChannel>[1]["target"],
    ) => {
      changes.take(owner);
      const channel = await audited(
        (scope) => addChannel(scope, { box, now: now(), owner, kind, target }),
        ({ id, label }) => toEntry(by, "alert.channel", id, { to: label }),
      );
      return toChannelJson(channel);
    },
    remove: async ({ owner, by }: AlertChange, id: string) => {
      changes.take(owner);
      await audited(
        (scope) => deleteChannel(scope, owner, id),
        () => toEntry(by, "alert.channel_delete", id, {}),
      );
      return { id };
    },
    /** Sends a test message and waits for its outcome. */
    test: async (owner: string, id: string) => {
      const channel = (await listChannels(store, owner)).find((one) => one.id === id);
      if (channel === undefined) throw new GatewayError("not_found", "There is no such channel");
      tests.take(owner);
      if (channel.kind === "email") await takeAttempt(store, `test-mail:${owner}`, testMailLimit, now());
      return { id, error: (await delivery.sendTest(id)) ?? null };
    },
  };
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

/** Turns a rule on or off, with its threshold. */
export async function writeAuditedRule(
  { store, now }: Pick<HttpDeps, "store" | "now">,
  { owner, by }: AlertChange,
  setting: RuleSetting,
) {
  const shown = toRuleJson(setting);
  const entry = toEntry(by, "alert.rule", setting.rule, { enabled: shown.enabled, threshold: shown.threshold ?? "" });
  await createQuietlyAudited(store, now)(
    (scope) => writeRule(scope, owner, setting),
    () => entry,
  );
  return shown;
}

/** A change of an owner's alerts by the account of an administrator; absent: by the holder of the account. */
interface AlertChange {
  readonly owner: string;
  readonly by?: string | undefined;
}

function toEntry(accountId: string | undefined, action: string, subject: string, detail: AuditEntry["detail"]) {
  return accountId === undefined ? undefined : { accountId, action, subject, detail };
}

/**
 * @param onUnknown Called for a model, provider or key that is not here, about which the rule is kept; absent: it is refused.
 * @throws {GatewayError} `invalid_request`
 */
export async function readMetricRule(
  { store, kernel, snapshot }: HttpDeps,
  { name, metric, scope, subject = "", comparison, threshold, minutes, ...more }: MetricRuleBody,
  onUnknown?: (message: string) => void,
): Promise<Omit<MetricRule, "id">> {
  if (!ruleMinutes.some((span) => span === minutes)) {
    throw invalid("minutes", `minutes is ${minutes}, expected one of ${ruleMinutes.join(", ")}`);
  }
  let id = await findSubject(scope, subject.trim());
  if (id === undefined) {
    const message = `There is no ${scope} '${subject}' here`;
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
    threshold: readMetric(metricUnits[metric], threshold.trim()),
    callsMin: more.min_calls ?? callsMinDefault,
    isEnabled: more.enabled ?? true,
  };

  async function findSubject(kind: MetricRule["scope"], text: string): Promise<string | undefined> {
    if (kind === "gateway") return "";
    if (kind === "model") return kernel.registry.byName(text)?.model.id;
    if (kind === "provider") return snapshot().plugins.find((plugin) => plugin.name === text)?.name;
    const { db } = store;
    const query =
      kind === "key"
        ? db.selectFrom("keys").select("id").where("id", "=", text)
        : db
            .selectFrom("accounts")
            .select("id")
            .where(({ or, eb }) => or([eb("id", "=", text), eb("email", "=", text.toLowerCase())]));
    return (await query.executeTakeFirst())?.id;
  }
}

function readMetric(unit: (typeof metricUnits)[keyof typeof metricUnits], text: string): number {
  const value = unit === "usd" ? parseUsd(text) : /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  const isValid = value !== undefined && (unit === "percent" ? value <= 100 : value >= 0);
  if (isValid) return value;
  const expected = {
    usd: "US dollars such as 5.00",
    percent: "a whole number from 0 to 100",
    ms: "milliseconds",
    calls: "a whole number",
  };
  throw invalid("threshold", `threshold is not ${expected[unit]}`);
}

export function toMetricRuleJson({ callsMin, isEnabled, threshold, ...rule }: MetricRule) {
  const unit = metricUnits[rule.metric];
  const text = unit === "usd" ? formatUsd(threshold) : String(threshold);
  return { ...rule, unit, threshold: text, min_calls: callsMin, enabled: isEnabled };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

/** The least and the most of a threshold in percent or days. */
const ranges: Partial<Record<Rule, readonly [number, number]>> = { budget: [50, 100] };

/** @throws {GatewayError} `not_found` */
function findRule(owner: string, name: string): Rule {
  const rule = ruleNames.find((one) => one === name && getRulesOf(owner).includes(one));
  if (rule !== undefined) return rule;
  throw new GatewayError("not_found", "There is no such rule");
}

/** @throws {GatewayError} `invalid_request` */
export function readThreshold(rule: Rule, text: string | undefined): number | undefined {
  const { unit } = getRuleInfo(rule);
  if (text === undefined || unit === undefined) return undefined;
  const [min, max] = ranges[rule] ?? [1, unit === "days" ? 365 : 100];
  const value = unit === "usd" ? parseUsd(text) : /^\d{1,3}$/.test(text) ? Number(text) : undefined;
  const isValid = value !== undefined && (unit === "usd" ? value >= 0 : value >= min && value <= max);
  if (isValid) return value;
  const expected = unit === "usd" ? "US dollars from 0 such as 5.00" : `a whole number from ${min} to ${max}`;
  throw new GatewayError("invalid_request", `threshold is not ${expected}`, { param: "threshold" });
}

export function toRuleJson({ rule, isEnabled, threshold }: RuleSetting) {
  const { unit, threshold: standard } = getRuleInfo(rule);
  const value = threshold ?? standard;
  const text = value === undefined ? null : unit === "usd" ? formatUsd(value) : String(value);
  return { rule, enabled: isEnabled, unit: unit ?? null, threshold: text };
}

function toChannelJson({ id, kind, label, createdAt, sentAt, error, errorAt }: Channel) {
  const outcome = { sent_at: toIso(sentAt), error: error ?? null, error_at: toIso(errorAt) };
  return { id, kind, label, created_at: toIso(createdAt), ...outcome };
}

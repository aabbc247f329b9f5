import { type Static, Type } from "@sinclair/typebox";
import { type AuditEntry, createQuietlyAudited } from "../../audit/index.ts";
import { formatUsd, GatewayError, nullable, parseUsd, quoteValue } from "../../contract/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { Address } from "../../http/forms/read-fields.ts";
import { toIso } from "../../http/forms/serializers.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import { takeAttempt } from "../../identity/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import {
  addChannel,
  type Channel,
  type ChannelFilter,
  changeChannel,
  deleteChannel,
  filterDefault,
  listChannels,
  type Target,
} from "./channels.ts";
import { createDelivery } from "./deliver.ts";
import { listMetricRules } from "./metric-rules.ts";
import { muteAlert, readFiring, readHistory } from "./record-findings.ts";
import { getRulesOf, type RuleSetting, readRules, writeRule } from "./rule-settings.ts";
import { getRuleInfo, type Rule, ruleNames } from "./rules.ts";
import { severities } from "./subject.ts";

export const RuleChange = formBody({
  enabled: Type.Boolean(),
  threshold: Type.Optional(Type.String({ minLength: 1, maxLength: 30 })),
});

export const webhookFields = {
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  secret: Type.Optional(
    Type.String({
      pattern: "^whsec_[A-Za-z0-9+/]{32,100}={0,2}$",
      title: "whsec_…",
      maxLength: 110,
      description: "Signs the messages of a webhook, as Standard Webhooks do; without it they are not signed",
    }),
  ),
};

export const emailFields = { to: Type.Array(Address, { minItems: 1, maxItems: 10 }) };

export const SeverityName = Type.Union(severities.map((name) => Type.Literal(name)));

/** The choices of a channel among the messages. */
export const filterFields = {
  rules: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
        minItems: 1,
        maxItems: 60,
        description:
          "Rules whose alerts are sent: names, `metric` for all custom rules, or ids of custom rules; `null`: all",
      }),
    ),
  ),
  severity: Type.Optional({
    ...SeverityName,
    description: "Alerts that are less severe are not sent; `info` by default",
  }),
  digest: Type.Optional(
    Type.Union([Type.Literal("off"), Type.Literal("daily"), Type.Literal("weekly")], {
      description: "`weekly`: on Mondays. Not for `pagerduty`",
    }),
  ),
  digest_hour: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 23, description: "Hour of the day when digests are sent, UTC; 8 by default" }),
  ),
};
const FilterBody = Type.Object(filterFields);
export type FilterBody = Static<typeof FilterBody>;

const hourMs = 3_600_000;

/** Alerts that are firing, on the page. */
const activeMax = 200;

/** Alerts that are over, on the page. */
const historyMax = 100;

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
    read: (owner: string) => readAlerts(deps, owner),
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
      { kind, target, filter = {} }: { kind: Channel["kind"]; target: Target; filter?: FilterBody },
    ) => {
      changes.take(owner);
      const whole = await readFilter(deps, kind, filter, filterDefault);
      const channel = await audited(
        (scope) => addChannel(scope, { box, now: now(), owner, kind, target, filter: whole }),
        ({ id, label }) => toEntry(by, "alert.channel", id, { to: label }),
      );
      return toChannelJson(channel);
    },
    /** Changes which messages a channel gets. Absent fields stay as they are. */
    change: async ({ owner, by }: AlertChange, id: string, body: FilterBody) => {
      changes.take(owner);
      const present = (await listChannels(store, owner)).find((one) => one.id === id);
      if (present === undefined) throw new GatewayError("not_found", "No alert channel has this id");
      const filter = await readFilter(deps, present.kind, body, present);
      const channel = await audited(
        (scope) => changeChannel(scope, { owner, id, filter, now: now() }),
        ({ severity, digest, rules }) =>
          toEntry(by, "alert.channel_change", id, { severity, digest, rules: rules?.join(", ") ?? "all" }),
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
      if (channel === undefined) throw new GatewayError("not_found", "No alert channel has this id");
      tests.take(owner);
      if (channel.kind === "email") await takeAttempt(store, `test-mail:${owner}`, testMailLimit, now());
      return { id, error: (await delivery.sendTest(id)) ?? null };
    },
  };
}

/** The alerts of an owner, with the rules and channels. */
async function readAlerts(deps: HttpDeps, owner: string) {
  const { store } = deps;
  const { publicUrl } = deps.config;
  const active = (await readFiring(store, owner, { now: deps.now(), publicUrl })).slice(0, activeMax);
  const history = await readHistory(store, owner, { limit: historyMax, publicUrl });
  const settings = (await readRules(store, [owner])).get(owner) ?? [];
  return {
    active: active.map(({ startedAt, notifiedAt, mutedUntil, ...alert }) => ({
      ...alert,
      started_at: toIso(startedAt),
      notified_at: toIso(notifiedAt),
      resolved_at: null,
      /** No messages are sent; `muted_until` is `null` until somebody ends it. */
      muted: mutedUntil !== undefined,
      muted_until: toIso(mutedUntil),
    })),
    history: history.map(({ startedAt, endedAt, ...alert }) => {
      return { ...alert, started_at: toIso(startedAt), resolved_at: toIso(endedAt) };
    }),
    rules: settings.map(toRuleJson),
    channels: (await listChannels(store, owner)).map(toChannelJson),
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

/** The least and the most of a threshold in percent or days. */
const ranges: Partial<Record<Rule, readonly [number, number]>> = { budget: [50, 100] };

/** @throws {GatewayError} `not_found` */
function findRule(owner: string, name: string): Rule {
  const rule = ruleNames.find((one) => one === name && getRulesOf(owner).includes(one));
  if (rule !== undefined) return rule;
  throw new GatewayError("not_found", "No alert rule has this id");
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

/**
 * Reads which messages a channel gets.
 *
 * @param present The fields that stay as they are.
 * @throws {GatewayError} `invalid_request`
 */
async function readFilter(
  { store }: Pick<HttpDeps, "store">,
  kind: Channel["kind"],
  { rules, severity, digest, digest_hour: hour }: FilterBody,
  present: ChannelFilter,
): Promise<ChannelFilter> {
  if (rules !== undefined && rules !== null) {
    const ofMetrics = (await listMetricRules(store)).map(({ id }) => id);
    const names: readonly string[] = ["metric", ...ruleNames];
    const unknown = rules.find((rule) => !names.includes(rule) && !ofMetrics.includes(rule));
    if (unknown !== undefined) {
      const message = `rules has ${quoteValue(unknown)}, expected ids of custom rules or ${names.join(", ")}`;
      throw new GatewayError("invalid_request", message, { param: "rules" });
    }
  }
  const filter = {
    rules: rules === undefined ? present.rules : (rules ?? undefined),
    severity: severity ?? present.severity,
    digest: digest ?? present.digest,
    digestHour: hour ?? present.digestHour,
  };
  if (kind === "pagerduty" && filter.digest !== "off") {
    throw new GatewayError("invalid_request", "digest is for people to read; PagerDuty gets alerts only", {
      param: "digest",
    });
  }
  return filter;
}

function toChannelJson({ id, kind, label, createdAt, sentAt, error, errorAt, ...filter }: Channel) {
  const { rules = null, severity, digest, digestHour: digest_hour } = filter;
  const outcome = { sent_at: toIso(sentAt), error: error ?? null, error_at: toIso(errorAt) };
  return { id, kind, label, rules, severity, digest, digest_hour, created_at: toIso(createdAt), ...outcome };
}

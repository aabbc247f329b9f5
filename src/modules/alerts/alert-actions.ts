import { type Static, Type } from "@sinclair/typebox";
import { type AuditEntry, createQuietlyAudited } from "../../audit/index.ts";
import { formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { toIso } from "../../http/forms/serializers.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import { takeAttempt } from "../../identity/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { channelActions, findChannel, type ShownChannel, toShown } from "./channel-fields.ts";
import { type Channel, listChannels, type Target } from "./channels.ts";
import { createDelivery } from "./deliver.ts";
import { muteAlert, readFiring, readHistory } from "./record-findings.ts";
import { getRulesOf, type RuleSetting, readRules, writeRule } from "./rule-settings.ts";
import { getRuleInfo, type Rule, ruleNames } from "./rules.ts";

export const RuleChange = formBody({
  enabled: Type.Boolean(),
  threshold: Type.Optional(Type.String({ minLength: 1, maxLength: 30 })),
});

interface NewOwnChannel {
  readonly name?: string | null | undefined;
  readonly target: Target;
}

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
  const { store, now } = deps;
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
    /** Adds a channel of an account. */
    add: async (owner: string, { kind, name, target }: Pick<Channel, "kind"> & NewOwnChannel) => {
      changes.take(owner);
      const { secret, ...channel } = await channelActions(deps).add({ owner }, { kind, name: name ?? null, target });
      return { ...toChannelJson(channel), ...(secret !== undefined && { secret }) };
    },
    /** Removes a channel of an account. */
    remove: async (owner: string, id: string) => {
      changes.take(owner);
      await channelActions(deps).remove({ owner }, id);
      return { id };
    },
    /** Sends a test message and waits for its outcome. */
    test: async (owner: string, id: string) => {
      const channel = await findChannel(deps, owner, id);
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
    channels: (await listChannels(store, owner)).map((channel) => toChannelJson(toShown(channel))),
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

function toChannelJson({ id, kind, name, label, createdAt, sentAt, error, errorAt, ...filter }: ShownChannel) {
  const { rules, severity, digest, digestHour: digest_hour } = filter;
  const outcome = { sent_at: toIso(sentAt), error: error ?? null, error_at: toIso(errorAt) };
  return { id, kind, name, label, rules, severity, digest, digest_hour, created_at: toIso(createdAt), ...outcome };
}

import { type Static, Type } from "@sinclair/typebox";
import {
  addChannel,
  type Channel,
  createDelivery,
  deleteChannel,
  getRuleInfo,
  getRulesOf,
  listChannels,
  muteAlert,
  type Rule,
  type RuleSetting,
  readHistory,
  readMutes,
  readRules,
  ruleNames,
  writeRule,
} from "../../alerts/index.ts";
import { type AuditEntry, createQuietlyAudited } from "../../audit/index.ts";
import { formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
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

const hourMs = 3_600_000;

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
      if (channel === undefined) throw new GatewayError("not_found", "No alert channel has this id");
      tests.take(owner);
      if (channel.kind === "email") await takeAttempt(store, `test-mail:${owner}`, testMailLimit, now());
      return { id, error: (await delivery.sendTest(id)) ?? null };
    },
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

function toChannelJson({ id, kind, label, createdAt, sentAt, error, errorAt }: Channel) {
  const outcome = { sent_at: toIso(sentAt), error: error ?? null, error_at: toIso(errorAt) };
  return { id, kind, label, created_at: toIso(createdAt), ...outcome };
}

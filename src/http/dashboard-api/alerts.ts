import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RateLimiter, recordAudit, type SessionUser, takeAttempt } from "../../accounts/index.ts";
import {
  addChannel,
  addMetricRule,
  type Channel,
  changeMetricRule,
  checkWebhookUrl,
  createDelivery,
  deleteChannel,
  deleteMetricRule,
  findSmtp,
  gatewayOwner,
  getRuleInfo,
  getRulesOf,
  listChannels,
  listMetricRules,
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
  writeSmtp,
} from "../../alerts/index.ts";
import { formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession, withOwnerSession, withTeamSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";
import { toIso } from "./serializers.ts";

const RuleChange = formBody({
  enabled: Type.Boolean(),
  threshold: Type.Optional(Type.String({ minLength: 1, maxLength: 30 })),
});
const webhook = {
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  secret: Type.Optional(
    Type.String({ pattern: "^whsec_[A-Za-z0-9+/]{32,100}={0,2}$", title: "whsec_…", maxLength: 110 }),
  ),
};
const NewWebhook = formBody(webhook);
const Address = Type.String({ pattern: "^[^\\s@<>,]{1,64}@[^\\s@<>,]{1,189}$", title: "name@host", maxLength: 254 });
const NewEmail = formBody({ to: Type.Array(Address, { minItems: 1, maxItems: 10 }) });
const NewSmtp = formBody({
  host: Type.String({ pattern: "^[A-Za-z0-9._:-]{1,253}$", title: "mail.example.com" }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  tls: Type.Boolean(),
  user: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  password: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  from: Address,
});

const Mute = formBody({
  id: Type.String({ minLength: 1, maxLength: 500 }),
  /** `null`: until somebody ends it. Absent: it is muted no more. */
  hours: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 24 * 365 }), Type.Null()])),
});
const oneOf = <Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name>(Type.Union(names.map((name) => Type.Literal(name))));
export type MetricRuleBody = Omit<Static<typeof NewMetricRule>, "metric" | "scope" | "comparison"> &
  Pick<MetricRule, "metric" | "scope" | "comparison">;
export const metricRuleFields = {
  name: Type.String({ minLength: 1, maxLength: 80 }),
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
const NewMetricRule = formBody(metricRuleFields);

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

/** The alerts of an owner: what is wrong, the rules and the channels. */
function alertActions(deps: HttpDeps) {
  const { store, secrets: box, now } = deps;
  const delivery = createDelivery(deps);
  const changes = new RateLimiter(changesPerMinuteMax, now, { what: "changes of alerts" });
  const tests = new RateLimiter(testsPerMinuteMax, now, { what: "test messages" });
  return {
    delivery,
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
    setRule: async (owner: string, name: string, { enabled, threshold }: Static<typeof RuleChange>) => {
      changes.take(owner);
      const rule = findRule(owner, name);
      const setting = { rule, isEnabled: enabled, threshold: readThreshold(rule, threshold) };
      await writeRule(store, owner, setting);
      return toRuleJson(setting);
    },
    /** Mutes an alert for some hours, or until somebody ends it, or ends that. */
    mute: async (owner: string, by: string, { id, hours }: { id: string; hours: number | null | undefined }) => {
      changes.take(owner);
      const until = hours === null || hours === undefined ? null : now() + hours * hourMs;
      await muteAlert(store, owner, id, hours === undefined ? undefined : { until, by });
      return { id, muted: hours !== undefined };
    },
    add: async (owner: string, kind: Channel["kind"], target: Parameters<typeof addChannel>[1]["target"]) => {
      changes.take(owner);
      return toChannelJson(await addChannel(store, { box, now: now(), owner, kind, target }));
    },
    remove: async (owner: string, id: string) => {
      changes.take(owner);
      await deleteChannel(store, owner, id);
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

/** The alerts of the gateway, for administrators, and the mail server, for owners. Every change is in the audit log. */
export function adminAlertsController(deps: HttpDeps) {
  return new Elysia({ prefix: "/admin/alerts" }).use(gatewayAlertsController(deps)).use(mailServerController(deps));
}

function gatewayAlertsController(deps: HttpDeps) {
  const { store, now, config } = deps;
  const actions = alertActions(deps);
  const record = (accountId: string, action: string, subject: string, detail: Record<string, string | boolean> = {}) =>
    recordAudit(store, { accountId, action, subject, detail }, now());
  return new Elysia()
    .use(withAdminSession(deps))
    .get("", async () => {
      const smtp = await findSmtp(deps);
      const metricRules = (await listMetricRules(store)).map(toMetricRuleJson);
      return {
        ...(await actions.read(gatewayOwner)),
        metric_rules: metricRules,
        smtp: toSmtpJson(smtp, config.smtpUrl !== undefined),
      };
    })
    .post(
      "/mute",
      ({ admin, body }) => actions.mute(gatewayOwner, admin.accountId, { id: body.id, hours: body.hours }),
      {
        body: Mute,
      },
    )
    .post(
      "/metric-rules",
      async ({ admin, body }) => {
        const rule = await addMetricRule(store, await readMetricRule(deps, body as MetricRuleBody), now());
        await record(admin.accountId, "alert.metric_rule", rule.id, { name: rule.name });
        return toMetricRuleJson(rule);
      },
      { body: NewMetricRule },
    )
    .put(
      "/metric-rules/:id",
      async ({ admin, params: { id }, body }) => {
        const rule = { ...(await readMetricRule(deps, body as MetricRuleBody)), id };
        await changeMetricRule(store, rule);
        await record(admin.accountId, "alert.metric_rule", id, { name: rule.name, enabled: rule.isEnabled });
        return toMetricRuleJson(rule);
      },
      { body: NewMetricRule },
    )
    .delete("/metric-rules/:id", async ({ admin, params: { id } }) => {
      await deleteMetricRule(store, id);
      await record(admin.accountId, "alert.metric_rule_delete", id);
      return { id };
    })
    .put(
      "/rules/:id",
      async ({ admin, params: { id }, body }) => {
        const rule = await actions.setRule(gatewayOwner, id, body);
        await record(admin.accountId, "alert.rule", id, { enabled: body.enabled, threshold: rule.threshold ?? "" });
        return rule;
      },
      { body: RuleChange },
    )
    .post(
      "/webhooks",
      async ({ admin, body: { url, secret } }) => {
        const channel = await actions.add(gatewayOwner, "webhook", {
          url: checkWebhookUrl(url, config.alertNetworks ?? []),
          secret,
        });
        await record(admin.accountId, "alert.channel", channel.id, { to: channel.label });
        return channel;
      },
      { body: NewWebhook },
    )
    .post(
      "/emails",
      async ({ admin, body: { to } }) => {
        const channel = await actions.add(gatewayOwner, "email", { to });
        await record(admin.accountId, "alert.channel", channel.id, { to: channel.label });
        return channel;
      },
      { body: NewEmail },
    )
    .delete("/channels/:id", async ({ admin, params: { id } }) => {
      await actions.remove(gatewayOwner, id);
      await record(admin.accountId, "alert.channel_delete", id);
      return { id };
    })
    .post("/channels/:id/test", ({ params: { id } }) => actions.test(gatewayOwner, id));
}

/** The mail server carries the links by which owners sign in, so whoever sets it could become one. */
function mailServerController(deps: HttpDeps) {
  const { store, secrets, now } = deps;
  const record = ({ ownAccountId: accountId }: SessionUser, subject: string) =>
    recordAudit(store, { accountId, action: "alert.smtp", subject, detail: {} }, now());
  return new Elysia()
    .use(withOwnerSession(deps))
    .put(
      "/smtp",
      async ({ user, body: { tls: isTls, ...body } }) => {
        await writeSmtp(store, secrets, { ...body, isTls });
        await record(user, body.host);
        return { host: body.host };
      },
      { body: NewSmtp },
    )
    .delete("/smtp", async ({ user }) => {
      await writeSmtp(store, secrets, undefined);
      await record(user, "none");
      return { host: null };
    });
}

/** The alerts of the user's own account: its wallet and the budgets of its keys. */
export function alertsController(deps: HttpDeps) {
  const actions = alertActions(deps);
  const { store } = deps;
  return new Elysia({ prefix: "/alerts" })
    .use(withTeamSession(deps))
    .get("", async ({ user: { accountId, isEmailClaimed } }) => {
      const hasMail = !isEmailClaimed && (await findSmtp(deps)) !== undefined;
      return { ...(await actions.read(accountId)), has_mail: hasMail };
    })
    .put("/rules/:id", ({ user: { accountId }, params: { id }, body }) => actions.setRule(accountId, id, body), {
      body: RuleChange,
    })
    .post(
      "/webhooks",
      ({ user: { accountId }, body: { url, secret } }) =>
        actions.add(accountId, "webhook", { url: checkWebhookUrl(url, []), secret }),
      { body: NewWebhook },
    )
    .post("/emails", async ({ user: { accountId, isEmailClaimed } }) => {
      if (isEmailClaimed) throw new GatewayError("conflict", "Alerts are sent to verified e-mails: verify yours first");
      const hasOne = (await listChannels(store, accountId)).some(({ kind }) => kind === "email");
      if (hasOne) throw new GatewayError("conflict", "Alerts are already sent to the e-mail address of this account");
      return actions.add(accountId, "email", {});
    })
    .delete("/channels/:id", ({ user: { accountId }, params: { id } }) => actions.remove(accountId, id))
    .post("/channels/:id/test", ({ user: { accountId }, params: { id } }) => actions.test(accountId, id));
}

/** @throws {GatewayError} `invalid_request` */
export async function readMetricRule(
  { store, kernel, snapshot }: HttpDeps,
  { name, metric, scope, subject = "", comparison, threshold, minutes, ...more }: MetricRuleBody,
): Promise<Omit<MetricRule, "id">> {
  if (!ruleMinutes.some((span) => span === minutes)) {
    throw invalid("minutes", `minutes is ${minutes}, expected one of ${ruleMinutes.join(", ")}`);
  }
  const id = await findSubject(scope, subject.trim());
  if (id === undefined) throw invalid("subject", `There is no ${scope} '${subject}' here`);
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

/** Omits the password; reports whether one is set. */
function toSmtpJson(smtp: Awaited<ReturnType<typeof findSmtp>>, isFromEnvironment: boolean) {
  if (smtp === undefined) return null;
  const { host, port, isTls, user, password, from } = smtp;
  const shown = { host, port, tls: isTls, user: user ?? null, from, has_password: password !== undefined };
  return { ...shown, from_environment: isFromEnvironment };
}

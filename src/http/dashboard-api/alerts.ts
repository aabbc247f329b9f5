import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RateLimiter, recordAudit, type SessionUser, takeAttempt } from "../../accounts/index.ts";
import {
  addChannel,
  type Channel,
  checkWebhookUrl,
  createDelivery,
  deleteChannel,
  findSmtp,
  gatewayOwner,
  getRuleInfo,
  getRulesOf,
  listChannels,
  type Rule,
  type RuleSetting,
  readRules,
  ruleNames,
  writeRule,
  writeSmtp,
} from "../../alerts/index.ts";
import { formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { toIso } from "./serializers.ts";
import { withAdminSession, withOwnerSession, withTeamSession } from "./session.ts";

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

/** Each change is written to the database, each test makes a connection. */
const changesPerMinuteMax = 30;
const testsPerMinuteMax = 6;
/** Of all processes, beside the limit of each. */
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
      const settings = (await readRules(store, [owner])).get(owner) ?? [];
      return {
        active: active.map(({ since_at, notified_at, ...alert }) => {
          return { ...alert, since: toIso(since_at), notified_at: toIso(notified_at) };
        }),
        rules: settings.map(toRuleJson),
        channels: (await listChannels(store, owner)).map(toChannelJson),
      };
    },
    setRule: async (owner: string, name: string, { enabled, threshold }: Static<typeof RuleChange>) => {
      changes.take(owner);
      const rule = ruleNames.find((one) => one === name && getRulesOf(owner).includes(one));
      if (rule === undefined) throw new GatewayError("not_found", "There is no such rule");
      const setting = { rule, isEnabled: enabled, threshold: readThreshold(rule, threshold) };
      await writeRule(store, owner, setting);
      return toRuleJson(setting);
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
      return { ...(await actions.read(gatewayOwner)), smtp: toSmtpJson(smtp, config.smtpUrl !== undefined) };
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
        const channel = await actions.add(gatewayOwner, "webhook", { url: checkWebhookUrl(url), secret });
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
        actions.add(accountId, "webhook", { url: checkWebhookUrl(url), secret }),
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

/** The least and the most of a threshold in percent or days. */
const ranges: Partial<Record<Rule, readonly [number, number]>> = { budget: [50, 100] };

function readThreshold(rule: Rule, text: string | undefined): number | undefined {
  const { unit } = getRuleInfo(rule);
  if (text === undefined || unit === undefined) return undefined;
  const [min, max] = ranges[rule] ?? [1, unit === "days" ? 365 : 100];
  const value = unit === "usd" ? parseUsd(text) : /^\d{1,3}$/.test(text) ? Number(text) : undefined;
  const isValid = value !== undefined && (unit === "usd" ? value >= 0 : value >= min && value <= max);
  if (isValid) return value;
  const expected = unit === "usd" ? "US dollars from 0 such as 5.00" : `a whole number from ${min} to ${max}`;
  throw new GatewayError("invalid_request", `threshold is not ${expected}`, { param: "threshold" });
}

function toRuleJson({ rule, isEnabled, threshold }: RuleSetting) {
  const { unit, threshold: standard } = getRuleInfo(rule);
  const value = threshold ?? standard;
  const text = value === undefined ? null : unit === "usd" ? formatUsd(value) : String(value);
  return { rule, enabled: isEnabled, unit: unit ?? null, threshold: text };
}

function toChannelJson({ id, kind, label, createdAt, sentAt, error, errorAt }: Channel) {
  const outcome = { sent_at: toIso(sentAt), error: error ?? null, error_at: toIso(errorAt) };
  return { id, kind, label, created_at: toIso(createdAt), ...outcome };
}

/** Of the password only whether there is one. */
function toSmtpJson(smtp: Awaited<ReturnType<typeof findSmtp>>, isFromEnvironment: boolean) {
  if (smtp === undefined) return null;
  const { host, port, isTls, user, password, from } = smtp;
  const shown = { host, port, tls: isTls, user: user ?? null, from, has_password: password !== undefined };
  return { ...shown, from_environment: isFromEnvironment };
}

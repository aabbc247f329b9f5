import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, nullable } from "../../contract/index.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "../../http/admin-api/guard.ts";
import type { OrganizationApiOf } from "../../http/admin-api/index.ts";
import { invalid, listOf, listParameters, pickPage, readPage, toList, toSeconds } from "../../http/admin-api/lists.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { parseUrl } from "../../http/lifecycle/origin.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import type { ApiAdministrator } from "../../keys/index.ts";
import { alertActions, RuleChange } from "./alert-actions.ts";
import { SeverityName } from "./channel-fields.ts";
import type { alertChannels } from "./channel-resource.ts";
import type { alertRules } from "./rule-resource.ts";
import { gatewayOwner } from "./rule-settings.ts";

const Mute = formBody({
  hours: nullable(Type.Integer({ minimum: 1, maximum: 24 * 365, description: "`null`: until it is ended manually" })),
});
const Time = Type.Integer();
const AlertObject = Type.Object({
  id: Type.String({ description: "The same in all messages about it; another one if it comes again" }),
  object: Type.Literal("organization.alert"),
  state: Type.Union([Type.Literal("active"), Type.Literal("ended")]),
  rule: Type.String({ description: "The rule that triggered it; `metric`: a custom rule" }),
  severity: SeverityName,
  subject: Type.Object(
    { type: Type.String(), id: Type.String(), name: Type.String() },
    { description: "What it is about, such as a provider, account or key" },
  ),
  text: Type.String(),
  link: nullable(
    Type.String({ description: "Address of the page of the dashboard about it; `null` without PUBLIC_URL" }),
  ),
  page: Type.String({ description: "Path of that page, such as /admin/providers/openai" }),
  started_at: Time,
  notified_at: nullable(Type.Integer({ description: "Time of the last message about it" })),
  resolved_at: nullable(Time),
  muted: Type.Boolean({ description: "Whether it is muted" }),
  muted_until: nullable(Type.Integer({ description: "`null`: until it is ended manually" })),
});
const RuleObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.alert.rule"),
  enabled: Type.Boolean(),
  unit: nullable(Type.String()),
  threshold: nullable(Type.String()),
});
const TestObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.alert.channel.test"),
  ok: Type.Boolean(),
  error: nullable(Type.String()),
});
/** Alerts of the gateway, the rules that find them, and the test of a channel. Every change is in the audit log. */
export function organizationAlerts(deps: HttpDeps, api: AdminApi) {
  const actions = alertActions(deps);
  return [...alertRoutes(deps, api, actions), ...ruleRoutes(deps, api, actions), ...channelRoutes(deps, api, actions)];
}

type Actions = ReturnType<typeof alertActions>;

/** The types of all routes of alerts, for the pages: also of custom rules and channels. */
export type OrganizationAlerts = OrganizationApiOf<typeof alertRules, ReturnType<typeof organizationAlerts>[number]> &
  OrganizationApiOf<typeof alertChannels>;

const byAdministrator = ({ accountId }: ApiAdministrator) => ({ owner: gatewayOwner, by: accountId });

function alertRoutes(deps: HttpDeps, api: AdminApi, actions: Actions) {
  const list = async (state: "active" | "ended") => (await readAlerts(actions)).filter((one) => one.state === state);
  const find = async (id: string) => {
    const alert = (await list("active")).find((one) => one.id === id);
    if (alert !== undefined) return alert;
    throw new GatewayError("not_found", "This alert is no longer active; it may have been resolved");
  };
  const route = adminRoutes(deps, api, { path: "/organization/alerts", area: "alerts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const state = query.get("state") ?? "active";
        if (state !== "active" && state !== "ended") throw invalid("state", "state is neither active nor ended");
        const page = pickPage(await list(state), query, ({ id }) => id);
        return toList(page, readPage(query).limit, (alert) => alert);
      },
      {
        detail: describeRead("List the alerts of the gateway", listOf(AlertObject), {
          description: "Newest first. Of ended alerts, the latest 100 within 90 days are listed.",
          query: {
            ...listParameters,
            state: {
              description: "Only active alerts, or only ended alerts",
              schema: { type: "string", enum: ["active", "ended"], default: "active" },
            },
          },
        }),
      },
    ),
    route.post(
      "/:alert_id/mute",
      async ({ admin, body, params: { alert_id: id } }) => {
        await find(id);
        await actions.mute(byAdministrator(admin), { id, hours: body.hours });
        return await find(id);
      },
      {
        body: Mute,
        example: { hours: 24 },
        detail: describeWrite("Mute an alert for some hours", AlertObject),
      },
    ),
    route.post(
      "/:alert_id/unmute",
      async ({ admin, params: { alert_id: id } }) => {
        await find(id);
        await actions.mute(byAdministrator(admin), { id, hours: undefined });
        return await find(id);
      },
      { detail: describeWrite("Unmute an alert", AlertObject) },
    ),
  ];
}

function ruleRoutes(deps: HttpDeps, api: AdminApi, actions: Actions) {
  const toRule = ({ rule: id, ...rule }: Awaited<ReturnType<Actions["setRule"]>>) => {
    return { id, object: "organization.alert.rule" as const, ...rule };
  };
  const route = adminRoutes(deps, api, { path: "/organization/alerts/rules", area: "alerts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { rules } = await actions.read(gatewayOwner);
        const page = pickPage(rules, query, ({ rule }) => rule);
        return toList(page, readPage(query).limit, toRule);
      },
      {
        detail: describeRead("List the rules of the gateway's alerts", listOf(RuleObject), { query: listParameters }),
      },
    ),
    route.post(
      "/:rule_id",
      async ({ admin, body, params: { rule_id: id } }) => {
        return toRule(await actions.setRule(byAdministrator(admin), id, body));
      },
      {
        body: RuleChange,
        example: { enabled: true, threshold: "80" },
        detail: describeWrite("Turn a rule on or off, with its threshold", RuleObject),
      },
    ),
  ];
}

function channelRoutes(deps: HttpDeps, api: AdminApi, actions: Actions) {
  const route = adminRoutes(deps, api, { path: "/organization/alerts/channels", area: "alerts" });
  return [
    route.post(
      "/:channel_id/test",
      async ({ params: { channel_id: id } }) => {
        const { error } = await actions.test(gatewayOwner, id);
        return { id, object: "organization.alert.channel.test" as const, ok: error === null, error };
      },
      {
        detail: describeWrite("Send a test alert to a channel", TestObject, {
          description:
            "It has the form of a real alert; in PagerDuty it is resolved at once. If the message is not accepted, the response has `ok` false.",
        }),
      },
    ),
  ];
}

/** The alerts of the gateway, those that are active first. */
async function readAlerts(actions: Actions): Promise<(Static<typeof AlertObject> & { id: string })[]> {
  const { active, history } = await actions.read(gatewayOwner);
  const object = "organization.alert" as const;
  return [
    ...active.map(({ started_at: started, notified_at: notified, muted_until: until, ...alert }) => ({
      ...{ object, ...alert, state: "active" as const, started_at: fromIso(started) as number },
      ...{ notified_at: fromIso(notified), muted_until: fromIso(until) },
    })),
    ...history.map(({ started_at: started, resolved_at: resolved, ...alert }) => ({
      ...{ object, ...alert, state: "ended" as const, started_at: fromIso(started) as number },
      ...{ notified_at: null, resolved_at: fromIso(resolved), muted: false, muted_until: null },
    })),
  ];
}

function fromIso(time: string | null): number | null {
  return time === null ? null : toSeconds(Date.parse(time));
}

import { GatewayError } from "../../contract/index.ts";
import type { PageApiOf } from "../../http/dashboard-api/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import { withTeamSession } from "../../http/lifecycle/session.ts";
import { formBody } from "../../http/lifecycle/validate.ts";
import { findSmtp } from "../../mail/index.ts";
import { alertActions, RuleChange } from "./alert-actions.ts";
import { webhookFields } from "./channel-fields.ts";
import { listChannels } from "./channels.ts";
import { checkWebhookUrl } from "./webhook.ts";

const NewWebhook = formBody(webhookFields);

/** The types of these routes, for the pages. */
export type OwnAlertsApi = PageApiOf<ReturnType<typeof ownAlerts>[number], unknown>;

/** The alerts of the user's own account: its wallet and the budgets of its keys. */
export function ownAlerts(deps: HttpDeps) {
  const actions = alertActions(deps);
  const { store } = deps;
  const route = withTeamSession(deps, "/alerts");
  return [
    route.get("", async ({ user: { accountId, isEmailClaimed } }) => {
      const hasMail = !isEmailClaimed && (await findSmtp(deps)) !== undefined;
      return { ...(await actions.read(accountId)), has_mail: hasMail };
    }),
    route.put(
      "/rules/:id",
      ({ user: { accountId }, params: { id }, body }) => actions.setRule({ owner: accountId }, id, body),
      {
        body: RuleChange,
      },
    ),
    route.post(
      "/webhooks",
      ({ user: { accountId }, body: { name, url, secret } }) =>
        actions.add(accountId, { kind: "webhook", name, target: { url: checkWebhookUrl(url, []), secret } }),
      { body: NewWebhook },
    ),
    route.post("/emails", async ({ user: { accountId, isEmailClaimed } }) => {
      if (isEmailClaimed)
        throw new GatewayError("conflict", "Alerts are sent only to verified e-mails; verify yours first");
      const hasOne = (await listChannels(store, accountId)).some(({ kind }) => kind === "email");
      if (hasOne) throw new GatewayError("conflict", "Alerts are already sent to the e-mail address of this account");
      return actions.add(accountId, { kind: "email", target: {} });
    }),
    route.delete("/channels/:id", ({ user: { accountId }, params: { id } }) => actions.remove(accountId, id)),
    route.post("/channels/:id/test", ({ user: { accountId }, params: { id } }) => actions.test(accountId, id)),
  ];
}

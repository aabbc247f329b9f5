import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { acceptInvitation } from "../../identity/index.ts";
import { readAccountInvitation, readTeamInvitation } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";
import { publicRoutes } from "../lifecycle/session.ts";
import { expectStore } from "../lifecycle/store-timeout.ts";
import { formBody } from "../lifecycle/validate.ts";
import { accountController, checkoutController, meController, sessionsController } from "./account.ts";
import { adminAccountController } from "./admin-account.ts";
import { adminAccountsController } from "./admin-accounts.ts";
import { alertsController } from "./alerts.ts";
import { auditController } from "./audit.ts";
import { adminContentController, contentController } from "./content.ts";
import { emailController } from "./email.ts";
import { adminHealthController, attentionController, statusController } from "./health.ts";
import { homeController } from "./home.ts";
import { adminApiKeysController, keysController } from "./keys.ts";
import { requestsController } from "./requests.ts";
import { statementController } from "./statement.ts";
import { statisticsController } from "./statistics.ts";
import { systemStatusController } from "./system-status.ts";
import { adminTeamController, teamController, teamsController } from "./team.ts";

const Invitation = formBody({
  token: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ maxLength: 1000 }),
});
const InvitationToken = formBody({ token: Type.String({ minLength: 1, maxLength: 100 }) });

/**
 * The dashboard's own API below /dashboard/api. All of it needs a session, except what the sign-in page shows and the
 * look at an invitation or its acceptance, which are authorized by its token.
 */
export function dashboardApi(deps: HttpDeps, inbounds: readonly ClientFormat[]) {
  // Not in the API's documentation.
  return new Elysia({ prefix: "/dashboard/api", detail: { hide: true } })
    .use(accountControllers(deps, inbounds))
    .use(gatewayControllers(deps))
    .use(publicController(deps));
}

/**
 * Controllers of the account in which a person works. In groups, because one chain of all is too deep for the compiler.
 */
function accountControllers(deps: HttpDeps, inbounds: readonly ClientFormat[]) {
  return new Elysia()
    .use(meController(deps))
    .use(accountController(deps))
    .use(statementController(deps))
    .use(keysController(deps))
    .use(requestsController(deps, inbounds))
    .use(contentController(deps))
    .use(statisticsController(deps))
    .use(sessionsController(deps))
    .use(emailController(deps))
    .use(teamController(deps))
    .use(teamsController(deps))
    .use(checkoutController(deps))
    .use(statusController(deps))
    .use(alertsController(deps));
}

/** Controllers for owners, administrators and viewers of the gateway. */
function gatewayControllers(deps: HttpDeps) {
  return new Elysia()
    .use(homeController(deps))
    .use(adminApiKeysController(deps))
    .use(adminContentController(deps))
    .use(adminTeamController(deps))
    .use(adminAccountsController(deps))
    .use(adminAccountController(deps))
    .use(auditController(deps))
    .use(systemStatusController(deps))
    .use(adminHealthController(deps))
    .use(attentionController(deps));
}

function publicController(deps: HttpDeps) {
  return new Elysia()
    .use(publicRoutes(deps))
    .get("/gateway", () => toGatewayJson(deps))
    .post(
      "/invitations/accept",
      async ({ body }) => {
        await expectStore(deps);
        return await acceptInvitation(deps.store, body, deps.now());
      },
      { body: Invitation },
    )
    .post(
      "/invitations/account",
      async ({ body: { token } }) => {
        await expectStore(deps);
        const { email, invitedBy } = await readAccountInvitation(deps.store, token, deps.now());
        return { email, invited_by: invitedBy ?? null };
      },
      { body: InvitationToken },
    )
    .post(
      "/invitations/team",
      async ({ body: { token } }) => {
        await expectStore(deps);
        const { team, role, email } = await readTeamInvitation(deps.store, token, deps.now());
        return { team, role, email: email ?? null };
      },
      { body: InvitationToken },
    );
}

/** Facts of the gateway that the sign-in page shows. */
function toGatewayJson({ version, snapshot, config, payments }: HttpDeps) {
  return {
    version,
    sandbox: snapshot().sandbox,
    base_path: config.basePath,
    sign_up: config.signUp,
    oidc: config.oidcIssuer !== undefined,
    payments: payments?.name ?? null,
  };
}

/** The types of the API, for the dashboard. */
export type PageApi = ReturnType<typeof dashboardApi>;

import { Type } from "@sinclair/typebox";
import { acceptInvitation } from "../../identity/index.ts";
import { countSimulated } from "../../providers/index.ts";
import { readAccountInvitation, readTeamInvitation } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";
import { type ApiOf, below, type Endpoint, type Route, type ServerOf } from "../lifecycle/route.ts";
import { publicRoutes } from "../lifecycle/session.ts";
import { expectStore } from "../lifecycle/store-timeout.ts";
import { formBody } from "../lifecycle/validate.ts";
import type { AnyResource } from "../resources/resource.ts";
import { accountController, meController, sessionsController } from "./account.ts";
import { adminAccountController } from "./admin-account.ts";
import { adminAccountsController } from "./admin-accounts.ts";
import { auditController } from "./audit.ts";
import { allBudgetsController } from "./budgets.ts";
import { callSessionsController } from "./call-sessions.ts";
import { emailController } from "./email.ts";
import { groupsController } from "./groups.ts";
import { adminHealthController, attentionController, statusController } from "./health.ts";
import { homeController } from "./home.ts";
import { adminApiKeysController, keysController, leakedCredentialsController } from "./keys.ts";
import { programsController } from "./programs.ts";
import { requestsController } from "./requests.ts";
import { resourcesController } from "./resources.ts";
import { statementController, statementsController } from "./statement.ts";
import { statisticsController } from "./statistics.ts";
import { systemStatusController } from "./system-status.ts";
import { adminTeamController, teamController, teamsController } from "./team.ts";

const Invitation = formBody({
  token: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ maxLength: 1000 }),
});
const InvitationToken = formBody({ token: Type.String({ minLength: 1, maxLength: 100 }) });

/**
 * The dashboard's own API below /dashboard/api; not in the API's documentation. All of it needs a session, except what the
 * sign-in page shows and the look at an invitation or its acceptance, which are authorized by its token.
 */
export function dashboardApi(
  deps: HttpDeps,
  inbounds: readonly ClientFormat[],
  ofModules: readonly AnyResource[],
): Route[] {
  return below("/dashboard/api", routesOfPages(deps, inbounds, ofModules));
}

/** @param ofModules The managed things of modules. */
function routesOfPages(deps: HttpDeps, inbounds: readonly ClientFormat[], ofModules: readonly AnyResource[]) {
  return [
    // Routes for the account that a person works in.
    ...meController(deps),
    ...accountController(deps),
    ...statementController(deps),
    ...keysController(deps),
    ...leakedCredentialsController(deps),
    ...requestsController(deps, inbounds),
    ...callSessionsController(deps),
    ...statisticsController(deps),
    ...sessionsController(deps),
    ...emailController(deps),
    ...teamController(deps),
    ...teamsController(deps),
    ...programsController(deps),
    ...statusController(deps),
    // The gateway, for owners, administrators and viewers.
    ...homeController(deps),
    ...allBudgetsController(deps),
    ...groupsController(deps),
    ...resourcesController(deps, ofModules),
    ...adminApiKeysController(deps),
    ...adminTeamController(deps),
    ...adminAccountsController(deps),
    ...adminAccountController(deps),
    ...statementsController(deps),
    ...auditController(deps),
    ...systemStatusController(deps),
    ...adminHealthController(deps),
    ...attentionController(deps),
    ...publicController(deps),
  ];
}

function publicController(deps: HttpDeps) {
  const route = publicRoutes(deps);
  return [
    route.get("/gateway", () => toGatewayJson(deps)),
    route.post(
      "/invitations/accept",
      async ({ body }) => {
        await expectStore(deps);
        return await acceptInvitation(deps.store, body, deps.now());
      },
      { body: Invitation },
    ),
    route.post(
      "/invitations/account",
      async ({ body: { token } }) => {
        await expectStore(deps);
        const { email, invitedBy } = await readAccountInvitation(deps.store, token, deps.now());
        return { email, invited_by: invitedBy ?? null };
      },
      { body: InvitationToken },
    ),
    route.post(
      "/invitations/team",
      async ({ body: { token } }) => {
        await expectStore(deps);
        const { team, role, email } = await readTeamInvitation(deps.store, token, deps.now());
        return { team, role, email: email ?? null };
      },
      { body: InvitationToken },
    ),
  ];
}

interface GatewayFacts {
  readonly version: string;
  readonly sandbox: boolean;
  /** Models whose answers are made up, also where others have real providers. */
  readonly simulated_models: number;
  readonly base_path: string;
  readonly sign_up: "open" | "closed";
  readonly oidc: boolean;
}

/** Facts of the gateway and its modules that the sign-in page shows. */
function toGatewayJson({ version, snapshot, kernel, config, facts }: HttpDeps): GatewayFacts {
  return {
    version,
    sandbox: snapshot().sandbox,
    simulated_models: countSimulated(kernel.registry),
    base_path: config.basePath,
    sign_up: config.signUp,
    oidc: config.oidcIssuer !== undefined,
    ...facts(),
  };
}

/** The types of the API, for the dashboard. */
export type PageApi = PageServer<ApiOf<ReturnType<typeof routesOfPages>[number]>>;

/** The types of the routes of a module and of its facts, about the gateway and about a request, for its pages. */
export type PageApiOf<Routes, Facts, RequestFacts = unknown> = PageServer<
  ApiOf<Routes> & {
    gateway: { get: Endpoint<unknown, unknown, Facts> };
    requests: { ":id": { get: Endpoint<unknown, unknown, RequestFacts> } };
  }
>;

type PageServer<Api> = ServerOf<{ readonly dashboard: { readonly api: Api } }>;

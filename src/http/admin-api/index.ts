import { type AnyElysia, type DefinitionBase, Elysia, type MetadataBase, type SingletonBase } from "elysia";
import type { HttpDeps } from "../deps.ts";
import { adminKeysController } from "./admin-keys.ts";
import { organizationAlertsController } from "./alerts.ts";
import { auditLogsController } from "./audit-logs.ts";
import { budgetUsageController } from "./budgets.ts";
import { organizationCatalogueController } from "./catalogue.ts";
import { configurationController } from "./document/document.ts";
import type { AdminApi } from "./guard.ts";
import { jwtIssuersController } from "./jwt-issuers.ts";
import { liveCallsController } from "./live-calls.ts";
import { nodesController } from "./nodes.ts";
import { invitesController, projectUsersController, usersController } from "./people.ts";
import {
  keyChangesController,
  projectKeysController,
  serviceAccountController,
  serviceAccountsController,
} from "./project-keys.ts";
import { projectCreditsController, projectsController } from "./projects.ts";
import {
  organizationProvidersController,
  pluginsController,
  providerKeysController,
  providerTestsController,
  sandboxController,
} from "./providers.ts";
import { rateLimitsController, roleLimitsController, sharedRateLimitsController } from "./rate-limits.ts";
import { organizationRequestsController } from "./requests.ts";
import { declaredRoutes, type ResourceApi } from "./resource-routes.ts";
import { organizationUsageController } from "./usage.ts";
import { vouchersController } from "./vouchers.ts";

export { createAdminApi } from "./guard.ts";
export { endRunning } from "./live-calls.ts";
export { keyUsageController } from "./usage.ts";

/** The types of the API, for the dashboard. */
export type OrganizationApi = Elysia<
  "",
  SingletonBase,
  DefinitionBase,
  MetadataBase,
  ReturnType<typeof controllers>["~Routes"] & ResourceApi
>;

/**
 * The management API below /organization, in the shapes of OpenAI's admin API, so that its clients work: an account or team is
 * a project. It takes admin keys, which open nothing else, and the session of whoever administers the gateway on the dashboard.
 */
export function organizationApi(deps: HttpDeps, api: AdminApi): AnyElysia {
  const app: AnyElysia = controllers(deps, api);
  for (const routes of declaredRoutes(deps, api)) app.use(routes);
  return app;
}

function controllers(deps: HttpDeps, api: AdminApi) {
  return new Elysia()
    .use(projectsController(deps, api))
    .use(projectCreditsController(deps, api))
    .use(vouchersController(deps, api))
    .use(rateLimitsController(deps, api))
    .use(sharedRateLimitsController(deps, api))
    .use(roleLimitsController(deps, api))
    .use(budgetUsageController(deps, api))
    .use(projectKeysController(deps, api))
    .use(keyChangesController(deps, api))
    .use(serviceAccountsController(deps, api))
    .use(serviceAccountController(deps, api))
    .use(projectUsersController(deps, api))
    .use(usersController(deps, api))
    .use(invitesController(deps, api))
    .use(adminKeysController(deps, api))
    .use(jwtIssuersController(deps, api))
    .use(organizationProvidersController(deps, api))
    .use(providerKeysController(deps, api))
    .use(providerTestsController(deps, api))
    .use(sandboxController(deps, api))
    .use(pluginsController(deps, api))
    .use(organizationCatalogueController(deps, api))
    .use(organizationAlertsController(deps, api))
    .use(liveCallsController(deps, api))
    .use(nodesController(deps, api))
    .use(auditLogsController(deps, api))
    .use(organizationUsageController(deps, api))
    .use(organizationRequestsController(deps, api))
    .use(configurationController(deps, api));
}

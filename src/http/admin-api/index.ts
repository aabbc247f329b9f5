import type { HttpDeps } from "../deps.ts";
import type { ApiOf, Route, ServerOf } from "../lifecycle/route.ts";
import { resources } from "../resources/index.ts";
import type { AnyResource } from "../resources/resource.ts";
import { adminKeysController } from "./admin-keys.ts";
import { auditLogsController } from "./audit-logs.ts";
import { budgetUsageController } from "./budgets.ts";
import { organizationCatalogueController } from "./catalogue.ts";
import { credentialsController, keyCallersController } from "./credentials.ts";
import { configurationController } from "./document/document.ts";
import type { Section } from "./document/section.ts";
import type { AdminApi } from "./guard.ts";
import { jwtIssuersController } from "./jwt-issuers.ts";
import { liveCallsController } from "./live-calls.ts";
import { mailServerController } from "./mail-server.ts";
import { nodesController } from "./nodes.ts";
import { invitesController, projectUsersController, usersController } from "./people.ts";
import {
  keyChangesController,
  projectKeysController,
  serviceAccountController,
  serviceAccountsController,
} from "./project-keys.ts";
import { projectCreditsController, projectsController } from "./projects.ts";
import { providerIncidentController } from "./provider-incident.ts";
import {
  organizationProvidersController,
  pluginsController,
  providerKeysController,
  providerTestsController,
  sandboxController,
} from "./providers.ts";
import { reconciliationsController } from "./reconciliations.ts";
import { organizationRequestsController } from "./requests.ts";
import { declaredRoutes, type ResourceApi, type ResourceApiOf } from "./resource-routes.ts";
import { projectSessionsController } from "./sessions.ts";
import { statementsController } from "./statements.ts";
import { organizationUsageController } from "./usage.ts";

export { type AdminApi, createAdminApi } from "./guard.ts";
export { endRunning } from "./live-calls.ts";
export { keyUsageController } from "./usage.ts";

/** The types of the API, for the dashboard. */
export type OrganizationApi = ServerOf<ApiOf<ReturnType<typeof controllers>[number]> & ResourceApi>;

/** The types of the routes of a managed thing of a module, and of other routes of it, for its pages. */
export type OrganizationApiOf<Thing, Routes = never> = ServerOf<ApiOf<Routes> & ResourceApiOf<Thing>>;

/** The parts of modules in this API. */
interface Added {
  readonly resources: readonly AnyResource[];
  readonly sections: Readonly<Record<string, Section>>;
}

/**
 * The management API below /organization, in the shapes of OpenAI's admin API, so its clients work: an account or team
 * is a project. It accepts admin keys, which are valid nowhere else, and the dashboard sessions of administrators of
 * the gateway.
 */
export function organizationApi(deps: HttpDeps, api: AdminApi, added: Added): Route[] {
  return [
    ...controllers(deps, api),
    ...configurationController(deps, api, added.sections),
    ...declaredRoutes(deps, api, [...resources, ...added.resources]),
  ];
}

function controllers(deps: HttpDeps, api: AdminApi) {
  return [
    ...projectsController(deps, api),
    ...projectCreditsController(deps, api),
    ...statementsController(deps, api),
    ...reconciliationsController(deps, api),
    ...budgetUsageController(deps, api),
    ...projectKeysController(deps, api),
    ...keyChangesController(deps, api),
    ...keyCallersController(deps, api),
    ...credentialsController(deps, api),
    ...serviceAccountsController(deps, api),
    ...serviceAccountController(deps, api),
    ...projectUsersController(deps, api),
    ...usersController(deps, api),
    ...invitesController(deps, api),
    ...adminKeysController(deps, api),
    ...jwtIssuersController(deps, api),
    ...organizationProvidersController(deps, api),
    ...providerIncidentController(deps, api),
    ...providerKeysController(deps, api),
    ...providerTestsController(deps, api),
    ...sandboxController(deps, api),
    ...pluginsController(deps, api),
    ...organizationCatalogueController(deps, api),
    ...mailServerController(deps, api),
    ...liveCallsController(deps, api),
    ...projectSessionsController(deps, api),
    ...nodesController(deps, api),
    ...auditLogsController(deps, api),
    ...organizationUsageController(deps, api),
    ...organizationRequestsController(deps, api),
  ];
}

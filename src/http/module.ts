import type { AdminApi } from "./admin-api/guard.ts";
import type { Facts, HttpDeps } from "./deps.ts";
import type { Route } from "./lifecycle/route.ts";
import type { AnyResource } from "./resources/resource.ts";

/** The part of a module that the HTTP server mounts. */
export interface HttpModule {
  /** Managed things: their routes and their commands are made from them. */
  readonly resources?: readonly AnyResource[] | undefined;
  /** Facts for the pages of the dashboard. */
  facts?(): Facts;
  /** Routes below `/dashboard/api`. */
  pageRoutes?(deps: HttpDeps): Route[];
  /** Routes below `/organization`. */
  organizationRoutes?(deps: HttpDeps, api: AdminApi): Route[];
  /** Routes with their whole paths. */
  routes?(deps: HttpDeps): Route[];
}

import type { Section } from "./admin-api/document/section.ts";
import type { AdminApi } from "./admin-api/guard.ts";
import type { Attention, CallWatcher, Facts, HttpDeps, ModuleHooks } from "./deps.ts";
import type { Route } from "./lifecycle/route.ts";
import type { AnyResource } from "./resources/resource.ts";

/** The part of a module that the HTTP server uses. */
export interface HttpModule {
  /** Managed things: their routes and their commands are made from them. */
  readonly resources?: readonly AnyResource[];
  /** Facts for the pages of the dashboard. */
  facts?(): Facts;
  /** Facts about a request of the log, for a user who looks at it. */
  readonly requestFacts?: ModuleHooks["requestFacts"];
  /** How many matters need somebody, by the path of the page that shows them; for administrators. */
  attention?(): Promise<Attention>;
  readonly watchCall?: CallWatcher;
  /** Routes below `/dashboard/api`. */
  pageRoutes?(deps: HttpDeps): Route[];
  /** Sections of the configuration document, by their names. They are planned last. */
  readonly sections?: Readonly<Record<string, Section>>;
  /** Routes below `/organization`. */
  organizationRoutes?(deps: HttpDeps, api: AdminApi): Route[];
  /** Routes with their whole paths. */
  routes?(deps: HttpDeps): Route[];
}

export function hooksOf(modules: readonly HttpModule[]): ModuleHooks {
  return {
    facts: () => Object.assign({}, ...modules.map((module) => module.facts?.())),
    requestFacts: async (user, id) =>
      Object.assign({}, ...(await Promise.all(modules.map((module) => module.requestFacts?.(user, id))))),
    attention: async () => Object.assign({}, ...(await Promise.all(modules.map((module) => module.attention?.())))),
    watchers: modules.flatMap(({ watchCall = [] }) => watchCall),
  };
}

import { Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import { describeProviders, healthStates } from "../../providers/index.ts";
import { hasScope } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { readIncident, toIncidentObject } from "../forms/incident.ts";
import { displayNameOf } from "../forms/read-fields.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { readProvider } from "./providers.ts";
import { toServed } from "./resource-routes.ts";

const Count = Type.Integer({ minimum: 0 });
const Moment = nullable(Type.Integer());
const figures = { calls: Count, failed_calls: Count };

const IncidentObject = Type.Object({
  id: Type.String({ description: "Name of the provider" }),
  object: Type.Literal("organization.provider.incident"),
  enabled: Type.Boolean(),
  state: nullable(Type.Union(healthStates.map((state) => Type.Literal(state)))),
  reason: nullable(Type.String()),
  since: nullable(Type.Integer({ description: "When the state began; `null`: it works" })),
  failing_since: nullable(Type.Integer({ description: "The first failure that no success has followed" })),
  last_success_at: Moment,
  recent_attempts: Type.Object(
    { attempts: Count, errors: Count },
    { description: "Attempts of the latest quarter of an hour with attempts, of all nodes" },
  ),
  last_error: nullable(
    Type.Object({
      at: Type.Integer(),
      status: nullable(Type.Integer()),
      message: Type.String({ description: "Error message of the provider" }),
      model: Type.String(),
    }),
  ),
  counted_from: Type.Integer({
    description:
      "The figures of calls are since then: the first failure, or without one the last hour; of the latest 10,000 calls",
  }),
  counted_until: nullable(
    Type.Integer({ description: "Until then: the last failure of a provider that works again; `null`: until now" }),
  ),
  ...figures,
  refused_calls: Type.Integer({
    minimum: 0,
    description:
      "Those of `failed_calls` that were not sent: all routes of their model were paused, this provider's among them",
  }),
  calls_of_last_hour: Type.Integer({ minimum: 0, description: "Requests that were sent to it in the last hour" }),
  project_count: nullable(
    Type.Integer({ description: "Projects with failed calls; `null` without the scope `usage:read`" }),
  ),
  projects: nullable(
    Type.Array(Type.Object({ project_id: Type.String(), name: Type.String(), ...figures }), {
      description: "The five with the most failed calls",
    }),
  ),
  answers: Type.Array(Type.Object({ status: Type.Integer(), code: nullable(Type.String()), calls: Count }), {
    description: "Errors that clients were answered",
  }),
  models: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      ...figures,
      other_providers: Type.Array(Type.String(), { description: "Empty: it has no other route" }),
    }),
  ),
  reroutes: Type.Array(
    Type.Object({
      id: Type.String(),
      subject: Type.Union([Type.Literal("model"), Type.Literal("provider")]),
      name: Type.String(),
      to_model: nullable(Type.String()),
      ends_at: Moment,
      is_effective: nullable(Type.Boolean({ description: "`false`: it has no effect now" })),
      ineffective_reason: nullable(Type.String()),
    }),
    { description: "Re-routes of the provider and its models" },
  ),
  customer_text: nullable(Type.String({ description: "A text for customers; `null`: no request failed" })),
});

/** The incident of a provider that fails; of one that works, the last hour. */
export function providerIncidentController(deps: HttpDeps, api: AdminApi) {
  const { providers, kernel, store } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/providers", area: "providers" });
  return [
    route.get(
      "/:provider_id/incident",
      async ({ admin, params }) => {
        const provider = readProvider(deps, params.provider_id);
        const all = describeProviders(providers, kernel.registry, kernel.now());
        const nameOf = (model: string) => displayNameOf(deps, model);
        const incident = await readIncident({ store, now: deps.now(), nameOf, served: toServed(deps) }, provider, all);
        return toIncidentObject(incident, hasScope(admin.scopes, "usage", "read"));
      },
      {
        detail: describeRead(
          "Retrieve the incident of a provider: since when, who is hit, what can be done",
          IncidentObject,
          {
            description:
              "Of a provider that works, the figures are of its last outage if that ended within the hour, or else of the hour.",
          },
        ),
      },
    ),
  ];
}

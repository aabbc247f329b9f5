import { Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import { listNodes, type ServingNode } from "../../db/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { listOf, listParameters, pickPage, readPage, toList, toSeconds } from "./lists.ts";

const NodeObject = Type.Object({
  id: Type.String({ description: "The `process` of live calls; `embedded` is the only one over SQLite" }),
  object: Type.Literal("organization.node"),
  name: Type.String({ description: "Host and number of the worker" }),
  version: Type.String(),
  state: Type.Union([Type.Literal("serving"), Type.Literal("draining"), Type.Literal("silent")], {
    description: "`silent`: no heartbeat came for 10 seconds",
  }),
  started_at: Type.Integer(),
  heartbeat_age_seconds: Type.Number(),
  open_calls: Type.Integer(),
  waiting_charges: Type.Integer({ description: "Number of charges that are not in the database yet" }),
  spooled_charges: Type.Integer({ description: "Number of these charges that are on the disk of the node" }),
  last_write_at: nullable(Type.Integer({ description: "Time of its last hold or charge in the database" })),
  rollup_lag_seconds: Type.Number({ description: "How long a call has waited to be added to the sums of usage" }),
});

/** The processes that serve from the database. */
export function nodesController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/nodes", area: "usage" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const nodes = await listNodes(deps.store, deps.now());
        return toList(
          pickPage(nodes, query, ({ id }) => id),
          readPage(query).limit,
          toNodeJson,
        );
      },
      {
        detail: describeRead("List the serving processes, the longest running first", listOf(NodeObject), {
          query: listParameters,
        }),
      },
    ),
  ];
}

function toNodeJson(node: ServingNode) {
  return {
    id: node.id,
    object: "organization.node" as const,
    name: node.name,
    version: node.version,
    state: node.state,
    started_at: toSeconds(node.startedAt),
    heartbeat_age_seconds: node.silentMs / 1000,
    open_calls: node.calls,
    waiting_charges: node.waitingCharges,
    spooled_charges: node.spooledCharges,
    last_write_at: node.lastWriteAt === undefined ? null : toSeconds(node.lastWriteAt),
    rollup_lag_seconds: node.rollupLagMs / 1000,
  };
}

import { Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { EndForm, endBranchOf } from "../forms/end-branch.ts";
import { readSessionJson, sessionFields } from "../forms/session-json.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import { toSeconds } from "./lists.ts";
import { readProject } from "./projects.ts";

const SessionObject = Type.Object({
  object: Type.Literal("organization.project.session"),
  project_id: Type.String(),
  ...sessionFields,
});
const EndedObject = Type.Object({
  object: Type.Literal("organization.project.session.ended"),
  project_id: Type.String(),
  session: Type.String(),
  agent: nullable(Type.String()),
  calls: Type.Integer({ description: "Running calls that end" }),
  refused_until: Type.Integer({ description: "Until then its calls are refused, in seconds since 1970" }),
});

/** Sessions of coding agents: what they cost by agent, and their early end. */
export function projectSessionsController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/projects", area: "usage" });
  return [
    route.get(
      "/:project_id/sessions/:session",
      async ({ params: { project_id: id, session } }) => {
        const { id: accountId } = await readProject(deps, id);
        const json = await readSessionJson(deps, { accountId, session }, toSeconds);
        return { object: "organization.project.session" as const, project_id: accountId, ...json };
      },
      {
        detail: describeRead("Retrieve a session: what it cost, by agent and model", SessionObject, {
          description: "The figures of its agents add up to the charges of the session in the ledger.",
        }),
      },
    ),
    route.post(
      "/:project_id/sessions/:session/end",
      async ({ admin, params: { project_id: id, session }, body: { agent } }) => {
        const { id: accountId } = await readProject(deps, id);
        const ended = await endBranchOf(deps, admin, { accountId, session, agent });
        return {
          object: "organization.project.session.ended" as const,
          project_id: accountId,
          session,
          agent: agent ?? null,
          calls: ended.running,
          refused_until: toSeconds(ended.refusedUntil),
        };
      },
      {
        body: EndForm,
        detail: describeWrite("End a session, or an agent of it and everything below", EndedObject, {
          description:
            "Running calls end with an error, at all processes within a second; what their providers served is charged. For ten " +
            "minutes further calls of the branch are refused with `session_ended`.",
        }),
      },
    ),
  ];
}

import { Type } from "@sinclair/typebox";
import { ModerationRequest, ModerationResponse } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { responses } from "./openapi.ts";

const { model, ...otherFields } = ModerationRequest.properties;
const Fields = Type.Object({ model: Type.Optional(model), ...otherFields }, { additionalProperties: true });
const Body = Fields;

/** POST /moderations: whether texts and images are harmful, and how. */
export function moderationsController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/moderations",
        body: jsonBody(deps, Body, { capability: "moderation", modelDefault: model.default as string }),
        detail: {
          summary: "Moderation of texts and images",
          tags: ["Calls"],
          responses: responses({ "application/json": ModerationResponse }),
        },
      },
      async ({ call, body }) => {
        const request: ModerationRequest = { ...body, model: body.model ?? (model.default as string) };
        const { results } = await executeCall(deps, call, { capability: "moderation", request });
        return jsonReply(deps, call, { id: call.id.replace(/^req_/, "modr-"), model: call.publicModel, results });
      },
    ),
  ];
}

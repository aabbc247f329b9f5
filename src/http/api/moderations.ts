import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ModerationRequest, ModerationResponse } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, jsonCall } from "../lifecycle/call-hooks.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { replyOnce } from "../lifecycle/idempotency.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { requestBody } from "../lifecycle/validate.ts";
import { responses } from "./openapi.ts";

const { model, ...otherFields } = ModerationRequest.properties;
const Fields = Type.Object({ model: Type.Optional(model), ...otherFields }, { additionalProperties: true });
const Body = requestBody(Fields);

/** POST /moderations: whether texts and images are harmful, and in which way. */
export function moderationsController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/moderations",
    replyOnce<Static<typeof Fields>>(deps, async ({ call, body }) => {
      const request: ModerationRequest = { ...body, model: body.model ?? (model.default as string) };
      const { results } = await executeCall(deps, call, { capability: "moderation", request });
      return jsonReply(deps, call, { id: call.id.replace(/^req_/, "modr-"), model: call.publicModel, results });
    }),
    {
      ...jsonCall(deps, Body, { capability: "moderation", modelDefault: model.default as string }),
      detail: {
        summary: "Moderation of texts and images",
        tags: ["Calls"],
        responses: responses({ "application/json": ModerationResponse }),
      },
    },
  );
}

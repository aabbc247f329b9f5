import { Elysia } from "elysia";
import { EmbeddingList, EmbeddingsRequest } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, executeCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { responses } from "./openapi.ts";

const Body = requestBody(EmbeddingsRequest);

/** POST /embeddings. */
export function embeddingsController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/embeddings",
    replyOnce<EmbeddingsRequest>(deps, async ({ call, body }) =>
      jsonReply(deps, call, await executeCall(deps, call, { capability: "embeddings", request: body })),
    ),
    {
      parse: [readJsonCall(deps), "json"],
      body: Body,
      detail: {
        summary: "Vector embeddings",
        tags: ["Calls"],
        responses: responses({ "application/json": EmbeddingList }),
      },
    },
  );
}

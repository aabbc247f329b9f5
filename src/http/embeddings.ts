import { Elysia } from "elysia";
import { EmbeddingList, EmbedRequest } from "../contract/index.ts";
import type { HttpDeps } from "./deps.ts";
import { apiKeyRoutes, executeCall, jsonReply, readJsonCall } from "./handle-call.ts";
import { responses } from "./openapi.ts";
import { requestBody } from "./validation-errors.ts";

const Body = requestBody(EmbedRequest);

/** POST /embeddings. */
export function embeddingsController(deps: HttpDeps) {
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/embeddings",
      async ({ call, body }) =>
        jsonReply(deps, call, await executeCall(deps, call, { capability: "embed", request: body })),
      {
        parse: [readJsonCall(deps), "json"],
        body: Body,
        detail: {
          summary: "Vector embeddings",
          tags: ["Models at work"],
          responses: responses({ "application/json": EmbeddingList }),
        },
      },
    );
}

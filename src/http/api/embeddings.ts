import { Elysia } from "elysia";
import {
  EmbeddingList,
  EmbeddingsBody,
  EmbeddingsRequest,
  TokenListsRequest,
  TokensRequest,
} from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, jsonCall } from "../lifecycle/call-hooks.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { replyOnce } from "../lifecycle/idempotency.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { requestBody } from "../lifecycle/validate.ts";
import { responses } from "./openapi.ts";

const Body = requestBody(EmbeddingsBody, (body) => {
  const input = isRecord(body) && Array.isArray(body.input) ? body.input[0] : undefined;
  if (Array.isArray(input)) return TokenListsRequest;
  return typeof input === "number" ? TokensRequest : EmbeddingsRequest;
});

/** POST /embeddings. */
export function embeddingsController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/embeddings",
    replyOnce<EmbeddingsBody>(deps, async ({ call, body }) =>
      jsonReply(deps, call, await executeCall(deps, call, { capability: "embeddings", request: body })),
    ),
    {
      ...jsonCall(deps, Body, { capability: "embeddings" }),
      detail: {
        summary: "Vector embeddings",
        tags: ["Calls"],
        responses: responses({ "application/json": EmbeddingList }),
      },
    },
  );
}

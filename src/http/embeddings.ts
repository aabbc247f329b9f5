import { Elysia } from "elysia";
import { EmbeddingList, EmbedRequest } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { jsonEndpoint } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { jsonReply, run } from "./run.ts";

/** POST /embeddings. */
export function embeddingsController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, EmbedRequest, async (visit, request) =>
    jsonReply(ground, visit.progress, await run(ground, visit, { capability: "embed", request })),
  );
  return new Elysia().post("/embeddings", answer, {
    parse: "none",
    detail: {
      summary: "Vector embeddings",
      tags: ["Models at work"],
      requestBody: jsonBody(EmbedRequest),
      responses: answers({ "application/json": EmbeddingList }),
    },
  });
}

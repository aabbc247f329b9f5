import { Elysia } from "elysia";
import { EmbeddingList, EmbedRequest } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { jsonEndpoint } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { jsonReply, run } from "./run.ts";

/** POST /embeddings. */
export function embeddingsController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, EmbedRequest, async ({ caller, progress }, request) =>
    jsonReply(ground, progress, await run(ground, { capability: "embed", caller, request, progress })),
  );
  return new Elysia().post("/embeddings", answer, {
    parse: "none",
    detail: {
      summary: "Vector embeddings",
      tags: ["Models at work"],
      requestBody: jsonBody(EmbedRequest),
      responses: answers(EmbeddingList),
    },
  });
}

import { Elysia } from "elysia";
import { EmbeddingList, EmbedRequest } from "../contract/index.ts";
import { authenticated, callerOf } from "./authenticate.ts";
import { answers } from "./describe.ts";
import type { HttpGround } from "./ground.ts";
import { putProgress } from "./headers.ts";
import { begin, type ResponseHeaders, run } from "./run.ts";

/** POST /embeddings. */
export function embeddingsController(ground: HttpGround) {
  return new Elysia().use(authenticated(ground.authenticate)).post(
    "/embeddings",
    async ({ body, request, set }) => {
      const caller = await callerOf(request, ground.authenticate);
      const headers = set.headers as ResponseHeaders;
      const progress = begin(ground, headers, request);
      const list = await run(ground, { capability: "embed", caller, request: body, progress });
      putProgress(headers, progress, ground.sandbox);
      return list;
    },
    {
      body: EmbedRequest,
      detail: { summary: "Vector embeddings", tags: ["Models at work"], responses: answers(EmbeddingList) },
    },
  );
}

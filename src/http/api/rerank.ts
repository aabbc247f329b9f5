import { Type } from "@sinclair/typebox";
import { sumPromptTokens } from "../../contract/index.ts";
import {
  RerankBody,
  RerankList,
  RerankResponse,
  toRerankRequest,
  toRerankResponse,
} from "../../protocols/rerank/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { responses } from "./openapi.ts";

const Body = RerankBody;

/** POST /rerank. */
export function rerankController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/rerank",
        body: jsonBody(deps, Body, { capability: "rerank" }),
        detail: {
          summary: "Ranking of documents by their relevance to a query",
          description:
            "Takes and answers the forms of Cohere and Jina, and that of Voyage where `top_k` or `truncation` is sent.",
          tags: ["Calls"],
          responses: responses({ "application/json": Type.Union([RerankResponse, RerankList]) }),
        },
      },
      async ({ call, body }) => {
        const request = toRerankRequest(body);
        const { results } = await executeCall(deps, call, { capability: "rerank", request });
        const tokens = call.meters.inputToken === undefined ? undefined : sumPromptTokens(call.meters);
        const answered = {
          id: call.id,
          model: call.publicModel as string,
          results,
          tokens,
          searchUnits: call.meters.searchUnit,
        };
        return jsonReply(deps, call, toRerankResponse(body, request.documents, answered));
      },
    ),
  ];
}

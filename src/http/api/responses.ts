import { GatewayError } from "../../contract/index.ts";
import { countTokens } from "../../kernel/index.ts";
import { expandRequest } from "../../protocols/responses/inbound.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import { responsesFormat } from "../../protocols/responses/passthrough.ts";
import { ResponseObject, ResponsesRequest } from "../../protocols/responses/schema.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { Compaction, EventBody, InputTokens, responsesOfResponses } from "./openapi.ts";
import type { ResponseStore } from "./response-store.ts";
import { type CountLimiter, countExchange, findPassthrough, serveExchange } from "./serve-exchange.ts";

/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /responses, whole or as server-sent events: natively where the provider speaks the protocol, else through chat. */
export function responsesController(deps: HttpDeps, { store, counts }: { store: Responses; counts: CountLimiter }) {
  const body = jsonBody(deps, ResponsesRequest, { capability: "chat", inbound: responsesInbound });
  return [
    callRoute(
      deps,
      {
        path: "/responses",
        body,
        detail: {
          summary: "Chat by OpenAI's Responses protocol",
          description:
            "For Codex, the AI SDK and the Agents SDK. Responses are stored for a while, unless `store` is false, for " +
            "`previous_response_id` and `item_reference`. `GET` of this path opens a WebSocket for many of them.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": ResponseObject, "text/event-stream": EventBody }),
        },
      },
      async ({ call, body }) => serveExchange(deps, call, await openResponses(deps, call, body, store)),
    ),
    callRoute(
      deps,
      {
        path: "/responses/compact",
        body,
        detail: {
          summary: "Compact a conversation",
          description: "By OpenAI's own endpoint, for its models. The output is sent as `input` later.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": Compaction }),
        },
      },
      async ({ call, body }) => {
        const { request: expanded } = expandRequest(body, await store.read(call, body));
        // Fields that a compaction does not have must bound nothing.
        const { stream: _, max_output_tokens: __, ...requested } = expanded;
        const passthrough = findPassthrough(deps, call, {
          format: responsesFormat,
          body: requested,
          isCompaction: true,
        });
        if (passthrough === undefined) throw cannotCompact(call);
        passthrough.untranslatable = cannotCompact(call);
        call.passthrough = passthrough;
        await executeCall(deps, call, { capability: "chat", request: passthrough.toPlaceholderRequest() });
        return jsonReply(deps, call, passthrough.answer);
      },
    ),
    callRoute(
      deps,
      {
        path: "/responses/input_tokens",
        body,
        detail: {
          summary: "Count the input tokens of a response",
          description: "By the provider where it counts, otherwise an estimate. Free of charge.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": InputTokens }),
        },
        isFree: true,
      },
      async ({ call, body }) => {
        counts.take(call);
        const { passthrough, request, untranslatable } = await openResponses(deps, call, body, store);
        const counted = await countExchange(deps, call, passthrough);
        if (request === undefined && call.passthrough === undefined) throw untranslatable;
        const text =
          counted === undefined ? JSON.stringify((request ?? call.passthrough?.toPlaceholderRequest())?.messages) : "";
        const estimate = () => countTokens(text.slice(0, countedCharactersMax), text.length);
        const inputTokens = counted ?? (await estimate());
        return jsonReply(deps, call, { object: "response.input_tokens", input_tokens: inputTokens });
      },
    ),
  ];
}

function cannotCompact({ modelEntry: { model } }: HttpCall): GatewayError {
  const message = `No provider of ${getDisplayName(model)} compacts conversations; ask the model for a summary instead`;
  return new GatewayError("invalid_request", message, { param: "model", publicCode: "unsupported_model" });
}

/** Earlier responses as they are read, and where an answer is kept. */
export type Responses = Pick<ResponseStore, "read" | "put">;

/** A request to make a response, with what it refers to. @throws {GatewayError} `invalid_request` */
export async function openResponses(deps: HttpDeps, call: HttpCall, body: ResponsesRequest, store: Responses) {
  const context = await store.read(call, body);
  const model = call.publicModel ?? call.modelEntry.model.id;
  return responsesInbound.open(body, {
    accountId: call.caller.accountId,
    sealKey: deps.sealKey,
    model,
    servedModel: () => call.publicModel ?? model,
    now: deps.now,
    context,
    keep: (response, input) => store.put(call, response, { input, context }),
  });
}

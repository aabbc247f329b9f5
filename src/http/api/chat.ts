import { Elysia } from "elysia";
import { ChatCompletion, ChatRequest } from "../../contract/index.ts";
import { chatInbound } from "../../protocols/chat/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { replyOnce } from "../lifecycle/idempotency.ts";
import { apiKeyRoutes, readJsonCall } from "../lifecycle/routes.ts";
import { requestBody } from "../lifecycle/validate.ts";
import { ChatEvent, responses } from "./openapi.ts";
import { toChatBody } from "./responses-as-chat.ts";
import { serveExchange } from "./serve-exchange.ts";

const Body = requestBody(ChatRequest);

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/chat/completions",
    replyOnce<ChatRequest>(deps, ({ call, body }) => serveExchange(deps, call, chatInbound.open(body))),
    {
      parse: [
        readJsonCall(deps, {
          capability: "chat",
          inbound: chatInbound,
          check: (body, call) => toChatBody(deps, body, call),
        }),
        "json",
      ],
      body: Body,
      detail: {
        summary: "Chat text generation",
        description: "With `stream: true` the response is `text/event-stream`, ended by `data: [DONE]`.",
        tags: ["Calls"],
        responses: responses({
          "application/json": ChatCompletion,
          "text/event-stream": ChatEvent,
        }),
      },
    },
  );
}

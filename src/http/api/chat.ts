import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest, GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply, toEvent } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { ChatEvent, responses } from "./openapi.ts";
import { toChatBody } from "./responses-as-chat.ts";

const done = "data: [DONE]\n\n";
const Body = requestBody(ChatRequest);

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/chat/completions",
    replyOnce<ChatRequest>(deps, async ({ call, body }) => {
      checkContent(body);
      if (body.stream === true) return await stream(deps, call, body);
      return jsonReply(deps, call, await executeCall(deps, call, { capability: "chat", request: body }));
    }),
    {
      parse: [readJsonCall(deps, (body, call) => toChatBody(deps, body, call)), "json"],
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

/** Only an assistant's and a tool's message may say nothing; with Cursor that is an empty array. */
function checkContent({ messages }: ChatRequest): void {
  for (const [index, message] of messages.entries()) {
    if (Array.isArray(message.content) && message.content.length === 0) message.content = null;
    if (message.content != null || !/^(user|system|developer)$/.test(message.role)) continue;
    const param = `messages[${index}].content`;
    throw new GatewayError("invalid_request", `${param} is missing, but a string or an array was expected`, { param });
  }
}

function stream(deps: HttpDeps, call: HttpCall, request: ChatRequest): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, toEvent);
  const answer = executeCall(deps, call, { capability: "chat", request, sink });
  return sseReply(
    deps,
    call,
    sink,
    answer.then(() => done),
  );
}
